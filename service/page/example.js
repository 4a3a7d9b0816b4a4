/** A document to begin with, in the chosen language, if there is one. */

import { model, onModel } from "./choice.js";

/** Fill a field that nobody has written in. */
export function offerIn(field) {
  let example = "";
  const isUntouched = () => field.value === example;
  onModel(async (chosen) => {
    const answer = isUntouched() && (await fetch(`page/samples/${chosen.source_lang}.txt`).catch(() => null));
    const text = answer?.ok ? (await answer.text()).trimEnd() : "";
    if (isUntouched() && model() === chosen) field.value = example = text;
  });
}
