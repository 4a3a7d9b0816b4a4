/** A document that grows: a session of the service. */

import { answered, ask, send } from "./api.js";
import { choice, glossary, isUnsure, onModel } from "./choice.js";
import { copy, hasClipboard } from "./clipboard.js";
import { attempt } from "./notice.js";
import { OFFERED, offerOthers, textsOf } from "./others.js";

const panel = document.querySelector("#session");
const [form, input, translate, copyIt, state, rows] = ["form", "input", ".main", ".copy", "output", "tbody"].map((part) =>
  panel.querySelector(part),
);
const template = document.querySelector("#sentence");
let current = null; // the session that sentences go to, as a promise, once there is one
let saving = Promise.resolve(); // corrections, one after the other; whatever is sent later waits for them

export function install() {
  form.addEventListener("submit", (submission) => {
    submission.preventDefault();
    if (input.value.trim()) attempt(say);
  });
  copyIt.addEventListener("click", () => attempt(() => copy(translations(), state)));
  panel.querySelector(".new").addEventListener("click", () => mayForget() && attempt(forget));
  addEventListener("beforeunload", (leaving) => rows.hasChildNodes() && leaving.preventDefault());
  document.addEventListener("mousedown", hold, true);
  document.addEventListener("mouseup", letGo);
  let isFirst = true; // it comes with the models, for which a sentence that was sent at once is waiting, too
  onModel(({ source_lang }) => {
    input.lang = source_lang;
    if (!isFirst) attempt(forget); // a session stays with its model
    isFirst = false;
  });
}

/**
 * Keep the other translations of a sentence visible until the mouse is released: whatever is pressed takes the focus
 * from the sentence, and would move away from under the mouse before it is clicked.
 */
function hold() {
  letGo();
  rows.querySelector("tr:focus-within")?.classList.add("held");
}

function letGo() {
  rows.querySelector(".held")?.classList.remove("held");
}

/** Send the sentence that was written. One that fails stays in the field, to be sent again at the same position. */
async function say() {
  input.focus(); // for the next one: a button that is disabled loses the focus
  translate.disabled = input.readOnly = true;
  const mine = (current ??= begin());
  let session = null;
  try {
    await saving;
    session = await mine;
    if (mine !== current) return; // nobody wants that document any more
    const said = await sent(session);
    if (mine !== current) return;
    session.sentences++;
    show(said, session);
    input.value = "";
  } catch (problem) {
    if (mine !== current) return;
    if (!session) current = null; // it could not be begun: the next sentence tries again
    throw problem;
  } finally {
    translate.disabled = input.readOnly = false;
  }
}

async function begin() {
  const asked = { glossary: glossary(), alternatives: OFFERED, ...(await choice()) };
  const { session_id, next_position } = await answered("v1/sessions", asked);
  const { source_lang, target_lang, model } = asked;
  return { address: `v1/sessions/${session_id}`, sentences: next_position, source_lang, target_lang, model };
}

async function sent(session) {
  try {
    return await answered(`${session.address}/sentences`, { text: input.value, position: session.sentences });
  } catch (problem) {
    if (problem.status === 404) throw new Error(`${problem.message}. Begin a new document.`);
    if (problem.next_position === undefined || problem.code === "session_full") throw problem;
    session.sentences = problem.next_position;
    throw new Error("The previous sentence was translated, but its answer was lost. Translate again to continue after it.");
  }
}

function show(sentence, { address, source_lang, target_lang, model }) {
  const row = template.content.cloneNode(true).firstElementChild;
  const [source, target, others] = [".source", ".target", ".others"].map((part) => row.querySelector(part));
  source.lang = source_lang;
  target.lang = others.lang = target_lang;
  source.textContent = sentence.source;
  target.classList.toggle("unsure", isUnsure(sentence, model));
  const choose = offer(target, sentence.translation, `${address}/sentences/${sentence.position}`);
  const texts = textsOf(sentence);
  const draw = () => offerOthers(others, texts, () => target.textContent, choose);
  target.addEventListener("input", draw);
  others.addEventListener("mousedown", (press) => press.preventDefault()); // otherwise they would be gone before the click
  draw();
  rows.append(row);
  state.textContent = "";
  copyIt.hidden = !hasClipboard;
  form.scrollIntoView({ block: "nearest" });
}

/**
 * Show a translation that can be corrected in place. What cannot be saved stays, and is tried again.
 * Returns a function that replaces the text.
 */
function offer(target, translation, address) {
  let known = (target.textContent = translation);
  target.addEventListener("keydown", (key) => {
    if (key.key === "Enter" && !isComposing(key)) key.preventDefault(), target.blur();
  });
  target.addEventListener("blur", () => correct(written(target) || known));
  return correct;

  function correct(text) {
    if (text !== known) target.classList.remove("unsure");
    if (text !== target.textContent) target.textContent = text; // otherwise the browser can still undo what was written
    saving = saving.then(() => isSaved(text) || attempt(() => save(text)));
  }

  /** Whether the service has the text. Asked when its turn comes, as an earlier one may have been under way until then. */
  function isSaved(text) {
    return text === known && !target.classList.contains("unsaved");
  }

  async function save(corrected) {
    target.classList.add("unsaved");
    await send(address, { translation: corrected }, { method: "PATCH" }).catch((problem) => {
      if (problem.code !== "position_expired") throw problem; // so long ago that no sentence is translated with it any more
    });
    target.classList.remove("unsaved");
    known = corrected;
  }
}

/** Whether a key belongs to an input method, as for Japanese. In Safari, the one that ends the composition only has this code. */
function isComposing({ isComposing, keyCode }) {
  return isComposing || keyCode === 229;
}

/** What somebody has written, on one line: in `textContent`, pasted lines may have nothing between them. */
function written(target) {
  return target.innerText.trim().replace(/\s*\n\s*/g, " ");
}

/** The translations as they were corrected, a line for each sentence. */
function translations() {
  return [...rows.querySelectorAll(".target")].map(written).join("\n");
}

/** Ask before translations and corrections are deleted that are nowhere else. */
export function mayForget() {
  return !rows.hasChildNodes() || confirm("The document under “Sentence by sentence” will be deleted. Continue?");
}

async function forget() {
  const former = current;
  current = null;
  rows.replaceChildren();
  state.textContent = "";
  copyIt.hidden = true;
  await saving;
  const session = await former?.catch(() => null);
  if (!session) return;
  await ask(session.address, { method: "DELETE" }).catch((problem) => {
    if (problem.status !== 404) throw problem; // it has expired
  });
}
