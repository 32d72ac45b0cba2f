// The first view: what is stuck and why, how much there is, what is full, what nobody uses.

import { get_json } from "./api.js";
import { h, show, table } from "./dom.js";
import { age, bytes, percent, share } from "./format.js";
import { is_used, on_change, store, tell } from "./store.js";
import { stuck } from "./stuck.js";

const MOST = 10; // lines of each table
const MOST_WHY = 12; // answers that are asked for
const WHY_LASTS = 30000; // ms until an answer is asked for again

const answers = new Map(); // "kind id" -> {at, text}
let asking = Promise.resolve(); // one after the other: each may read much of the cluster

export function overview(main, { parts }) {
  const sections = ["stuck", "figures", "classes", "drivers", "nodes", "fullest", "unused", "released"];
  const cards = Object.fromEntries(sections.map((name) => [name, h("section", { class: name === "stuck" || name === "figures" ? "card wide" : "card", "aria-labelledby": `t-${name}` })]));
  show(main, h("h1", {}, "Overview"), h("div", { class: "grid" }, Object.values(cards)));
  let timer = 0;
  let last = 0;
  const draw = () => {
    last = Date.now();
    draw_all(cards, parts);
  };
  // Tables over ten thousand rows need not be made again for each of a thousand changes.
  const soon = () => {
    clearTimeout(timer);
    const wait = last + 150 - Date.now();
    if (wait <= 0) draw();
    else timer = setTimeout(draw, wait);
  };
  const stop = on_change(soon);
  const ticking = setInterval(soon, 5000);
  draw();
  return () => {
    stop();
    clearInterval(ticking);
    clearTimeout(timer);
  };
}

function draw_all(cards, parts) {
  draw_stuck(cards.stuck, parts);
  draw_figures(cards.figures);
  const volumes = [...store.rows.volumes.values()];
  sums(cards.classes, "classes", "Capacity by class", group(volumes, (one) => one.class || "(none)"), "volumes");
  sums(cards.drivers, "drivers", "Capacity by driver", group(volumes, (one) => one.driver || "(unknown)"), "volumes");
  draw_nodes(cards.nodes);
  draw_fullest(cards.fullest);
  draw_unused(cards.unused);
  draw_released(cards.released, volumes);
}

const titled = (name, title, ...rest) => [h("h2", { id: `t-${name}` }, title), ...rest];
const chain_link = (id) => h("a", { href: `#/claim/${id.split("/").map(encodeURIComponent).join("/")}` }, id);
const look_link = (kind, id) => (kind === "claims" ? chain_link(id) : h("a", { href: `#/look/${kind}/${id.split("/").map(encodeURIComponent).join("/")}` }, id));
const WORDS = { claims: "claim", pods: "pod", attachments: "attachment", volumes: "volume", nodes: "node" };

function draw_stuck(card, parts) {
  const found = stuck();
  const rows = found.slice(0, MOST_WHY).map((one) => [
    h("span", { class: "tag bad" }, one.what), h("span", {}, `${WORDS[one.kind]} `, look_link(one.kind, one.id)), age(one.since), why_cell(one, parts),
  ]);
  const more = found.length > MOST_WHY ? h("p", { class: "dim" }, `and ${found.length - MOST_WHY} more`) : null;
  show(card, titled("stuck", `Stuck: ${found.length}`), table(["State", "Object", "#For", "Why"], rows, "Nothing is stuck."), more, troubles());
}

function why_cell(one, parts) {
  if (!parts.why) return h("span", { class: "dim" }, "why is not available here");
  const key = `${one.kind} ${one.id}`;
  const known = answers.get(key);
  const cell = h("span", {}, known?.text ?? "…");
  if (!known || Date.now() - known.at > WHY_LASTS) {
    answers.set(key, { at: Date.now(), text: known?.text ?? "…" });
    asking = asking.then(() => ask_why(one, key));
  }
  return cell;
}

async function ask_why(one, key) {
  const ask = get_json("why", { kind: one.kind, id: one.id });
  const text = await ask.then((told) => told.summary, (error) => `not known: ${error.message}`);
  answers.set(key, { at: Date.now(), text });
  tell();
}

function troubles() {
  const found = [...store.troubles].map(([kind, why]) => h("p", { class: "warn" }, `${kind}: ${why}`));
  if (store.usage_trouble) found.push(h("p", { class: "warn" }, `Use of volumes: ${store.usage_trouble}`));
  return found;
}

