/** Where a translated sentence comes from, and what else it may be. */

import { answered } from "./api.js";
import { OFFERED, offerOthers, textsOf } from "./others.js";

const about = document.querySelector("#text .about");

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
  if (!span.isConnected || !span.classList.contains("chosen")) return;
  const others = document.createElement("span");
  about.append(others);
  offerOthers(others, texts, () => span.textContent, (text) => (span.textContent = text));
}

/** Those of a sentence in its place, its own first. */
async function translations({ asked, sentences }, { position, source, translation, context_size }) {
  const { text, ...how } = asked;
  const context = sentences.slice(position - context_size, position).map((sentence) => sentence.source);
  const body = { ...how, sentences: [source], context, alternatives: OFFERED };
  const [found] = (await answered("v1/documents", body)).sentences;
  return [...new Set([translation, ...textsOf(found)])];
}
