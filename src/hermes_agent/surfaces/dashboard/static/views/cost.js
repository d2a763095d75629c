/* Tokens, money and the share that came from the cache. */

import { get } from "../api.js";
import { chart } from "../charts.js";
import { count, empty, field, fill, h, head, percent, select, table, tile } from "../dom.js";

const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value >= 1e3 ? `${Math.round(value / 1e3)} k` : String(Math.round(value)));

function money(line) {
  if (line.usd !== null) return `$${line.usd.toFixed(4)}`;
  return line.usd_known ? `$${line.usd_known.toFixed(4)} + unknown` : "unknown";
}

function charts(rows) {
  const days = rows.map((one) => Date.parse(`${one.key}T00:00:00Z`) / 1000);
  const x = days.length ? [days[0] - 43200, days.at(-1) + 43200] : undefined;
  return h("div", { class: "grid" },
    chart("Tokens by day", `${rows.length} days.`, { time: true, x, format: short, data: [days, rows.map((one) => one.used.input), rows.map((one) => one.used.output)], series: [{ label: "in", colour: "accent" }, { label: "out", colour: "second" }] }),
    chart("Share of the input from the cache", `${rows.length} days.`, { time: true, x, y: [0, 1.02], format: (value) => `${Math.round(100 * value)} %`, data: [days, rows.map((one) => one.cached_share)], series: [{ label: "cached", colour: "third" }] }));
}

export async function show(main, { query, signal }) {
  const chosen = { by: query.get("by") || "day", days: query.get("days") || "30" };
  const choose = (name) => (value) => { location.hash = `#/cost?${new URLSearchParams({ ...chosen, [name]: value })}`; };
  const found = await get("/api/cost", chosen, signal);
  const filters = h("div", { class: "filters" }, field("by", select(chosen.by, ["day", "model", "session", "provider"].map((one) => [one, one]), choose("by"), "by")),
    field("range", select(chosen.days, [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]], choose("days"), "days")));
  const total = found.total;
  const title = head("Cost", "What the models were asked. Deleted sessions are still counted.", filters);
  if (!found.rows.length) {
    fill(main, title, empty("No model was called in this range. ", h("code", {}, "hermes model"), " shows which models there are."));
    return;
  }
  const name = (one) => (found.by === "session" ? h("a", { href: `#/sessions/${one.key}` }, one.title || one.key) : one.key);
  const rows = found.rows.map((one) => [name(one), count(one.used.calls), count(one.used.failures), count(one.used.input), count(one.used.output), percent(one.cached_share), money(one)]);
  const numbers = ["calls", "failed", "tokens in", "tokens out", "from cache", "cost"].map((one) => ({ name: one, number: true }));
  fill(main, title, h("div", { class: "tiles" }, tile(money(total), "cost"), tile(count(total.used.calls), "calls"), tile(short(total.used.input), "tokens in"), tile(short(total.used.output), "tokens out"), tile(percent(total.cached_share), "from the cache")),
    total.unpriced.length ? h("p", { class: "dim" }, `No price is known for ${total.unpriced.join(", ")}: give it in models.yaml.`) : null,
    found.by === "day" ? [charts(found.rows), h("br")] : null,
    h("section", { class: "card" }, table(found.left_out ? `The ${rows.length} that used the most; ${count(found.left_out)} more` : `By ${found.by}`, [found.by, ...numbers], found.by === "day" ? rows.toReversed() : rows)));
}
