/* Success, entropy, variance, drift and feedback latency over time, with the moments of learning. */

import { get, on } from "../api.js";
import { failed } from "../ask.js";
import { chart, endAll } from "../charts.js";
import { count, empty, field, fill, h, head, percent, select, table, tile } from "../dom.js";

const day = 86400;
const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2).replace(/\.?0+$/, "") || "0");
const duration = (value) => (value >= 172800 ? `${number(value / 86400)} d` : value >= 7200 ? `${number(value / 3600)} h` : value >= 120 ? `${number(value / 60)} min` : `${number(value)} s`);
const share = (value) => `${Math.round(100 * value)} %`;

function named(places, chosen) {
  const families = places.families.map((one) => [one.id, `${one.name} (${count(one.tasks)})`]);
  if (chosen.family && !families.some(([id]) => id === chosen.family)) families.push([chosen.family, chosen.family]);
  return families;
}

function summary(points, value, format) {
  const known = points.filter((one) => value(one) !== null);
  if (!known.length) return "No figures.";
  return `${known.length} points, from ${format(value(known[0]))} to ${format(value(known.at(-1)))}.`;
}

function byDay(found, days) {
  const today = Math.floor(Date.now() / 1000 / day) * day;
  const x = [today - (days - 1) * day - day / 2, today + day / 2];
  const marks = found.marks.map((mark) => ({ x: mark.at, bad: mark.change === "rolled back" }));
  const points = found.days;
  const column = (value) => [points.map((one) => one.day), points.map(value)];
  const rate = (one) => (one.judged ? one.successes / one.judged : null);
  const drift = found.drift;
  const charts = [
    chart("Success rate by day", summary(points, rate, share), { time: true, x, y: [0, 1.02], marks, format: share, data: column(rate), series: [{ label: "success", colour: "accent" }] }),
    chart("Entropy of tool selection (bits)", summary(points, (one) => one.entropy, number), { time: true, x, marks, format: number, data: column((one) => one.entropy), series: [{ label: "entropy", colour: "third" }] }),
    chart("Plan variance (plans per run)", summary(points, (one) => one.plan_variance, number), { time: true, x, marks, format: number, data: column((one) => one.plan_variance), series: [{ label: "variance", colour: "second" }] }),
    chart("Drift: heuristics changed a day", `${drift.length} days with changes.`, {
      time: true, x, format: number,
      data: [drift.map((one) => one.day), drift.map((one) => one.added), drift.map((one) => one.changed), drift.map((one) => one.retired)],
      series: [{ label: "added", colour: "accent", bars: true, align: -1, points: false }, { label: "changed", colour: "third", bars: true, align: 0, points: false }, { label: "retired", colour: "bad", bars: true, align: 1, points: false }],
    }),
    chart("Feedback latency (from learned to first applied)", summary(found.latencies, (one) => one.seconds, duration), {
      time: true, x, format: duration, data: [found.latencies.map((one) => one.at), found.latencies.map((one) => one.seconds)],
      series: [{ label: "latency", colour: "mark", points: true, line: false }],
    }),
    chart("Seconds a run", summary(points, (one) => one.mean_seconds, number), { time: true, x, marks, format: number, data: column((one) => one.mean_seconds), series: [{ label: "seconds", colour: "accent" }] }),
  ];
  return h("div", { class: "grid" }, charts);
}

function figures(points) {
  const rows = points.toReversed().map((one) => [new Date(one.day * 1000).toISOString().slice(0, 10), count(one.runs),
    one.judged ? share(one.successes / one.judged) : "–", number(one.entropy), number(one.plan_variance),
    one.with_errors ? share(one.recovered / one.with_errors) : "–", share(one.advised / one.runs), number(one.mean_seconds)]);
  return h("details", { class: "card" }, h("summary", {}, "The same as a table"),
    table("Days with runs, newest first", ["day", ...["runs", "success", "entropy", "variance", "recovered", "advised", "seconds"].map((name) => ({ name, number: true }))], rows));
}

function fitted(fit) {
  if (!fit) return "too few runs for a fitted curve";
  const reached = fit.iterations_to_80 === null ? "80 % is not reached" : `80 % after ${Math.round(fit.iterations_to_80)} runs`;
  return `fitted (measured): from ${share(fit.curve.initial)} towards ${share(fit.curve.asymptote)}, rate ${number(fit.curve.rate)}; ${reached}${fit.rises ? "" : "; no rise can be told from chance"}`;
}

function aligned(...lines) {
  const places = [...new Set(lines.flatMap((line) => (line || []).map(([n]) => n)))].sort((one, other) => one - other);
  return [places, ...lines.map((line) => { const known = new Map(line || []); return places.map((n) => known.get(n) ?? null); })];
}

