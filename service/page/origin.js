/** Where a translated sentence comes from, and what else it may be. */

import { answered } from "./api.js";

const about = document.querySelector("#text .about");
const OFFERED = 3; // other translations of a sentence

export function hideOrigin() {
  about.hidden = true;
}

/** Show it of the sentence in a span, where another translation can be chosen. */
export async function showOrigin(passage, sentence, span) {
  const { source, context_size: read } = sentence;
  const origin = `${source} — read after ${read} preceding ${read === 1 ? "sentence" : "sentences"}. `;
  document.querySelector("#text .chosen")?.classList.remove("chosen");
  span.classList.add("chosen");
  about.replaceChildren(origin);
  about.hidden = false;
  const texts = await translations(passage, sentence);
  if (span.isConnected && span.classList.contains("chosen")) draw();

  function draw() {
    const others = texts.filter((text) => text !== span.textContent);
    about.replaceChildren(origin, ...others.map((text) => button(text, () => choose(text))));
  }

  function choose(text) {
    span.textContent = text;
    draw();
    about.querySelector("button").focus();
  }
}

/** Those of a sentence in its place, its own first. */
async function translations({ asked, sentences }, { position, source, translation, context_size }) {
  const { text, ...how } = asked;
  const context = sentences.slice(position - context_size, position).map((sentence) => sentence.source);
  const body = { ...how, sentences: [source], context, alternatives: OFFERED };
  const [found] = (await answered("v1/documents", body)).sentences;
  return [...new Set([translation, found.translation, ...found.alternatives.map((other) => other.translation)])];
}

function button(text, pressed) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}
