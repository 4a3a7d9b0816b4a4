/** The source of a translated sentence, and its other translations. */

import { answered } from "./api.js";
import { isUnsure } from "./choice.js";
import { OFFERED, offerOthers, textsOf } from "./others.js";

const about = document.querySelector("#text .about");

export function hideOrigin() {
  about.hidden = true;
}

/** Show the source of the sentence in a span, and other translations that can replace it there. */
export async function showOrigin(passage, sentence, span) {
  const { source, context_size: read } = sentence;
  const { source_lang, target_lang } = passage.asked;
  const origin = Object.assign(document.createElement("bdi"), { lang: source_lang, textContent: source });
  const others = Object.assign(document.createElement("div"), { lang: target_lang, dir: "auto" });
  document.querySelector("#text .chosen")?.classList.remove("chosen");
  span.classList.add("chosen");
  const how = ` — translated with ${read} preceding ${read === 1 ? "sentence" : "sentences"}. `;
  const doubt = isUnsure(sentence, passage.asked.model) ? "The model is unsure of it. " : "";
  about.replaceChildren(origin, how, doubt, others);
  about.hidden = false;
  about.scrollIntoView({ block: "nearest" });
  const texts = await translations(passage, sentence);
  if (!others.isConnected) return; // another sentence was chosen, or this one again
  offerOthers(others, texts, () => span.textContent, (text) => {
    span.textContent = text;
    span.classList.remove("unsure");
  });
  about.scrollIntoView({ block: "nearest" });
}

/** The translations of a sentence in its context, beginning with its own. */
async function translations({ asked, sentences }, { position, source, translation, context_size }) {
  const { text, ...how } = asked;
  const context = sentences.slice(position - context_size, position).map((sentence) => sentence.source);
  const body = { ...how, sentences: [source], context, alternatives: OFFERED };
  const [found] = (await answered("v1/documents", body)).sentences;
  return [...new Set([translation, ...textsOf(found)])];
}
