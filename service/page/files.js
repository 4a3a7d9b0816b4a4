/** Files, which are translated even if the page is closed. */

import { ask } from "./api.js";
import { choice, glossary } from "./choice.js";
import { attempt } from "./notice.js";

const panel = document.querySelector("#files");
const [input, list] = ["input", "ul"].map((selector) => panel.querySelector(selector));
const tab = document.querySelector("#tab-files");
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
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, take);
}

/** Send files wherever they are dropped, where they would replace the page otherwise; a text goes where it is dropped. */
function take(drag) {
  if (!drag.dataTransfer.types.includes("Files")) return;
  drag.preventDefault();
  if (drag.type !== "drop") return;
  const dropped = [...drag.dataTransfer.files];
  if (panel.hidden) tab.click();
  attempt(() => sendAll(dropped));
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

/** Send files one after the other, visible from the start; the refused ones are reported together at the end. */
async function sendAll(files) {
  const refused = [];
  const added = files.map((file) => ({ file, line: add(file.name, "Waiting to be sent") }));
  for (const { file, line } of added)
    await sendOne(file, line).catch((problem) => {
      line.remove();
      refused.push(`${file.name}: ${problem.message}`);
    });
  if (refused.length) throw new Error(refused.join("\n"));
}

async function sendOne(file, line) {
  line.querySelector("output").textContent = "Sending…";
  await file.slice(0, 1).arrayBuffer().catch(explain);
  const form = new FormData();
  Object.entries(await choice()).forEach(([name, value]) => form.set(name, value));
  form.set("glossary", glossary().map(({ source, target }) => `${source}\t${target}`).join("\n"));
  form.set("filename", file.name); // unchanged: in the file's own part, some characters in it are escaped
  form.set("file", file);
  const sent = await (await ask("v1/files", { method: "POST", body: form })).json();
  if (lines.has(sent.id)) line.remove(); // it was found while its answer was under way
  else offer(line, sent);
  show(sent);
  if (!isWatching) watch();
}

function explain() {
  throw new Error("It cannot be read: is it a folder, or has it changed?");
}

function show(file) {
  if (!lines.has(file.id)) offer(add(file.filename), file);
  update(lines.get(file.id), file);
}

/** Add a line for a file, which the service may not have yet. */
function add(name, state = "") {
  const line = template.content.cloneNode(true).firstElementChild;
  line.querySelector(".name").textContent = name;
  line.querySelector("output").textContent = state;
  list.prepend(line);
  return line;
}

/** Offer what can be done with a file that the service has. */
function offer(line, file) {
  const [fetchIt, deleteIt] = [".fetch", ".delete"].map((selector) => line.querySelector(selector));
  fetchIt.addEventListener("click", () => attempt(() => fetchTranslation(file)));
  deleteIt.addEventListener("click", () => attempt(() => remove(file)));
  deleteIt.hidden = false;
  lines.set(file.id, line);
}

function update(line, { status, sentences, translated, unsure, problem }) {
  const [progress, state, fetchIt] = ["progress", "output", ".fetch"].map((selector) => line.querySelector(selector));
  line.dataset.status = status;
  progress.max = Math.max(1, sentences);
  progress.value = status === "done" ? progress.max : translated;
  progress.hidden = status === "error";
  const done = `${translated} of ${sentences} sentences`;
  state.textContent = problem?.detail ?? (unsure ? `${done}; the model is unsure of ${unsure}` : done);
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
    ((line.nextElementSibling ?? line.previousElementSibling)?.querySelector(".delete:not([hidden])") ?? input).focus();
  line?.remove();
  lines.delete(id);
}
