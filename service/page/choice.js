/** What every request for a translation names: the pair of languages, the model and the terms. */

import { ask } from "./api.js";

const pairs = document.querySelector("#pairs");
const terms = document.querySelector("#glossary textarea");
const CHOSEN = "antecedent.model";
const names = new Intl.DisplayNames("en", { type: "language" });
let models = [];

/**
 * Store the choice with the tab: when a browser restores a page, it restores the text, but not the languages.
 * A model that can still be chosen stays chosen unless `mayChange` allows another one.
 */
export function install(mayChange) {
  pairs.addEventListener("change", (change) => {
    const former = sessionStorage.getItem(CHOSEN);
    if (models.some(({ name }) => name === former) && !mayChange()) {
      pairs.value = former;
      change.stopImmediatePropagation();
    } else sessionStorage.setItem(CHOSEN, pairs.value);
  });
}

/** Read which models there are; the chosen one stays chosen if it still exists. */
export async function readModels() {
  ({ models } = await (await ask("v1/models")).json());
  const chosen = pairs.value; // read only now: somebody may have chosen meanwhile
  const wanted = chosen || sessionStorage.getItem(CHOSEN);
  pairs.replaceChildren(...models.map((model) => new Option(label(model), model.name)));
  if (models.some(({ name }) => name === wanted)) pairs.value = wanted;
  if (pairs.value !== chosen) pairs.dispatchEvent(new Event("change"));
  if (chosen && pairs.value !== chosen) throw new Error(`The model ${chosen} is no longer served: choose another one.`);
}

function label({ name, source_lang, target_lang, default: isDefault }) {
  const pair = `${nameOf(source_lang)} → ${nameOf(target_lang)}`;
  return isDefault ? pair : `${pair} (${name})`;
}

function nameOf(language) {
  try {
    return names.of(language);
  } catch {
    return language; // browsers accept fewer codes than a service does
  }
}

/** Call `changed` with the chosen model whenever it changes. */
export function onModel(changed) {
  pairs.addEventListener("change", () => model() && changed(model()));
}

export function model() {
  return models.find(({ name }) => name === pairs.value);
}

/** The members of every request, according to the models that there are now. */
export async function choice() {
  await readModels();
  if (!model()) throw new Error("The service has no model.");
  const { name, source_lang, target_lang } = model();
  return { source_lang, target_lang, model: name };
}

/** Whether a model, by its name, was less sure of a translation than of nine in ten. */
export function isUnsure({ score }, name) {
  const { unsure_below: limit } = models.find((model) => model.name === name) ?? {};
  return score !== null && score < (limit ?? -Infinity);
}

/** The terms, as members of a request. Half a term is refused: it may be unfinished. */
export function glossary() {
  const lines = terms.value.split("\n").filter((line) => line.trim());
  return lines.map((line) => {
    const [source, target] = line.split(/[=＝\t](.*)/s).map((side) => side.trim());
    if (!source || !target) throw new Error(`“${line.trim()}” is not a term: write source and target with = between them.`);
    return { source, target };
  });
}
