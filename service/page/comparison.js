/** What difference the context makes to a passage. */

import { translated } from "./api.js";
import { differences } from "./words.js";

const table = document.querySelector("#text .differences");

export function hideComparison() {
  table.hidden = true;
}

/** Show the sentences that are translated differently without those before them. */
export async function showComparison({ asked, sentences }, signal) {
  const alone = [];
  for await (const { kind, data } of translated({ ...asked, strategy: "sentence" }, signal)) {
    if (kind === "sentence") alone.push(data);
    if (alone.length === sentences.length) break; // the others were not translated: somebody pressed Stop
  }
  const rows = sentences.flatMap((sentence, i) => row(sentence, alone[i], asked));
  const count = `${rows.length} of ${sentences.length}`;
  table.caption.textContent = `${count} sentences are translated differently without the sentences before them.`;
  table.tHead.hidden = !rows.length;
  table.tBodies[0].replaceChildren(...rows);
  table.hidden = false;
  table.scrollIntoView({ block: "nearest" });
}

function row(sentence, alone, { source_lang, target_lang }) {
  if (sentence.translation === alone.translation) return [];
  const found = document.createElement("tr");
  addCell(found, source_lang, [sentence.source]);
  for (const runs of differences(sentence.translation, alone.translation, target_lang))
    addCell(found, target_lang, runs.map(([text, isDifferent]) => (isDifferent ? emphasised(text) : text)));
  return [found];
}

function addCell(row, lang, parts) {
  Object.assign(row.insertCell(), { lang, dir: "auto" }).append(...parts);
}

function emphasised(text) {
  const mark = document.createElement("mark");
  mark.textContent = text;
  return mark;
}
