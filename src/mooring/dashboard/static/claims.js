// All claims, as a list of which only the rows in sight exist as elements.

import { h, show } from "./dom.js";
import { bytes, percent, share } from "./format.js";
import { has_just_changed, on_change, pods_of, store } from "./store.js";

const HEIGHT = 30; // of a row, as in style.css
const BEYOND = 8; // rows above and below that are made, too
const MOST_HEIGHT = 15000000; // pixels; browsers draw no taller elements

const TITLES = ["Namespace", "Claim", "Phase", "Size", "Class", "Volume", "Pods", "Used"];

export function claims(main, { open, state }) {
  const filter = h("input", { type: "search", placeholder: "Filter: text, phase:Pending, class:fast", "aria-label": "Filter claims", value: state.filter ?? "" });
  const count = h("span", { class: "dim", role: "status", "aria-live": "polite" });
  const space = h("div", { class: "space", role: "rowgroup" });
  const head = h("div", { class: "head", role: "row", "aria-rowindex": 1 }, TITLES.map((title) => h("span", { role: "columnheader" }, title)));
  const list = h("div", { class: "list", role: "grid", tabindex: 0, "aria-label": "Claims", "aria-colcount": TITLES.length }, head, space);
  show(main, h("div", { class: "claims" }, h("h1", { class: "hidden" }, "Claims"), h("div", { class: "bar-top" }, filter, count), list));

  let shown = [];
  let selected = state.selected ?? "";
  const made = new Map(); // id -> element
  let is_drawing = false;

  const refresh = () => {
    shown = filtered(filter.value);
    const total = store.rows.claims.size;
    const text = shown.length === total ? `${total} claims` : `${shown.length} of ${total} claims`;
    const trouble = store.troubles.get("claims");
    const all = store.listed.has("claims") || trouble ? text : "Loading…";
    if (count.textContent !== all) count.textContent = trouble ? `${all}; ${trouble}` : all;
    space.style.height = `${Math.min(shown.length * HEIGHT, MOST_HEIGHT)}px`;
    list.setAttribute("aria-rowcount", String(shown.length + 1));
    draw();
  };

  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + BEYOND);
    const wanted = new Set();
    for (let i = first; i < last; i += 1) wanted.add(shown[i].id);
    const free = []; // elements out of sight, for rows that come into it
    for (const [id, element] of made) {
      if (!wanted.has(id)) {
        free.push(element);
        made.delete(id);
      }
    }
    for (let i = first; i < last; i += 1) {
      const row = shown[i];
      let element = made.get(row.id);
      if (!element) {
        element = free.pop() ?? new_row();
        made.set(row.id, element);
      }
      fill(element, row, i);
    }
    for (const element of free) element.remove();
    const at = made.get(selected);
    if (at) list.setAttribute("aria-activedescendant", at.id);
    else list.removeAttribute("aria-activedescendant");
  };

  const new_row = () => {
    const element = h("div", { class: "row", role: "row" }, TITLES.map(() => h("span", { role: "gridcell" }, "")));
    space.append(element);
    return element;
  };

  const fill = (element, row, i) => {
    if (element.at !== i) {
      element.at = i;
      element.style.transform = `translateY(${i * HEIGHT}px)`;
      element.id = `row-${i}`;
      element.setAttribute("aria-rowindex", String(i + 2));
    }
    element.row = row.id;
    element.setAttribute("aria-selected", String(row.id === selected));
    element.classList.toggle("changed", has_just_changed("claims", row.id));
    const cells = cells_of(row);
    for (let at = 0; at < cells.length; at += 1) {
      const text = element.children[at].firstChild;
      if (text.data !== cells[at]) text.data = cells[at];
    }
    const phase = row.deleting ? "warn" : row.phase === "Bound" ? "good" : row.phase === "Lost" ? "bad" : "warn";
    if (element.children[2].className !== phase) element.children[2].className = phase;
  };

  const move = (by) => {
    if (!shown.length) return;
    const now = shown.findIndex((row) => row.id === selected);
    const next = Math.min(shown.length - 1, Math.max(0, now + by));
    selected = state.selected = shown[next].id;
    const top = next * HEIGHT;
    const room = list.clientHeight - HEIGHT; // the head stays
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + HEIGHT > list.scrollTop + room) list.scrollTop = top + HEIGHT - room;
    draw();
  };

  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    if (event.key in steps) move(steps[event.key]);
    else if (event.key === "Enter" && selected) open(selected);
    else return;
    event.preventDefault();
  });
  list.addEventListener("scroll", () => {
    if (is_drawing) return;
    is_drawing = true;
    requestAnimationFrame(() => {
      is_drawing = false;
      state.scroll = list.scrollTop;
      draw();
    });
  }, { passive: true });
  space.addEventListener("click", (event) => {
    const element = event.target.closest(".row");
    if (element) open(element.row);
  });
  space.addEventListener("mouseover", (event) => { // what is cut off shows when it is pointed at
    const cell = event.target.closest(".row > *");
    if (cell) cell.title = cell.textContent;
  });
  filter.addEventListener("input", () => {
    state.filter = filter.value;
    list.scrollTop = 0;
    refresh();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      list.focus();
      move(0);
      event.preventDefault();
    }
  });
  const resized = new ResizeObserver(draw);
  resized.observe(list);
  const stop = on_change(refresh);
  refresh();
  list.scrollTop = state.scroll ?? 0;
  draw();
  return () => {
    stop();
    resized.disconnect();
  };
}

let sorted = { at: null, rows: [] };

// In the order of their ids; the order is kept while no claim comes or goes.
function ordered() {
  const rows = store.rows.claims;
  const same = sorted.at === rows && sorted.rows.length === rows.size && sorted.rows.every((id) => rows.has(id));
  if (!same) sorted = { at: rows, rows: [...rows.keys()].sort() };
  return sorted.rows.map((id) => rows.get(id));
}

export function filtered(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = ordered();
  return words.length ? rows.filter((row) => words.every((word) => fits(row, word))) : rows;
}

function fits(row, word) {
  const [name, ...rest] = word.split(":");
  const value = rest.join(":");
  if (value && name === "phase") return phase_of(row).toLowerCase().startsWith(value);
  if (value && name === "class") return row.class.toLowerCase().includes(value);
  if (value && name === "ns") return row.id.startsWith(`${value}/`);
  return row.id.includes(word) || row.volume.includes(word) || row.class.toLowerCase().includes(word) || phase_of(row).toLowerCase().includes(word);
}

const phase_of = (row) => (row.deleting ? "Terminating" : row.phase || "Pending");

function cells_of(row) {
  const [namespace, name] = row.id.split("/");
  const pods = pods_of(row.id).map((pod) => pod.id.split("/")[1]);
  const use = store.usage.get(row.id);
  const used = use ? percent(share(use.usedBytes, use.capacityBytes)) : "–";
  return [namespace, name, phase_of(row), bytes(row.capacity ?? row.size), row.class || "–", row.volume || "–", pods.length > 1 ? `${pods[0]} +${pods.length - 1}` : pods[0] ?? "–", used];
}

