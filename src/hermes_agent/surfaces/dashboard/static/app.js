/* The frame: which view is shown, the line to the server, light and dark. */

import { hello, listen } from "./api.js";
import { failed } from "./ask.js";
import { endAll, redraw } from "./charts.js";
import { empty, fill } from "./dom.js";
import "./views/live.js"; /* hears what happens from the beginning, whichever view is shown */

const views = ["live", "learning", "studies", "heuristics", "skills", "replay", "sessions", "cost", "health"];
const main = document.getElementById("main");
let leave = null;
let shown = 0;

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  return { name: views.includes(name) ? name : "live", rest, query: new URLSearchParams(query || "") };
}

async function show(first) {
  const mine = ++shown;
  const { name, rest, query } = place();
  if (leave) leave.abort();
  leave = new AbortController();
  endAll();
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `Hermes · ${name}`;
  try {
    const view = await import(`./views/${name}.js`);
    if (mine !== shown) return;
    fill(main, empty("Loading…"));
    if (first !== true) main.focus({ preventScroll: true });
    await view.show(main, { rest, query, signal: leave.signal });
  } catch (error) {
    if (mine !== shown || error.name === "AbortError") return;
    fill(main, empty(error.message, error.remedy ? ` Try: ${error.remedy}` : ""));
    failed(error);
  }
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const theme = document.getElementById("theme");

function nameTheme() {
  theme.textContent = dark() ? "Light" : "Dark";
}

theme.addEventListener("click", () => {
  const next = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("hermes-theme", next); } catch (error) { /* private windows keep nothing */ }
  nameTheme();
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { nameTheme(); redraw(); });
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });

function line(open) {
  const element = document.getElementById("line");
  element.textContent = open ? "live" : "not connected";
  element.className = open ? "line on" : "line off";
}

nameTheme();
window.addEventListener("hashchange", show);
try {
  await hello();
  listen(line);
  await show(true);
} catch (error) {
  line(false);
  fill(main, empty(error.message, error.remedy ? `. Try: ${error.remedy}` : ""));
}
