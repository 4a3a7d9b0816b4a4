/** What this page asks of its service. Addresses are relative, so that a proxy may put a path before them. */

const KEY = "antecedent.key";

/** The service's own words for what it refuses (RFC 9457). */
export class Problem extends Error {
  constructor(problem, retryAfter) {
    super(retryAfter ? `${problem.detail} Try again in ${retryAfter} s.` : problem.detail);
    this.status = problem.status;
  }
}

export function useKey(key) {
  sessionStorage.setItem(KEY, key);
}

/** An answer of the service. Throws a `Problem` for a refusal; one for want of a key is also an event of the document. */
export async function ask(path, { headers = {}, ...options } = {}) {
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The service cannot be reached.");
  });
  if (answer.ok) return answer;
  if (answer.status === 401) document.dispatchEvent(new Event("keyneeded"));
  const problem = await answer.json().catch(() => ({ detail: `The service answered ${answer.status}.` }));
  throw new Problem(problem, answer.headers.get("Retry-After"));
}

/** An answer to JSON. */
export function send(path, body, { method = "POST", headers = {}, signal } = {}) {
  return ask(path, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal,
  });
}

/** The sentences of a document, as they become ready, and at last its end: `{kind, data}`. */
export async function* translated(body, signal) {
  const answer = await send("v1/documents", body, { headers: { Accept: "text/event-stream" }, signal });
  for await (const { kind, data } of events(answer.body)) {
    if (kind === "error") throw new Problem(data);
    yield { kind, data };
    if (kind === "done") return;
  }
  throw new Error("The connection ended before the document did.");
}

async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (unread + value).split("\n\n");
    unread = blocks.pop();
    yield* blocks.map(event).filter(({ data }) => data);
  }
}

function event(block) {
  const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
  return { kind: fields.event, data: fields.data && JSON.parse(fields.data) };
}
