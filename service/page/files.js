/** Files, which are translated even if the page is closed. */

import { ask } from "./api.js";
import { choice, glossary } from "./choice.js";
import { attempt } from "./notice.js";

const panel = document.querySelector("#files");
const [drop, input, list] = [".drop", "input", "ul"].map((selector) => panel.querySelector(selector));
const template = document.querySelector("#file");
const lines = new Map(); // the list's items, by the ids of the files
const deleted = new Set(); // ids that an answer may still contain if it was already under way
const PAUSE_MS = 1000; // between two requests for their progress
const LONG_PAUSE_MS = 5000; // if there was no answer
let isWatching = false;

export function install() {
  input.addEventListener("change", () => {
    const chosen = [...input.files]; // the field's own list disappears with its value
    input.value = "";
    attempt(() => sendAll(chosen));
  });
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, keepPage);
  drop.addEventListener("drop", (drag) => {
    const dropped = [...drag.dataTransfer.files];
    attempt(() => sendAll(dropped));
  });
}

/** Prevent a file that is dropped beside the field from replacing the page; a text goes where it is dropped. */
function keepPage(drag) {
  if (drag.dataTransfer.types.includes("Files")) drag.preventDefault();
}

/** Show what was sent, perhaps from an earlier page, and how it progresses. */
export async function readFiles() {
  const shown = [...lines.keys()]; // the answer does not contain what is sent while it is under way
  const { files } = await (await ask("v1/files")).json();
  const ids = new Set(files.map(({ id }) => id));
  shown.filter((id) => !ids.has(id)).forEach(forget);
  files.filter(({ id }) => !deleted.has(id)).forEach(show);
  if (!isWatching) watch();
}

async function watch() {
  isWatching = true;
  for (let pause = PAUSE_MS; [...lines.values()].some(isPending); ) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      await readFiles();
      pause = PAUSE_MS;
    } catch (problem) {
      if ([401, 403].includes(problem.status)) break; // started again with another key
      pause = LONG_PAUSE_MS;
    }
  }
  isWatching = false;
}

function isPending(line) {
  return !["done", "error"].includes(line.dataset.status);
}

/** Send files one after the other; the refused ones are reported together at the end. */
async function sendAll(files) {
  const refused = [];
  for (const file of files)
    await sendOne(file).catch((problem) => refused.push(`${file.name}: ${problem.message}`));
  if (refused.length) throw new Error(refused.join("\n"));
}

async function sendOne(file) {
  await file.slice(0, 1).arrayBuffer().catch(explain);
  const form = new FormData();
  Object.entries(await choice()).forEach(([name, value]) => form.set(name, value));
  form.set("glossary", glossary().map(({ source, target }) => `${source}\t${target}`).join("\n"));
  form.set("filename", file.name); // unchanged: in the file's own part, some characters in it are escaped
  form.set("file", file);
  show(await (await ask("v1/files", { method: "POST", body: form })).json());
  if (!isWatching) watch();
}

function explain() {
  throw new Error("It cannot be read: is it a folder, or has it changed?");
}

function show(file) {
  if (!lines.has(file.id)) lines.set(file.id, made(file));
  update(lines.get(file.id), file);
}

function made(file) {
  const line = template.content.cloneNode(true).firstElementChild;
  line.querySelector(".name").textContent = file.filename;
  line.querySelector(".fetch").addEventListener("click", () => attempt(() => fetchTranslation(file)));
  line.querySelector(".delete").addEventListener("click", () => attempt(() => remove(file)));
  list.prepend(line);
  return line;
}

function update(line, { status, sentences, translated, problem }) {
  const [progress, state, fetchIt] = ["progress", "output", ".fetch"].map((selector) => line.querySelector(selector));
  line.dataset.status = status;
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
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers have not begun to read it yet
}

async function remove({ id }) {
  await ask(`v1/files/${id}`, { method: "DELETE" }).catch((problem) => {
    if (problem.status !== 404) throw problem; // it is gone already
  });
  deleted.add(id);
  forget(id);
}

/** Remove a line. If it has the focus, the focus goes to the next one, or else to the field for more files. */
function forget(id) {
  const line = lines.get(id);
  if (line?.contains(document.activeElement))
    ((line.nextElementSibling ?? line.previousElementSibling)?.querySelector(".delete") ?? input).focus();
  line?.remove();
  lines.delete(id);
}
