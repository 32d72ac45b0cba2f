// Elements out of names, properties and children. Texts become text nodes, never HTML.

// Marks that turn the direction of what follows could make it read as something else.
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const visible = (text) => text.replace(MARKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function h(name, props = {}, ...children) {
  const made = document.createElement(name);
  set(made, props);
  made.append(...nodes(children));
  return made;
}

export function s(name, props = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(props)) made.setAttribute(key, value);
  return made;
}

// Attributes that are known here; a text of the cluster is never the name of one.
function set(element, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "value" || key === "selected") element[key] = value;
    else element.setAttribute(key, value === true ? "" : visible(String(value)));
  }
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(String(child)))));
}

export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
}

export function table(titles, rows, empty) {
  if (!rows.length) return h("p", { class: "dim" }, empty);
  const head = titles.map((title) =>
    h("th", { scope: "col", class: title.startsWith("#") ? "number" : "" }, title.replace("#", "")));
  const body = rows.map((cells) =>
    h("tr", {}, cells.map((cell, i) => h("td", { class: titles[i].startsWith("#") ? "number" : "" }, cell))));
  return h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
}