function draw_figures(card) {
  const { claims, volumes, pods, attachments, nodes } = store.rows;
  let size = 0;
  let bound = 0;
  for (const one of volumes.values()) size += one.capacity ?? 0;
  for (const one of claims.values()) if (one.phase === "Bound") bound += 1;
  const figure = (value, text) => h("span", { class: "figure" }, h("b", {}, value), text);
  show(card, titled("figures", "In this cluster"), h("div", { class: "figures" },
    figure(claims.size, "claims"), figure(bound, "bound"), figure(volumes.size, "volumes"), figure(bytes(size), "in volumes"),
    figure(attachments.size, "attachments"), figure(pods.size, "pods with claims"), figure(nodes.size, "nodes")));
}

function group(rows, key_of) {
  const found = new Map();
  for (const row of rows) {
    const key = key_of(row);
    const sum = found.get(key) ?? { count: 0, capacity: 0, used: null, measured: 0 };
    sum.count += 1;
    sum.capacity += row.capacity ?? 0;
    const use = row.claim ? store.usage.get(row.claim) : undefined;
    if (use && row.phase === "Bound" && use.usedBytes !== null) {
      sum.used = (sum.used ?? 0) + use.usedBytes;
      sum.measured += use.capacityBytes ?? 0;
    }
    found.set(key, sum);
  }
  return [...found].sort((a, b) => b[1].capacity - a[1].capacity);
}

function sums(card, name, title, groups) {
  const rows = groups.slice(0, MOST).map(([key, sum]) => [key, sum.count, bytes(sum.capacity), bar(sum.used, sum.measured, `use of ${key}`)]);
  show(card, titled(name, title), table([name === "classes" ? "Class" : "Driver", "#Volumes", "#Capacity", "Use, where measured"], rows, "There are no volumes."));
}

function bar(used, capacity, label) {
  const value = share(used, capacity);
  if (value === null) return h("span", { class: "dim" }, "not measured");
  const meter = h("meter", { min: 0, max: 1, low: 0.75, high: 0.9, optimum: 0, value, "aria-label": `${label}: ${percent(value)}` });
  return h("span", { class: "bar" }, meter, h("span", {}, `${percent(value)} of ${bytes(capacity)}`));
}

function draw_nodes(card) {
  const by_node = new Map();
  for (const use of store.usage.values()) {
    for (const node of use.nodes) {
      const sum = by_node.get(node) ?? { used: 0, capacity: 0 };
      sum.used += use.usedBytes ?? 0;
      sum.capacity += use.capacityBytes ?? 0;
      by_node.set(node, sum);
    }
  }
  const rows = [...store.rows.nodes.values()].sort((a, b) => b.attached - a.attached || a.id.localeCompare(b.id)).slice(0, MOST).map((node) => {
    const sum = by_node.get(node.id);
    return [look_link("nodes", node.id), h("span", { class: node.ready ? "good" : "bad" }, node.ready ? "Ready" : "NotReady"), node.attached, bar(sum?.used, sum?.capacity, `use on ${node.id}`)];
  });
  show(card, titled("nodes", "Nodes"), table(["Node", "State", "#Attached", "Use of mounted claims"], rows, "There are no nodes."));
}

function draw_fullest(card) {
  const rows = [...store.usage].map(([claim, use]) => ({ claim, use, value: share(use.usedBytes, use.capacityBytes) }))
    .filter((one) => one.value !== null).sort((a, b) => b.value - a.value).slice(0, MOST)
    .map(({ claim, use }) => [chain_link(claim), bytes(use.usedBytes), bar(use.usedBytes, use.capacityBytes, `use of ${claim}`)]);
  show(card, titled("fullest", "Fullest volumes"), table(["Claim", "#Used", "Use"], rows, "No volume of a running pod has been measured."));
}

function draw_unused(card) {
  const found = [];
  if (store.listed.has("pods")) for (const one of store.rows.claims.values()) if (one.phase === "Bound" && !one.deleting && !is_used(one.id)) found.push(one);
  found.sort((a, b) => (b.capacity ?? 0) - (a.capacity ?? 0));
  const rows = found.slice(0, MOST).map((one) => [chain_link(one.id), bytes(one.capacity), age(one.created)]);
  const empty = store.listed.has("pods") ? "Every bound claim is used by a pod." : "Pods are not listed yet, or may not be read.";
  show(card, titled("unused", `Claims that no pod uses: ${found.length}`), table(["Claim", "#Size", "#Age"], rows, empty));
}

function draw_released(card, volumes) {
  const found = volumes.filter((one) => one.phase === "Released").sort((a, b) => (a.since ?? a.created ?? "").localeCompare(b.since ?? b.created ?? ""));
  let size = 0;
  for (const one of found) size += one.capacity ?? 0;
  const rows = found.slice(0, MOST).map((one) => [look_link("volumes", one.id), one.claim, bytes(one.capacity), age(one.since ?? one.created), one.policy]);
  show(card, titled("released", `Released volumes: ${found.length}, ${bytes(size)}`), table(["Volume", "Was of", "#Size", "#For", "Policy"], rows, "There are none."));
}
