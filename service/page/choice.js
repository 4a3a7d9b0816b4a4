/** What every translation is asked with: the pair of languages, the model and the terms. */

import { ask } from "./api.js";

const pairs = document.querySelector("#pairs");
const terms = document.querySelector("#glossary textarea");
const names = new Intl.DisplayNames("en", { type: "language" });
let models = [];

/** Read which models there are, and keep what was chosen. */
export async function readModels() {
  const chosen = pairs.value;
  ({ models } = await (await ask("v1/models")).json());
  pairs.replaceChildren(...models.map((model) => new Option(label(model), model.name)));
  if (models.some(({ name }) => name === chosen)) pairs.value = chosen;
  pairs.dispatchEvent(new Event("change"));
}

function label({ name, source_lang, target_lang, default: isDefault }) {
  const pair = `${names.of(source_lang)} → ${names.of(target_lang)}`;
  return isDefault ? pair : `${pair} (${name})`;
}

/** Call `changed` with the model that is chosen, now and whenever it is another one. */
export function onModel(changed) {
  pairs.addEventListener("change", () => model() && changed(model()));
}

export function model() {
  return models.find(({ name }) => name === pairs.value);
}

/** The members of every request. */
export function choice() {
  if (!model()) throw new Error("The service has told of no model yet.");
  const { name, source_lang, target_lang } = model();
  return { source_lang, target_lang, model: name };
}

/** The terms, as members of a request. A line without `=` or a tab is refused here: it may be one that is not finished. */
export function glossary() {
  const lines = terms.value.split("\n").filter((line) => line.trim());
  return lines.map((line) => {
    const [, source, target] = line.match(/^([^=\t]+)[=\t](.+)$/) ?? [];
    if (!target?.trim()) throw new Error(`The term “${line.trim()}” has no translation: write both, with = between them.`);
    return { source: source.trim(), target: target.trim() };
  });
}
