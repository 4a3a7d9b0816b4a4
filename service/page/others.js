/** Other translations of a sentence, of which one can be chosen. */

export const OFFERED = 3; // of each sentence

/** All texts for a sentence: its translation, and then the alternatives. */
export function textsOf({ translation, alternatives }) {
  return [translation, ...alternatives.map((other) => other.translation)];
}

/** Offer all texts but the one that is shown; `choose` shows another one. What somebody wrote is added to the texts. */
export function offerOthers(place, texts, shown, choose) {
  const others = texts.filter((text) => text !== shown());
  place.replaceChildren(...others.map((text) => button(text, () => {
    const former = shown();
    if (former && !texts.includes(former)) texts.push(former);
    choose(text);
    offerOthers(place, texts, shown, choose);
    place.querySelector("button")?.focus();
  })));
}

function button(text, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}
