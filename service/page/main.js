/** The page: its parts, the key that they need, and which of them is visible. */

import { hasKey, useKey } from "./api.js";
import * as choice from "./choice.js";
import * as files from "./files.js";
import { attempt } from "./notice.js";
import * as session from "./session.js";
import * as text from "./text.js";

const key = document.querySelector("#key");
const another = document.querySelector("#another-key");
const credit = document.querySelector("#model");
const tabs = [...document.querySelectorAll("[role=tab]")];

document.addEventListener("keyneeded", askForKey);
another.addEventListener("click", askForKey);
key.addEventListener("submit", (submission) => {
  submission.preventDefault();
  attempt(start);
});
tabs.forEach((tab) => tab.addEventListener("click", () => choose(tab)));
tabs.forEach((tab) => tab.addEventListener("keydown", move));
choice.onModel(({ name, licence, attribution }) => {
  credit.textContent = [`Model ${name}`, licence, attribution].filter(Boolean).join(" · ");
});
choice.install(session.mayForget);
[text, files, session].forEach((part) => part.install());
another.hidden = !hasKey();
attempt(read);

function askForKey() {
  another.hidden = true;
  if (!key.hidden) return; // the focus stays with somebody who is writing elsewhere
  key.hidden = false;
  key.querySelector("input").focus();
}

async function start() {
  const input = key.querySelector("input");
  if (!useKey(input.value.trim())) throw new Error("A key cannot contain these characters: copy it again.");
  input.value = "";
  key.hidden = true;
  another.hidden = false;
  await read();
}

async function read() {
  await choice.readModels();
  await files.readFiles();
}

function choose(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.ariaSelected = String(isChosen);
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).hidden = !isChosen;
  }
  if (tab.id === "tab-files") attempt(files.readFiles);
}

/** Arrow keys lead from tab to tab, as in the ARIA Authoring Practices. */
function move({ key: pressed, target, altKey, ctrlKey, metaKey }) {
  if (altKey || ctrlKey || metaKey) return; // the browser's own, such as back
  const step = { ArrowRight: 1, ArrowLeft: -1 }[pressed];
  if (!step) return;
  const other = tabs.at((tabs.indexOf(target) + step) % tabs.length);
  choose(other);
  other.focus();
}
