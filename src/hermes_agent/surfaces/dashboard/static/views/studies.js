/* Case studies: success, time, reuse and recovery by ranges of iterations, for each arm. */

import { get } from "../api.js";
import { chart } from "../charts.js";
import { badge, count, empty, fill, h, head, percent, table, when } from "../dom.js";

const colours = { on: "accent", off: "dim", shuffled: "second" };
const columns = ["iterations", ...["tasks", "success", "seconds", "of them tools", "skill reuse", "error recovery"].map((name) => ({ name, number: true }))];
const share = (value) => `${Math.round(100 * value)} %`;
const seconds = (value) => (value === null ? "–" : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2));
const signed = (value) => `${value >= 0 ? "+" : ""}${value.toFixed(1)}`;
const whole = (value) => (value === null ? "never" : String(Math.round(value)));

function gained(gain, real) {
  if (!gain) return "too few iterations to tell a gain";
  return `${signed(gain.points)} points of success from the first ten to the second half, 95 % interval [${signed(gain.low)}, ${signed(gain.high)}]${real ? "" : ", which chance explains"}`;
}

function fitted(fit) {
  if (!fit) return "too few tasks for a fitted curve";
  const between = (interval, format) => `[${format(interval.low)}, ${format(interval.high)}]`;
  const part = (value) => percent(value);
  const rate = (value) => (value === null ? "–" : value.toPrecision(2));
  const reached = fit.iterations_to_80 === null ? "80 % is not reached" : `80 % after ${whole(fit.iterations_to_80)} iterations ${between(fit.iterations_to_80_interval, whole)}`;
  return `from ${part(fit.curve.initial)} ${between(fit.initial, part)} towards ${part(fit.curve.asymptote)} ${between(fit.asymptote, part)}, rate ${rate(fit.curve.rate)} ${between(fit.rate, rate)}; ${reached}${fit.rises ? "" : "; no rise can be told from chance"}`;
}

function armCard(arm, line) {
  const rows = arm.rows.map((one) => [`${one.first}–${one.last}`, count(one.tasks), percent(one.success), seconds(one.seconds), seconds(one.tool_seconds), percent(one.reuse), percent(one.recovery)]);
  return h("section", { class: "card", "data-arm": arm.arm }, h("h3", {}, `Learning ${arm.arm}`),
    table(`By ranges of iterations, over ${count(arm.seeds)} ${arm.seeds === 1 ? "seed" : "seeds"}`, columns, rows),
    h("dl", {}, h("dt", {}, "gain"), h("dd", {}, gained(arm.gain, line.real)), h("dt", {}, "fitted curve"), h("dd", {}, fitted(arm.curve))));
}

function picture(report, lines) {
  const places = [...new Set(lines.flatMap((one) => [...one.points, ...(one.fitted || [])].map(([n]) => n)))].sort((one, other) => one - other);
  if (!places.length) return empty("No task is on record yet.");
  const column = (points) => { const known = new Map(points); return places.map((n) => known.get(n) ?? null); };
  const data = [places];
  const series = [];
  report.arms.forEach((arm, place) => {
    const { points, fitted: curve } = lines[place];
    data.push(column(points));
    series.push({ label: `learning ${arm.arm}`, colour: colours[arm.arm], points: false, gaps: true });
    if (!curve) return;
    data.push(column(curve));
    series.push({ label: `fit of ${arm.arm}`, colour: colours[arm.arm], dash: [6, 4], width: 1.2, points: false });
  });
  const ends = report.arms.map((arm, place) => [arm.arm, lines[place].points]).filter(([, points]) => points.length);
  const words = ends.map(([arm, points]) => `Learning ${arm} from ${share(points[0][1])} to ${share(points.at(-1)[1])}.`).join(" ");
  return chart("Success by iteration, mean of the last ten", words, { label: "iteration", x: [0, report.iterations], y: [0, 1.02], height: 260, format: share, data, series });
}

function study({ folder, written_at: written, report, lines }) {
  const kind = report.simulated ? badge("simulated policy, no language model", "warn") : badge("language model");
  return h("article", { "data-study": folder, "aria-label": `Case study ${report.name}` },
    h("h2", {}, report.name === folder ? report.name : `${report.name} (${folder})`),
    h("p", {}, "policy ", h("strong", {}, report.policy), " ", kind, " ", report.finished ? null : badge("not finished: the same command goes on where it stopped", "warn"),
      h("span", { class: "dim" }, ` ${count(report.iterations)} iterations, written `, when(written))),
    picture(report, lines), h("br"), report.arms.map((arm, place) => armCard(arm, lines[place])));
}

export async function show(main, { signal }) {
  const found = await get("/api/studies", {}, signal);
  const said = found.studies.length || found.problems.length;
  fill(main, head("Case studies", "Tasks with exact answers, done with learning on, off, and with feedback that belongs to other runs (shuffled)."),
    found.problems.map((one) => h("p", { class: "card", "data-problem": one.folder }, badge("not shown", "bad"), ` ${one.folder}/report.json: ${one.error}. Try: ${one.remedy}`)),
    found.studies.map(study),
    found.left_out ? h("p", { class: "dim" }, `${count(found.left_out)} older reports are not shown.`) : null,
    said ? h("p", { class: "dim" }, "Seconds are those spent in tools and the policy's own, which are simulated where the policy is. Reuse: the share of tasks in which a skill was read that an agent had written. Recovery: the share of tasks with a failed call that still succeeded.")
      : empty("No case study was made yet. ", h("code", {}, "hermes bench finance"), " makes one; ", h("code", {}, "hermes bench families"), " looks at other kinds of tasks."));
}
