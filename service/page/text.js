/** A text, translated as one document, and what its context has changed. */

import { translated } from "./api.js";
import { choice, glossary, model, onModel } from "./choice.js";
import { attempt } from "./notice.js";
import { differences } from "./words.js";

const panel = document.querySelector("#text");
const [source, target, state, about, table, translate, stop, copy, compare] = [
  "textarea", ".translation", "output", ".about", ".differences", ".translate", ".stop", ".copy", ".compare",
].map((selector) => panel.querySelector(selector));
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

/** A translated sentence, which shows where it comes from. */
function marked(sentence) {
  const span = document.createElement("span");
  span.textContent = sentence.translation;
  span.addEventListener("click", () => {
    const read = sentence.context_size;
    about.textContent = `${sentence.source} — read after ${read} preceding ${read === 1 ? "sentence" : "sentences"}.`;
    about.hidden = false;
    target.querySelector(".chosen")?.classList.remove("chosen");
    span.classList.add("chosen");
  });
  return span;
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
