/** A text, translated as one document. */

import { translated } from "./api.js";
import { choice, glossary, isUnsure, onModel } from "./choice.js";
import { copy, hasClipboard } from "./clipboard.js";
import { hideComparison, showComparison } from "./comparison.js";
import { offerIn } from "./example.js";
import { attempt } from "./notice.js";
import { hideOrigin, showOrigin } from "./origin.js";

const panel = document.querySelector("#text");
const [source, target, state] = ["textarea", ".translation", "output"].map((part) => panel.querySelector(part));
const [translate, stop, copyIt, compare] = ["translate", "stop", "copy", "compare"].map((name) =>
  panel.querySelector(`.${name}`),
);
let passage = null; // the request, and the sentences that have arrived
let work = new AbortController();

export function install() {
  translate.addEventListener("click", () => attempt(() => working(show)));
  stop.addEventListener("click", () => work.abort());
  copyIt.addEventListener("click", () => attempt(() => copy(target.textContent, state)));
  compare.addEventListener("click", () => attempt(() => working((signal) => showComparison(passage, signal))));
  source.addEventListener("keydown", (key) => {
    if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) translate.click();
  });
  target.addEventListener("keydown", move);
  onModel(({ source_lang }) => (source.lang = source_lang));
  offerIn(source);
}

/** Do a task that Stop can end; whatever was under way before is ended now. */
async function working(task) {
  work.abort();
  const mine = (work = new AbortController());
  stop.hidden = false;
  try {
    await task(mine.signal);
  } finally {
    if (work === mine) hideStop();
  }
}

function hideStop() {
  if (document.activeElement === stop) translate.focus(); // what is hidden loses the focus
  stop.hidden = true;
}

async function show(signal) {
  const asked = { text: source.value, glossary: glossary() };
  clear();
  Object.assign(asked, await choice());
  if (signal.aborted) return;
  const mine = (passage = { asked, sentences: [] });
  target.lang = asked.target_lang;
  const began = performance.now();
  try {
    for await (const { kind, data } of translated(asked, signal)) {
      if (kind === "sentence") add(mine, data);
      else target.append(data.after);
      tell(mine, performance.now() - began);
    }
  } finally {
    if (mine === passage) offer();
  }
}

function tell({ asked, sentences }, milliseconds) {
  const count = sentences.length;
  const unsure = sentences.filter((sentence) => isUnsure(sentence, asked.model)).length;
  const long = `${count} ${count === 1 ? "sentence" : "sentences"}, ${(milliseconds / 1000).toFixed(1)} s`;
  state.textContent = unsure ? `${long}. The model is unsure of ${unsure}, underlined.` : long;
}

function clear() {
  passage = null; // an earlier one that is still under way has nothing to offer any more
  target.replaceChildren();
  state.textContent = "";
  copyIt.hidden = compare.hidden = true;
  hideOrigin();
  hideComparison();
}

/** Show what can be done with what has arrived. */
function offer() {
  compare.hidden = !passage.sentences.length;
  copyIt.hidden = compare.hidden || !hasClipboard;
}

function add(passage, sentence) {
  const span = document.createElement("span");
  span.textContent = sentence.translation;
  span.classList.toggle("unsure", isUnsure(sentence, passage.asked.model));
  span.role = "button";
  span.tabIndex = passage.sentences.length ? -1 : 0; // the others are reached by arrow keys
  span.addEventListener("click", () => attempt(() => showOrigin(passage, sentence, span)));
  passage.sentences.push(sentence);
  target.append(sentence.before, span);
}

/** Arrow keys lead from sentence to sentence; with Alt or another such key they are the browser's. */
function move(key) {
  if (key.altKey || key.ctrlKey || key.metaKey) return;
  const here = document.activeElement;
  const sides = [here.previousElementSibling, here.nextElementSibling];
  const [left, right] = target.matches(":dir(rtl)") ? sides.reverse() : sides;
  const other = { ArrowLeft: left, ArrowRight: right }[key.key];
  if (other) other.focus();
  else if (key.key === "Enter" || key.key === " ") here.click();
  else return;
  key.preventDefault();
}
