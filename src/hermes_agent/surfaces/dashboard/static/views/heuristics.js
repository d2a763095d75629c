/* What was learned, on what evidence, and a person's hand on it. */

import { get } from "../api.js";
import { change } from "../ask.js";
import { count, empty, field, fill, h, head, percent, select, stage, table, when } from "../dom.js";

const stages = ["candidate", "awaiting_approval", "probation", "trusted", "retired", "rejected"];

function approve(one, again) {
  return h("button", { type: "button", "data-do": "approve", "aria-label": `Approve ${one.id}`, click: async () => {
    const question = { title: `Approve ${one.id}?`, text: `It begins to act: ${one.text}`, undo: "reject it, or roll back to the set before.", action: "Approve" };
    if (await change(question, `/api/heuristics/${one.id}/approve`)) again();
  } }, "Approve");
}

function reject(one, again) {
  return h("button", { type: "button", class: "danger", "data-do": "reject", "aria-label": `Reject ${one.id}`, click: async () => {
    const undo = one.acts ? "roll back to the set that is in force now." : "it cannot be undone here: what was rejected is not proposed again.";
    const question = { title: `Reject ${one.id}?`, text: `It stops acting and is not proposed again: ${one.text}`, undo, action: "Reject" };
    if (await change(question, `/api/heuristics/${one.id}/reject`)) again();
  } }, "Reject");
}

function buttons(one, again) {
  return h("div", { class: "buttons" }, one.waits ? approve(one, again) : null, one.stage !== "rejected" ? reject(one, again) : null,
    h("a", { href: `#/replay?heuristic=${encodeURIComponent(one.id)}&how=${one.acts ? "without" : "with"}` }, "Replay"));
}

function history(entries, caption) {
  if (!entries.length) return empty("No change is on record.");
  return table(caption, ["when", "heuristic", "change", { name: "set", number: true }, "evidence then", { name: "why", says: true }, "after run"],
    entries.map((one) => [when(one.at), h("a", { href: `#/heuristics/${one.heuristic}` }, one.heuristic), `${one.was || "new"} → ${one.became}`, one.set || "–", one.evidence, one.cause, one.run || "–"]));
}

