/** A document that grows: a session of the service. */

import { ask, send } from "./api.js";
import { choice, glossary, onModel } from "./choice.js";
import { attempt } from "./notice.js";

const panel = document.querySelector("#session");
const [form, input, translate, anew, rows] = ["form", "input", ".main", ".new", "tbody"].map((selector) =>
  panel.querySelector(selector),
);
const template = document.querySelector("#sentence");
let session = null; // its address and how many sentences it has, once there is one

export function install() {
  form.addEventListener("submit", (submission) => {
    submission.preventDefault();
    attempt(say);
  });
  anew.addEventListener("click", () => attempt(forget));
  onModel(() => attempt(forget)); // a session stays with its model
}

/** Send the sentence that was written. One that fails stays where it is, to be sent again at the same position. */
async function say() {
  translate.disabled = anew.disabled = input.readOnly = true;
  try {
    session ??= await begin();
    const at = `${session.address}/sentences`;
    const said = await (await send(at, { text: input.value, position: session.sentences })).json();
    session.sentences++;
    show(said, `${at}/${said.position}`);
    input.value = "";
  } finally {
    translate.disabled = anew.disabled = input.readOnly = false;
  }
}

function show({ source, translation }, address) {
  const row = template.content.cloneNode(true).firstElementChild;
  row.querySelector(".source").textContent = source;
  offer(row.querySelector(".target"), translation, address);
  rows.append(row);
  form.scrollIntoView({ block: "nearest" });
}

async function begin() {
  const created = await (await send("v1/sessions", { ...choice(), glossary: glossary() })).json();
  return { address: `v1/sessions/${created.session_id}`, sentences: created.next_position };
}

/** Show a translation that can be corrected where it stands. */
function offer(target, translation, address) {
  let known = translation;
  target.textContent = known;
  target.contentEditable = "plaintext-only";
  target.addEventListener("keydown", (key) => {
    if (key.key === "Enter") key.preventDefault(), target.blur();
  });
  target.addEventListener("blur", async () => {
    const corrected = target.textContent.trim();
    if (corrected === known) return;
    if (await attempt(() => send(address, { translation: corrected }, { method: "PATCH" }))) known = corrected;
    else target.textContent = known;
  });
}

async function forget() {
  const address = session?.address;
  session = null;
  rows.replaceChildren();
  if (!address) return;
  await ask(address, { method: "DELETE" }).catch((problem) => {
    if (problem.status !== 404) throw problem; // it has expired
  });
}
