/* Steps of a run, one shape for all kinds. */

import { clock, h } from "../dom.js";

const minor = new Set(["prefix_frozen", "model_called", "call_intended", "delivery_intended", "delivery_finished", "run_started", "process_spawned", "plan_changed", "fragment"]);
const spoken = new Set(["user_message", "assistant_message", "run_finished"]);

export function step(one) {
  const long = one.text.length > 600;
  const text = !one.text ? null
    : spoken.has(one.kind) && !long ? h("p", { class: "said" }, one.text)
      : long || minor.has(one.kind) ? h("details", {}, h("summary", {}, `${one.text.length} characters`), h("pre", {}, one.text))
        : h("pre", {}, one.text);
  return h("li", { class: `${one.state} ${minor.has(one.kind) ? "minor" : ""}`, "data-kind": one.kind, "data-seq": one.seq },
    h("time", { datetime: one.at ? new Date(one.at * 1000).toISOString() : null }, clock(one.at)),
    h("div", {}, h("span", { class: "title" }, one.title), text));
}