function curve(found) {
  if (!found.runs) return empty("No run was learned from here yet.");
  const marks = found.marks.map(([n, mark]) => ({ x: n, bad: mark.change === "rolled back" }));
  const { success, seconds, recovery, reuse } = found.series;
  const x = [0, Math.max(1, found.runs)];
  return [h("p", {}, `The last ${count(found.runs)} runs, moving mean of ${found.window}: ${fitted(success.fit)}.`),
    h("div", { class: "grid" },
      chart("Success over runs", fitted(success.fit), { x, y: [0, 1.02], marks, format: share,
        data: aligned(success.window, success.fitted, ...(found.reference ? [found.reference] : [])),
        series: [{ label: "success", colour: "accent", points: false }, { label: "fit", colour: "dim", dash: [6, 4], points: false }, ...(found.reference ? [{ label: "seed curve", colour: "second", dash: [2, 4], points: false }] : [])] }),
      chart("Error recovery and use of what was learned", "Moving shares.", { x, y: [0, 1.02], marks, format: share, data: aligned(recovery.window, reuse.window),
        series: [{ label: "recovered", colour: "third", points: false }, { label: "advised", colour: "mark", points: false }] }),
      chart("Seconds over runs", "Moving mean.", { x, marks, format: number, data: aligned(seconds.window, seconds.fitted),
        series: [{ label: "seconds", colour: "accent", points: false }, { label: "fit", colour: "dim", dash: [6, 4], points: false }] }),
      chart("Entropy over runs (bits)", "Of the plans in the window.", { x, marks, format: number, data: aligned(found.entropy), series: [{ label: "entropy", colour: "third", points: false }] }))];
}

function tiles(places, points) {
  const judged = points.reduce((sum, one) => sum + one.judged, 0);
  const good = points.reduce((sum, one) => sum + one.successes, 0);
  const runs = points.reduce((sum, one) => sum + one.runs, 0);
  return h("div", { class: "tiles" },
    tile(judged ? percent(good / judged) : "–", "success in this range"), tile(count(runs), "runs in this range"),
    tile(count((places.stages.trusted || 0) + (places.stages.probation || 0)), "heuristics that act"),
    tile(count(places.stages.awaiting_approval || 0), "wait for you"),
    tile(`${places.set_version}${places.frozen ? " (frozen)" : ""}`, "set in force"), tile(count(places.rollbacks), "rollbacks"));
}

export async function show(main, { query, signal }) {
  const chosen = { family: query.get("family") || "", model: query.get("model") || "", days: query.get("days") || "30", reference: query.get("reference") || "" };
  const places = await get("/api/places", {}, signal);
  const choose = (name) => (value) => {
    const next = new URLSearchParams({ ...chosen, [name]: value });
    location.hash = `#/learning?${next}`;
  };
  const filters = h("div", { class: "filters" },
    field("family", select(chosen.family, [["", "all families"], ...named(places, chosen)], choose("family"), "family")),
    field("model", select(chosen.model, [["", "all models"], ...places.models.map((one) => [one, one])], choose("model"), "model")),
    field("range", select(chosen.days, [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]], choose("days"), "days")),
    field("seed curve", select(chosen.reference, [["", "none"], ...places.references.map((one) => [one, one.replaceAll("_", " ")])], choose("reference"), "reference")));
  const daily = h("section", { "aria-label": "By day" });
  const runs = h("section", { "aria-label": "Over runs" }, empty("Loading…"));
  fill(main, head("Learning", "Success, variance and drift over time; dashed lines are learning events, red ones rollbacks.", filters), daily, h("h2", {}, "Over runs"), runs);

  async function days() {
    const found = await get("/api/learning", { family: chosen.family, model: chosen.model, days: chosen.days }, signal);
    if (signal.aborted) return;
    if (!found.days.length && !found.pending) {
      const last = found.last ? `The last run was learned from on ${new Date(found.last * 1000).toISOString().slice(0, 10)}; choose a longer range or another family.` : "Nothing was learned from yet.";
      fill(daily, tiles(places, []), empty(last, " ", h("code", {}, 'hermes run "TEXT" --check COMMAND'), " makes a run that is judged, and ", h("code", {}, "hermes bench finance"), " shows learning at work."));
    } else {
      fill(daily, tiles(places, found.days), found.pending ? h("p", { class: "dim", role: "status" }, `${found.pending} days are still being counted…`) : null, byDay(found, Number(chosen.days)), h("br"), figures(found.days));
    }
    if (found.pending) setTimeout(() => !signal.aborted && days().catch(failed), 700);
  }

  await days();
  const found = await get("/api/curve", { family: chosen.family, model: chosen.model, reference: chosen.reference }, signal);
  fill(runs, curve(found));
  let waiting = null;
  const stop = on("learning", () => {
    if (signal.aborted) return stop();
    waiting ??= setTimeout(() => { waiting = null; if (!signal.aborted) days().catch(failed); }, 5000);
  });
  signal.addEventListener("abort", () => { stop(); endAll(); });
}
