/* Elements from values. Text always becomes a text node: nothing that a model, a tool or a stranger wrote is markup. */

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/* head: [{name, number}], rows: arrays of cells. On a phone each row becomes a card with the names beside the values. */
export function table(caption, head, rows) {
  const columns = head.map((one) => (typeof one === "string" ? { name: one } : one));
  const cell = (content, place) =>
    h("td", { class: columns[place].number ? "number" : columns[place].says ? "says" : null, "data-label": columns[place].name }, content);
  return h("div", { class: "table" },
    h("table", { class: "cards" },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((one) => h("th", { scope: "col", class: one.number ? "number" : null }, one.name)))),
      h("tbody", {}, rows.map((row) => h("tr", row.properties || {}, (row.cells || row).map(cell))))));
}

export function badge(text, state) {
  return h("span", { class: `badge ${state || ""}` }, text);
}

export function empty(...children) {
  return h("p", { class: "empty" }, children);
}

export function field(label, control) {
  return h("label", { class: "field" }, label, control);
}

export function select(value, choices, changed, name) {
  const element = h("select", { name, change: (event) => changed(event.target.value) },
    choices.map(([key, text]) => h("option", { value: key }, text)));
  element.value = value;
  return element;
}

export function tile(value, text) {
  return h("div", { class: "tile" }, h("b", {}, value), h("span", {}, text));
}

export function head(title, lead, ...tools) {
  return h("div", { class: "head" }, h("div", {}, h("h1", {}, title), h("p", { class: "lead" }, lead)), tools);
}

const units = [["d", 86400], ["h", 3600], ["min", 60]];

export function ago(then) {
  if (!then) return "never";
  const seconds = Math.max(0, Date.now() / 1000 - then);
  for (const [unit, size] of units) if (seconds >= size) return `${Math.round(seconds / size)} ${unit} ago`;
  return seconds < 5 ? "just now" : `${Math.round(seconds)} s ago`;
}

export function when(then) {
  return then ? h("time", { datetime: new Date(then * 1000).toISOString(), title: new Date(then * 1000).toLocaleString() }, ago(then)) : "never";
}

export function clock(then) {
  return then ? new Date(then * 1000).toLocaleTimeString([], { hour12: false }) : "";
}

export function percent(value, digits = 0) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;
}

export function count(value) {
  return Number(value).toLocaleString("en-GB");
}

const stages = { trusted: "ok", probation: "warn", awaiting_approval: "warn", rejected: "bad", retired: "" };

export function stage(name) {
  return badge(name.replaceAll("_", " "), stages[name]);
}
