/* Talking to the server. Changes carry the word that only this page was told. */

let csrf = "";

export class Refused extends Error {
  constructor(status, message, remedy) {
    super(message);
    this.status = status;
    this.remedy = remedy || "";
  }
}

async function answered(response) {
  const kind = response.headers.get("content-type") || "";
  const body = kind.startsWith("application/json") ? await response.json() : { error: (await response.text()).trim() };
  if (response.ok) return body;
  const remedy = response.status === 401 ? "open the address that `hermes dashboard` prints" : body.remedy;
  throw new Refused(response.status, body.error || `the server answered ${response.status}`, remedy);
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer", "start it again with `hermes dashboard`");
  }
  return answered(response);
}

export function get(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters || {})) if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  const text = query.toString();
  return send(text ? `${path}?${text}` : path, { signal });
}

export function post(path, body, method = "POST") {
  return send(path, { method, headers: { "content-type": "application/json", "x-hermes-csrf": csrf }, body: JSON.stringify(body || {}) });
}

export async function hello() {
  const told = await get("/api/hello");
  csrf = told.csrf;
  return told;
}

/* One line for all views; closed while the page is hidden, so that many tabs do not use up the browser's connections. */
const hearers = new Map();
let source = null;
let lineChanged = () => {};

export function on(kind, hear) {
  if (!hearers.has(kind)) hearers.set(kind, new Set());
  hearers.get(kind).add(hear);
  return () => hearers.get(kind).delete(hear);
}

function tell(kind, value) {
  for (const hear of hearers.get(kind) || []) hear(value);
}

const kinds = ["snapshot", "run", "steps", "gone", "learning", "replay", "trouble"];

export function listen(changed) {
  lineChanged = changed;
  document.addEventListener("visibilitychange", () => (document.hidden ? hangUp() : call()));
  call();
}

function call() {
  if (source || document.hidden) return;
  source = new EventSource("/api/live");
  source.onopen = () => lineChanged(true);
  source.onerror = () => {
    lineChanged(false);
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(call, 5000);
    }
  };
  for (const kind of kinds) source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
}

function hangUp() {
  if (source) source.close();
  source = null;
}