async function single(main, id, signal) {
  const one = await get(`/api/heuristics/${encodeURIComponent(id)}`, {}, signal);
  const again = () => single(main, id, signal);
  const facts = [["says", one.text], ["kind", one.kind], ["about", one.subject], ["instead", one.better], ["where", one.where], ["model", one.model], ["confidence", percent(one.confidence)], ["evidence", one.evidence], ["source", one.source],
    ["learned", when(one.created_at)], ["changed", when(one.updated_at)], ["first applied", one.latency === null ? when(one.applied_at) : [when(one.applied_at), `, ${Number(one.latency).toPrecision(3)} s after it could act`]],
    ...Object.entries(one.detail)];
  fill(main, head(h("span", {}, "Heuristic ", one.id), h("a", { href: "#/heuristics" }, "all heuristics"), buttons(one, again)),
    h("section", { class: "card" }, h("p", {}, stage(one.stage)), h("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))),
    h("section", { class: "card" }, h("h2", {}, "Audit"), history(one.audit, "Every change, newest first")));
}

function sets(found, again) {
  const freeze = h("button", { type: "button", "data-do": "freeze", click: async () => {
    const on = !found.frozen;
    const question = on ? { title: "Freeze the set?", text: "Nothing is added, retired or rolled back by itself; what is known still acts, and evidence is still counted.", undo: "let it change again.", action: "Freeze" }
      : { title: "Let the set change again?", text: "Learning adds, retires and rolls back by itself again.", undo: "freeze it.", action: "Unfreeze" };
    if (await change(question, "/api/freeze", { frozen: on })) again();
  } }, found.frozen ? "Unfreeze" : "Freeze");
  const go = (one) => h("button", { type: "button", "data-do": "rollback", "aria-label": `Go to set ${one.version}`, click: async () => {
    const question = { title: `Go to set ${one.version}?`, text: "What it does not hold stops; what it held acts again.", undo: `go to set ${found.active}.`, action: "Roll back" };
    if (await change(question, "/api/rollback", { to: one.version })) again();
  } }, "Go to this set");
  const rows = found.rows.map((one) => [one.version === found.active ? h("strong", {}, `${one.version} (in force)`) : one.version, one.version ? one.parent : "–", count(one.heuristics), one.version ? when(one.at) : "–", one.cause,
    one.version === found.active ? "" : h("div", { class: "buttons" }, go(one), h("a", { href: `#/replay?how=set&version=${one.version}` }, "Replay"))]);
  return h("section", { class: "card", id: "sets" }, h("div", { class: "head" }, h("div", {}, h("h2", {}, "Sets"), h("p", { class: "lead" }, found.frozen ? "The set is frozen: it changes by your hand only." : "Sets never change; each is made from the one before, for a reason.")), freeze),
    table("Versions, newest first", ["version", "from", { name: "heuristics", number: true }, "made", { name: "why", says: true }, "do"], rows));
}

export async function show(main, { rest, query, signal }) {
  if (rest[0]) return single(main, rest[0], signal);
  const chosen = { stage: query.get("stage") || "", family: query.get("family") || "", model: query.get("model") || "", offset: query.get("offset") || "" };
  const again = () => show(main, { rest, query, signal });
  const [places, found, versions, audit] = await Promise.all([get("/api/places", {}, signal), get("/api/heuristics", chosen, signal), get("/api/sets", {}, signal), get("/api/audit", {}, signal)]);
  const choose = (name) => (value) => { location.hash = `#/heuristics?${new URLSearchParams({ ...chosen, offset: "", [name]: value })}`; };
  const filters = h("div", { class: "filters" },
    field("stage", select(chosen.stage, [["", "every stage"], ...stages.map((one) => [one, one.replaceAll("_", " ")])], choose("stage"), "stage")),
    field("family", select(chosen.family, [["", "all families"], ["*", "general ones"], ...places.families.map((one) => [one.id, one.name])], choose("family"), "family")),
    field("model", select(chosen.model, [["", "all models"], ...places.models.map((one) => [one, one])], choose("model"), "model")));
  const rows = found.rows.map((one) => ({ properties: { "data-heuristic": one.id }, cells: [h("a", { href: `#/heuristics/${one.id}` }, one.text), one.kind.replaceAll("_", " "), one.where, stage(one.stage), percent(one.confidence), one.evidence, when(one.updated_at), buttons(one, again)] }));
  const list = rows.length ? table(`${count(found.total)} in all; what waits for you first, then newest change first`, [{ name: "what it says", says: true }, "kind", "where", "stage", { name: "sure", number: true }, "evidence", "changed", "do"], rows)
    : empty(chosen.stage || chosen.family || chosen.model ? "Nothing fits. Choose another stage, family or model." : ["Nothing is learned yet: it takes several runs of the same kind, from at least two sessions. ", h("code", {}, 'hermes run "TEXT" --check COMMAND'), " tells at once whether a run succeeded."]);
  const size = 50;
  const step = (offset, text) => h("button", { type: "button", click: () => { location.hash = `#/heuristics?${new URLSearchParams({ ...chosen, offset: String(offset) })}`; } }, text);
  const pages = h("div", { class: "buttons" }, found.offset > 0 ? step(Math.max(0, found.offset - size), "Newer") : null, found.offset + size < found.total ? step(found.offset + size, "Older") : null);
  fill(main, head("Heuristics", "What was learned, on what evidence. Everything can be taken back.", filters), h("section", { class: "card" }, list, pages), sets(versions, again),
    h("section", { class: "card" }, h("h2", {}, "Audit"), history(audit.slice(0, 30), "The last changes of all, newest first")));
}
