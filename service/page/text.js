/** A text, translated as one document, and what its context has changed. */

import { send, translated } from "./api.js";
import { choice, glossary, model, onModel } from "./choice.js";
import { attempt } from "./notice.js";
import { differences } from "./words.js";

const panel = document.querySelector("#text");
const [source, target, state, about, table, translate, stop, copy, compare] = [
  "textarea", ".translation", "output", ".about", ".differences", ".translate", ".stop", ".copy", ".compare",
].map((selector) => panel.querySelector(selector));
const OFFERED = 3; // other translations of a sentence
const READ = 20; // the most preceding sentences that any architecture reads
let sentences = [];
let asked = null; // what the translation on the page is of
let work = new AbortController();

export function install() {
  translate.addEventListener("click", () => attempt(show));
  stop.addEventListener("click", () => work.abort());
  copy.addEventListener("click", () => attempt(() => navigator.clipboard.writeText(target.textContent)));
  compare.addEventListener("click", () => attempt(showDifferences));
  source.addEventListener("keydown", (key) => {
    if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) attempt(show);
  });
  onModel(offerExample);
}

async function show() {
  asked = { ...choice(), text: source.value, glossary: glossary() };
  sentences = [];
  target.replaceChildren();
  about.hidden = table.hidden = copy.hidden = compare.hidden = true;
  await following(asked, (sentence) => {
    sentences.push(sentence);
    target.append(sentence.before, marked(sentence));
  });
  copy.hidden = !navigator.clipboard; // browsers have none where a page did not come by TLS or from this machine
  compare.hidden = !sentences.length;
}

/** Have a document translated, its sentences given to `each`, and say how far it is. */
async function following(body, each) {
  work.abort();
  work = new AbortController();
  const { signal } = work;
  const began = performance.now();
  let count = 0;
  stop.hidden = false;
  try {
    for await (const { kind, data } of translated(body, signal)) {
      if (kind === "sentence") each(data), count++;
      else if (data.after) target.append(data.after);
      state.textContent = `${count} sentences, ${((performance.now() - began) / 1000).toFixed(1)} s`;
    }
  } finally {
    if (work.signal === signal) stop.hidden = true;
  }
}

/** A translated sentence, which shows where it comes from, and what else it may be. */
function marked(sentence) {
  const span = document.createElement("span");
  span.textContent = sentence.translation;
  span.addEventListener("click", () => {
    target.querySelector(".chosen")?.classList.remove("chosen");
    span.classList.add("chosen");
    attempt(() => explain(sentence, span));
  });
  return span;
}

async function explain(sentence, span) {
  const read = sentence.context_size;
  const origin = `${sentence.source} — read after ${read} preceding ${read === 1 ? "sentence" : "sentences"}. `;
  about.replaceChildren(origin);
  about.hidden = false;
  const others = await alternatives(sentence);
  if (span.classList.contains("chosen")) about.replaceChildren(origin, ...others.map((text) => button(text, choose)));

  function choose(text) {
    sentence.translation = span.textContent = text;
    explain(sentence, span);
  }
}

/** Other translations of a sentence in its place. */
async function alternatives({ position, source, translation }) {
  const before = sentences.slice(0, position).map((sentence) => sentence.source);
  const { text, ...how } = asked;
  const body = { ...how, sentences: [source], context: before.slice(-READ), alternatives: OFFERED };
  const [found] = (await (await send("v1/documents", body)).json()).sentences;
  return [found, ...found.alternatives].map((each) => each.translation).filter((each) => each !== translation);
}

function button(text, pressed) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", () => pressed(text));
  return made;
}

async function showDifferences() {
  const alone = [];
  await following({ ...asked, strategy: "sentence" }, (sentence) => alone.push(sentence));
  const rows = sentences.flatMap((sentence, i) => row(sentence, alone[i]));
  const count = `${rows.length} of ${sentences.length}`;
  table.caption.textContent = `${count} sentences are translated differently without the sentences before them.`;
  table.tHead.hidden = !rows.length;
  table.tBodies[0].replaceChildren(...rows);
  table.hidden = false;
}

function row(sentence, alone) {
  if (sentence.translation === alone.translation) return [];
  const found = document.createElement("tr");
  found.insertCell().textContent = sentence.source;
  for (const runs of differences(sentence.translation, alone.translation, asked.target_lang))
    found.insertCell().append(...runs.map(([text, isDifferent]) => (isDifferent ? emphasised(text) : text)));
  return [found];
}

function emphasised(text) {
  const mark = document.createElement("mark");
  mark.textContent = text;
  return mark;
}

/** Fill an empty page with a document in the language that is chosen, if there is one. */
async function offerExample() {
  if (source.value && source.value !== source.dataset.example) return;
  const answer = await fetch(`page/samples/${model().source_lang}.txt`).catch(() => null);
  source.dataset.example = source.value = answer?.ok ? (await answer.text()).trimEnd() : "";
}
