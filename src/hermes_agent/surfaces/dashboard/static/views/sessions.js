/* Sessions: listed, searched, read step by step, and why a run did what it did. */

import { get } from "../api.js";
import { failed } from "../ask.js";
import { badge, count, empty, fill, h, head, table, when } from "../dom.js";
import { step } from "./steps.js";

const states = { done: "ok", failed: "bad", open: "warn", interrupted: "warn" };

function runCard(run, unfolded, signal) {
  const list = h("ol", { class: "steps whole", "aria-label": "Steps" });
  const below = h("div", {});
  let begun = false;

  async function more(after) {
    const found = await get(`/api/runs/${run.id}/steps`, { after: after || "" }, signal);
    list.append(...found.steps.map(step));
    fill(below, found.after ? h("button", { type: "button", click: () => more(found.after).catch(failed) }, "More steps") : null);
  }

  async function why(event) {
    event.target.disabled = true;
    const told = await get(`/api/runs/${run.id}/why`, {}, signal);
    event.target.replaceWith(h("section", { "aria-label": "Why" }, h("h3", {}, "Why"), h("pre", { class: "plain" }, told.text)));
  }

  const details = h("details", { open: unfolded, toggle: () => {
    if (details.open && !begun) { begun = true; more(0).catch(failed); }
  } }, h("summary", {}, `${count(run.steps)} steps`), list, below);
  return h("article", { class: "card run", "data-run": run.id },
    h("header", {}, h("h2", {}, `Run ${run.id}`), badge(run.status, states[run.status]), h("span", { class: "dim" }, run.model), h("span", { class: "dim" }, when(run.started_at)),
      h("button", { type: "button", class: "quiet", "data-do": "why", click: (event) => why(event).catch(failed) }, "Why?")), details);
}

async function single(main, id, signal) {
  const found = await get(`/api/sessions/${encodeURIComponent(id)}`, {}, signal);
  const session = found.session;
  fill(main, head(session.title || "(no title)", h("a", { href: "#/sessions" }, "all sessions")),
    h("p", { class: "dim" }, `session ${session.id} · ${session.surface} · ${session.workspace} · ${count(session.runs)} runs`),
    found.runs.length ? found.runs.map((run, place) => runCard(run, place === 0, signal)) : empty("No run was made in it yet."));
}

export async function show(main, { rest, query, signal }) {
  if (rest[0]) return single(main, rest[0], signal);
  const asked = query.get("q") || "";
  const input = h("input", { type: "search", name: "q", value: asked, placeholder: "words that were said", "aria-label": "Search in sessions" });
  const form = h("form", { role: "search", class: "filters", submit: (event) => { event.preventDefault(); location.hash = `#/sessions?q=${encodeURIComponent(input.value)}`; } }, input, h("button", { type: "submit" }, "Search"));
  const place = h("section", { class: "card" });
  fill(main, head("Sessions", "Conversations and tasks, newest first. They are kept until you delete them.", form), place);
  if (asked) {
    const found = await get("/api/search", { q: asked }, signal);
    fill(place, found.length ? table(`Found in ${count(found.length)} places, newest first`, ["session", "who", { name: "what", says: true }], found.map((one) => [h("a", { href: `#/sessions/${one.session_id}` }, one.title || one.session_id), one.role, one.snippet]))
      : empty("Nothing was found. All words must occur; a word may be given by its beginning."));
    return;
  }
  const rows = [];
  async function more(before) {
    const found = await get("/api/sessions", { before: before || "" }, signal);
    rows.push(...found.rows.map((one) => [h("a", { href: `#/sessions/${one.id}` }, one.title || "(no title)"), when(one.updated_at), count(one.runs), one.surface, one.workspace]));
    fill(place, rows.length ? table("The sessions used last", [{ name: "title", says: true }, "used", { name: "runs", number: true }, "surface", "workspace"], rows) : empty("There are no sessions yet. ", h("code", {}, 'hermes run "TEXT"'), " or ", h("code", {}, "hermes chat"), " begins one."),
      found.before ? h("button", { type: "button", click: () => more(found.before).catch(failed) }, "Older") : null);
  }
  await more(0);
}
