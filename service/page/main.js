/** The page: its parts, the key that they need, and which of them is seen. */

import { useKey } from "./api.js";
import { onModel, readModels } from "./choice.js";
import * as files from "./files.js";
import { attempt } from "./notice.js";
import * as session from "./session.js";
import * as text from "./text.js";

const key = document.querySelector("#key");
const credit = document.querySelector("#model");
const tabs = [...document.querySelectorAll("[role=tab]")];

document.addEventListener("keyneeded", () => {
  key.hidden = false;
  key.querySelector("input").focus();
});
key.addEventListener("submit", (submission) => {
  submission.preventDefault();
  const input = key.querySelector("input");
  useKey(input.value.trim());
  input.value = "";
  key.hidden = true;
  start();
});
tabs.forEach((tab) => tab.addEventListener("click", () => tabs.forEach((each) => show(each, each === tab))));
onModel(({ name, licence, attribution }) => {
  credit.textContent = [`Model ${name}`, licence, attribution].filter(Boolean).join(" · ");
});
[text, files, session].forEach((part) => part.install());
start();

function start() {
  attempt(async () => {
    await readModels();
    await files.readFiles();
  });
}

function show(tab, isSelected) {
  tab.ariaSelected = String(isSelected);
  document.getElementById(tab.getAttribute("aria-controls")).hidden = !isSelected;
}
