/* Runs under way, whoever drives them, with every step as it is written to the journal. */

import { on } from "../api.js";
import { add, badge, empty, fill, h, head, when } from "../dom.js";
import { step } from "./steps.js";

const most = 80;
const runs = new Map();
let changed = () => {};
const states = { open: "ok", interrupted: "warn", done: "", failed: "bad" };

on("snapshot", (all) => {
  runs.clear();
  for (const { run, steps } of all) runs.set(run.id, { run, steps });
  changed("all");
});
on("run", (run) => {
  const known = runs.get(run.id);
  if (known) known.run = run;
  else runs.set(run.id, { run, steps: [] });
  changed(known ? "run" : "all", run.id);
});
on("steps", ({ run, steps }) => {
  const known = runs.get(run);
  if (!known) return;
  known.steps = known.steps.concat(steps).slice(-most);
  changed("steps", run, steps);
});
on("gone", ({ run }) => {
  runs.delete(run);
  changed("all");
});

function card({ run, steps }) {
  const open = run.state === "open" || run.state === "interrupted";
  const list = h("ol", { class: "steps", "aria-label": "Steps", tabindex: "0" }, steps.map(step));
  const inside = open ? list : h("details", {}, h("summary", {}, `${run.steps} steps`), list);
  return h("article", { class: "card run", "data-run": run.id, "data-state": run.state },
    h("header", {},
      h("h2", {}, h("a", { href: `#/sessions/${run.session}` }, run.title || "(no title)")),
      badge(run.state === "open" ? "running" : run.state, states[run.state]),
      run.beside ? badge("in the background") : null,
      h("span", { class: "dim" }, run.model),
      h("span", { class: "dim" }, "begun ", when(run.started_at)),
      run.state === "interrupted" ? h("span", {}, h("code", {}, "hermes resume"), " goes on with it") : null),
    inside);
}

export async function show(main, { signal }) {
  const list = h("div", { "aria-live": "off" });
  const cards = new Map();

  function all() {
    const sorted = [...runs.values()].sort((one, other) =>
      (other.run.state === "open") - (one.run.state === "open") || other.run.started_at - one.run.started_at);
    cards.clear();
    for (const one of sorted) cards.set(one.run.id, card(one));
    if (sorted.length) fill(list, [...cards.values()]);
    else fill(list, empty("Nothing was run yet. In another terminal: ", h("code", {}, 'hermes run "TEXT"'), " – its steps appear here as they happen."));
    for (const one of cards.values()) down(one);
  }

  function down(element) {
    const steps = element.querySelector("ol.steps");
    if (steps) steps.scrollTop = steps.scrollHeight;
  }

  changed = (what, id, steps) => {
    if (signal.aborted) return;
    if (what === "all" || !cards.has(id)) return all();
    if (what === "run") {
      const fresh = card(runs.get(id));
      cards.get(id).replaceWith(fresh);
      cards.set(id, fresh);
      return down(fresh);
    }
    const element = cards.get(id).querySelector("ol.steps");
    const low = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    add(element, steps.map(step));
    while (element.children.length > most) element.firstChild.remove();
    if (low) element.scrollTop = element.scrollHeight;
  };
  fill(main, head("Live", "Runs under way and the last ones, in every process that shares this store."), list);
  all();
}
