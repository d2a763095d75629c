/* Procedures the agent can follow: how each fares, who wrote it, and its switches. */

import { get } from "../api.js";
import { change } from "../ask.js";
import { badge, count, empty, fill, h, head, percent, stage, table, when } from "../dom.js";

const points = (value) => (value === null ? "–" : `${value >= 0 ? "+" : ""}${Math.round(100 * value)} points`);

function states(one) {
  return [one.archived_at ? badge("archived") : null, one.enabled ? null : badge("disabled", "warn"), one.pinned ? badge("pinned", "ok") : null, one.shadowed ? badge("shadowed") : null,
    one.problem ? badge("problem", "bad") : null, one.needs_rewrite ? badge("to be rewritten", "warn") : null].filter(Boolean).flatMap((one) => [one, " "]);
}

function buttons(one, again) {
  if (!one.id || one.archived_at) return "";
  const press = (name, text, question, on) => h("button", { type: "button", "data-do": name, "aria-label": `${text} ${one.name}`, click: async () => {
    if (await change({ ...question, action: text }, `/api/skills/${one.id}/${name}`, { on })) again();
  } }, text);
  const enable = one.enabled ? press("enabled", "Disable", { title: `Disable ${one.name}?`, text: "The agent is not offered it any more, from the next session on.", undo: "enable it again." }, false)
    : press("enabled", "Enable", { title: `Enable ${one.name}?`, text: "The agent is offered it again, from the next session on.", undo: "disable it again." }, true);
  const pin = one.pinned ? press("pinned", "Unpin", { title: `Unpin ${one.name}?`, text: "Agents, the background review and the curator may change it again.", undo: "pin it again." }, false)
    : press("pinned", "Pin", { title: `Pin ${one.name}?`, text: "Agents, the background review and the curator do not change it. You still can.", undo: "unpin it." }, true);
  return h("div", { class: "buttons" }, enable, pin);
}

async function single(main, id, signal) {
  const one = await get(`/api/skills/${encodeURIComponent(id)}`, {}, signal);
  const facts = [["for", one.description], ["shelf", `${one.shelf}, in ${one.folder}`], ["made by", one.made_by ? `${one.origin}, in run ${one.made_by}` : one.origin], ["version", `${one.version}${one.validated ? ", validated" : ", not validated"}`],
    ["uses", `${count(one.uses_count)}, success ${percent(one.success_rate)}, utility ${points(one.utility)}`], ["health", [one.health, one.health_note ? `: ${one.health_note}` : "", one.checked_at ? [", tried ", when(one.checked_at)] : ""]], ["problem", one.problem], ["files", one.files.join(", ")], ["pitfalls", one.pitfalls.join("; ")]];
  const measured = one.measured.length ? table("Measured by the coin", ["id", "where", "model", "stage", "evidence"], one.measured.map((item) => [h("a", { href: `#/heuristics/${item.id}` }, item.id), item.where, item.model, stage(item.stage), item.evidence]))
    : empty("Not measured yet: a coin decides which tasks are told of it.");
  const uses = one.uses.length ? table("The last uses", ["when", "how", "family", "model", "outcome", "run"], one.uses.map((use) => [when(use.at), use.how, use.family || "–", use.model || "–", use.success === null ? "not judged" : use.success ? badge("succeeded", "ok") : badge("failed", "bad"), h("a", { href: `#/sessions/${use.session_id}` }, use.run_id)])) : empty("Not used yet.");
  const versions = table("Versions, newest first", ["version", "when", "what", "who", "run", "note"], one.versions.map((item) => [item.version === one.version ? h("strong", {}, item.version) : item.version, when(item.at), item.action, item.origin, item.run_id || "–", item.note || "–"]));
  fill(main, head(h("span", {}, "Skill ", one.name), h("a", { href: "#/skills" }, "all skills"), buttons(one, () => single(main, id, signal))),
    h("section", { class: "card" }, h("p", {}, states(one)), h("dl", {}, facts.filter(([, value]) => value && value.length).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])), h("details", {}, h("summary", {}, "What it says"), h("pre", { class: "plain" }, one.body))),
    h("section", { class: "card" }, h("h2", {}, "Evidence"), measured), h("section", { class: "card" }, h("h2", {}, "Uses"), uses), h("section", { class: "card" }, h("h2", {}, "History"), versions));
}

export async function show(main, { rest, query, signal }) {
  if (rest[0]) return single(main, rest[0], signal);
  const again = () => show(main, { rest, query, signal });
  const found = await get("/api/skills", {}, signal);
  const rows = found.map((one) => ({ properties: { "data-skill": one.name }, cells: [one.id ? h("a", { href: `#/skills/${one.id}` }, one.name) : one.name, one.description, `${one.shelf} / ${one.origin}`, count(one.uses_count), percent(one.success_rate), points(one.utility), one.health, states(one), buttons(one, again)] }));
  fill(main, head("Skills", "Procedures the agent can follow. Success is the moving rate of uses, utility what the coin says tasks gain."),
    rows.length ? h("section", { class: "card" }, table(`${count(rows.length)} skills`, ["name", { name: "what it is for", says: true }, "shelf / maker", { name: "uses", number: true }, { name: "success", number: true }, { name: "utility", number: true }, "health", "state", "do"], rows))
      : empty("There are no skills. ", h("code", {}, "hermes skills new NAME"), " writes one."));
}
