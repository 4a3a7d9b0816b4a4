/** Files, which are translated while the page may be closed. */

import { ask } from "./api.js";
import { choice, glossary } from "./choice.js";
import { attempt } from "./notice.js";

const panel = document.querySelector("#files");
const [drop, input, list] = [".drop", "input", "ul"].map((selector) => panel.querySelector(selector));
const template = document.querySelector("#file");
const WAIT_SECONDS = 1; // between two looks at how far a file is
const PAUSE_MS = 3000; // before the service is asked again that did not answer

export function install() {
  input.addEventListener("change", () => sendAll(input.files).then(() => (input.value = "")));
  drop.addEventListener("dragover", (drag) => drag.preventDefault());
  drop.addEventListener("drop", (drag) => {
    drag.preventDefault();
    sendAll(drag.dataTransfer.files);
  });
}

/** Show what was sent before, perhaps by an earlier page. */
export async function readFiles() {
  const { files } = await (await ask("v1/files")).json();
  list.replaceChildren();
  files.forEach(follow);
}

async function sendAll(files) {
  for (const file of files) await attempt(() => sendOne(file));
}

async function sendOne(file) {
  const form = new FormData();
  Object.entries(choice()).forEach(([name, value]) => form.set(name, value));
  form.set("glossary", glossary().map(({ source, target }) => `${source}\t${target}`).join("\n"));
  form.set("file", file);
  follow(await (await ask("v1/files", { method: "POST", body: form })).json());
}

/** A line for a file, kept up to date until it is translated, or cannot be. */
async function follow(file) {
  const line = template.content.cloneNode(true).firstElementChild;
  line.querySelector(".name").textContent = file.filename;
  line.querySelector(".fetch").addEventListener("click", () => attempt(() => fetchTranslation(file)));
  line.querySelector(".delete").addEventListener("click", () => attempt(() => forget(file, line)));
  list.prepend(line);
  update(line, file);
  while (line.isConnected && !["done", "error"].includes(file.status)) {
    try {
      file = await (await ask(`v1/files/${file.id}?wait_seconds=${WAIT_SECONDS}`)).json();
      update(line, file);
    } catch (problem) {
      if (problem.status === 404) line.remove(); // deleted elsewhere
      line.querySelector("output").textContent = problem.message;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function update(line, { status, sentences, translated, problem }) {
  const [progress, state, fetchIt] = ["progress", "output", ".fetch"].map((selector) => line.querySelector(selector));
  progress.max = Math.max(1, sentences);
  progress.value = status === "done" ? progress.max : translated;
  progress.hidden = status === "error";
  state.textContent = problem?.detail ?? `${translated} of ${sentences} sentences`;
  fetchIt.hidden = status !== "done";
}

async function fetchTranslation({ id, filename, target_lang }) {
  const answer = await ask(`v1/files/${id}/translation`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = filename.replace(/(\.[^.]*)?$/, `.${target_lang}$1`);
  link.click();
  URL.revokeObjectURL(link.href);
}

async function forget({ id }, line) {
  await ask(`v1/files/${id}`, { method: "DELETE" });
  line.remove();
}
