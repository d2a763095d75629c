/* Whether everything is as it should be, and what to do where it is not. */

import { get, post } from "../api.js";
import { failed } from "../ask.js";
import { badge, fill, h, head, table } from "../dom.js";

const order = { fail: 0, warn: 1, ok: 2 };
const states = { ok: "ok", warn: "warn", fail: "bad" };

function listed(checks, caption) {
  const sorted = checks.toSorted((one, other) => order[one.state] - order[other.state]);
  return table(caption, ["state", "what", { name: "finding", says: true }, "what to do"], sorted.map((one) => [badge(one.state, states[one.state]), one.name, one.text, one.remedy || "–"]));
}

export async function show(main, { signal }) {
  const found = await get("/api/health", {}, signal);
  const place = h("div", {});
  const press = h("button", { type: "button", "data-do": "check", click: async () => {
    press.disabled = true;
    fill(place, h("p", { role: "status" }, "Reading the whole database…"), h("progress", {}));
    try { fill(place, listed((await post("/api/health/database")).checks, "The database's own check")); } catch (error) { fill(place); failed(error); }
    press.disabled = false;
  } }, "Check the database");
  const bad = found.checks.filter((one) => one.state !== "ok").length;
  fill(main, head("Health", bad ? `${bad} of ${found.checks.length} checks say that there is something to do.` : `All ${found.checks.length} checks are fine.`, press), place,
    h("section", { class: "card" }, listed(found.checks, "What `hermes doctor` looks at")));
}
