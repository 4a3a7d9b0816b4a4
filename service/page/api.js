/** The page's requests to its service. Addresses are relative, so that a proxy may put a path before them. */

const KEY = "antecedent.key";
const OF_KEYS = ["unauthenticated", "forbidden"]; // problems that another key may solve

/** A refusal, in the service's own words (RFC 9457). */
export class Problem extends Error {
  constructor({ status, code, detail, next_position }) {
    super(detail);
    Object.assign(this, { status, code, next_position });
  }
}

/** Use a key until the page's tab is closed. Returns false if no request could carry it. */
export function useKey(key) {
  try {
    new Headers({ Authorization: `Bearer ${key}` });
  } catch {
    return false; // it has characters that no header may have, perhaps invisible ones that were copied with it
  }
  sessionStorage.setItem(KEY, key);
  return true;
}

/** Whether a key is used, perhaps since before the page was loaded again. */
export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

/** Get an answer from the service. Throws a `Problem` if it refuses; if another key may help, the document also gets an event. */
export async function ask(path, { headers = {}, ...options } = {}) {
  const key = sessionStorage.getItem(KEY);
  const own = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch(path, { ...options, headers: { ...headers, ...own } }).catch(explain);
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  const problem = body?.code ? body : { status: answer.status, detail: `The service answered ${answer.status}.` };
  if (OF_KEYS.includes(problem.code)) document.dispatchEvent(new Event("keyneeded"));
  throw new Problem(problem);
}

/** Send JSON, and return the answer. */
export function send(path, body, { method = "POST", headers = {}, signal } = {}) {
  const json = { "Content-Type": "application/json", ...headers };
  return ask(path, { method, headers: json, body: JSON.stringify(body), signal });
}

/** Send JSON, and return the content of the answer. */
export async function answered(path, body, options) {
  return (await send(path, body, options)).json();
}

/** The sentences of a document, as they become ready, and finally its end: `{kind, data}`. */
export async function* translated(body, signal) {
  const answer = await send("v1/documents", body, { headers: { Accept: "text/event-stream" }, signal });
  for await (const { kind, data } of events(answer.body)) {
    if (kind === "error") throw new Problem(data);
    yield { kind, data };
    if (kind === "done") return;
  }
  throw new Error("The connection ended before the end of the document.");
}

async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(explain);
      if (done) return;
      const blocks = (unread + value).split("\n\n");
      unread = blocks.pop();
      yield* blocks.map(event).filter(({ data }) => data);
    }
  } finally {
    reader.cancel().catch(() => null); // the service need not continue when the reader has had enough
  }
}

function event(block) {
  const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
  return { kind: fields.event, data: fields.data && JSON.parse(fields.data) };
}

function explain(error) {
  throw error.name === "AbortError" ? error : new Error("The service cannot be reached.");
}
