/* Would past runs have gone better with a heuristic, without it, or with another set? */

import { get, on, post } from "../api.js";
import { failed } from "../ask.js";
import { badge, count, empty, field, fill, h, head, select, table } from "../dom.js";

const verdicts = { helps: "ok", harms: "bad", unknown: "" };
const enough = 50;

function effect(one) {
  if (one.difference === null || one.low === null || one.ess < enough) return "–";
  const points = (value) => `${value >= 0 ? "+" : ""}${Math.round(100 * value)}`;
  return `${points(one.difference)} [${points(one.low)}, ${points(one.high)}]`;
}

function result(state, again) {
  if (state.state === "none") return empty("Nothing was replayed yet. Choose what to ask; nothing is changed by it.");
  if (state.state === "running") {
    return h("section", { class: "card", "data-state": "running" }, h("p", { role: "status" }, `Replaying past runs ${state.words}: ${count(state.runs)} so far.`), h("progress", { "aria-label": "replay under way" }),
      h("button", { type: "button", click: () => post("/api/replay", {}, "DELETE").then(again, failed) }, "Stop"));
  }
  if (state.state !== "done") return empty(state.error, state.remedy ? ` Try: ${state.remedy}` : "");
  const rows = state.rows.map((one) => [h("a", { href: `#/heuristics/${one.id}` }, one.id), badge(one.verdict, verdicts[one.verdict]), effect(one.effect), Math.round(one.effect.ess), count(one.labels.same), count(one.labels.weighted), `${Math.round(100 * one.unsupported)} %`, one.text]);
  return h("section", { class: "card", "data-state": "done" }, h("h2", {}, "Verdict ", badge(state.verdict, verdicts[state.verdict])),
    state.said.map((line) => h("p", { class: "verdict" }, line)), h("p", { class: "dim" }, `${count(state.runs)} runs in ${state.seconds.toFixed(1)} s. Nothing was changed.`),
    rows.length ? table("By heuristic; effects in points of success with 95 % intervals, none below a sample of 50", ["heuristic", "verdict", { name: "effect", number: true }, { name: "sample", number: true }, { name: "same", number: true }, { name: "weighed", number: true }, { name: "not judged", number: true }, { name: "what it says", says: true }], rows) : null);
}

export async function show(main, { query, signal }) {
  const [places, heuristics, sets, state] = await Promise.all([get("/api/places", {}, signal), get("/api/heuristics", {}, signal), get("/api/sets", {}, signal), get("/api/replay", {}, signal)]);
  const asked = { how: query.get("how") || "without", heuristic: query.get("heuristic") || heuristics.rows[0]?.id || "", version: query.get("version") || String(sets.active), family: "", model: "", days: "0" };
  const known = heuristics.rows.map((one) => [one.id, `${one.id}: ${one.text}`.slice(0, 90)]);
  if (asked.heuristic && !known.some(([id]) => id === asked.heuristic)) known.push([asked.heuristic, asked.heuristic]);
  const set = (name) => (value) => { asked[name] = value; shape(); };
  const which = field("heuristic", select(asked.heuristic, known, set("heuristic"), "heuristic"));
  const version = field("set", select(asked.version, sets.rows.map((one) => [String(one.version), `${one.version}: ${one.cause}`.slice(0, 80)]), set("version"), "version"));
  const form = h("form", { class: "card", submit: (event) => { event.preventDefault(); start(); } },
    h("div", { class: "filters" },
      field("ask", select(asked.how, [["without", "as it was, but without a heuristic"], ["with", "as it was, and with a heuristic"], ["set", "with another set"]], set("how"), "how")), which, version,
      field("family", select("", [["", "all families"], ...places.families.map((one) => [one.id, one.name])], set("family"), "family")),
      field("model", select("", [["", "all models"], ...places.models.map((one) => [one, one])], set("model"), "model")),
      field("runs of", select("0", [["0", "all time"], ["7", "7 days"], ["30", "30 days"], ["90", "90 days"]], set("days"), "days")),
      h("button", { type: "submit", class: "strong", "data-do": "replay" }, "Replay")));
  const place = h("div", { "aria-live": "polite" });

  function shape() {
    which.hidden = asked.how === "set";
    version.hidden = asked.how !== "set";
  }

  const shown = (state) => fill(place, result(state, () => {}));
  async function start() {
    const body = { how: asked.how, family: asked.family, model: asked.model, days: Number(asked.days) };
    if (asked.how === "set") body.version = Number(asked.version);
    else body.heuristic = asked.heuristic;
    try { shown(await post("/api/replay", body)); } catch (error) { failed(error); }
  }

  fill(main, head("Replay", "How past runs would have gone, as far as the coins of the past can tell. Where they cannot, it says so."),
    heuristics.rows.length || sets.rows.length > 1 ? form : empty("There is nothing to replay yet: nothing was learned. ", h("code", {}, 'hermes run "TEXT" --check COMMAND'), " makes runs to learn from."), place);
  shape();
  shown(state);
  const stop = on("replay", (next) => (signal.aborted ? stop() : shown(next)));
  signal.addEventListener("abort", stop);
}
