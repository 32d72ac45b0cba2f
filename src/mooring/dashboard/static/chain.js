// The chain of one claim, live: claim - volume - attachment - node - pod - container, and six steps.

import { h, s, show } from "./dom.js";
import { bytes, percent, share } from "./format.js";
import { panel } from "./panel.js";
import { chain_of, container_state, is_mounted, is_running, needs_attachment, steps_of } from "./steps.js";
import { has_just_changed, on_change, store } from "./store.js";

const STATES = { done: "done", now: "under way", failed: "failed", idle: "not yet" };
const MOST = 8; // stations in one column

export function chain(main, { id, parts, say }) {
  const steps = h("ol", { class: "steps", "aria-label": "The six steps" });
  const graph = h("div", { class: "graph", role: "group", "aria-label": "From the claim to its containers" });
  const side = panel(parts);
  show(main, h("h1", {}, "Claim ", id), steps, graph, side.root);
  let chosen = ["claims", id];
  let drawn = "";
  let said = "";
  side.look(...chosen);

  const draw = () => {
    const found = chain_of(id);
    const now = steps_of(found);
    const columns = columns_of(found);
    const text = JSON.stringify([now, columns, chosen]);
    if (text !== drawn) {
      drawn = text;
      draw_steps(steps, now);
      draw_graph(graph, columns, chosen, choose);
      side.again();
      const line = now.map((step) => `${step.name} ${STATES[step.state]}`).join(", ");
      if (said && line !== said) say(`Claim ${id}: ${line}`);
      said = line;
    }
    edges(graph);
  };
  const choose = (kind, row) => {
    chosen = [kind, row];
    side.look(kind, row);
    draw();
    graph.querySelector('[aria-pressed="true"]')?.focus();
  };
  const stop = on_change(draw);
  const resized = new ResizeObserver(() => edges(graph));
  resized.observe(graph);
  draw();
  return () => {
    stop();
    resized.disconnect();
    side.close();
  };
}

function draw_steps(steps, now) {
  show(steps, now.map((step) => h("li", { "data-state": step.state, "data-step": step.name, "aria-label": `${step.name}: ${STATES[step.state]} ${step.says}` },
    h("b", {}, step.name), h("span", { class: "dim" }, step.says || STATES[step.state]))));
}

// Six columns of stations: {kind, id, title, says, state, from}.
function columns_of({ id, claim, volume, pods, attachments }) {
  const use = store.usage.get(id);
  const used = use ? `, ${percent(share(use.usedBytes, use.capacityBytes))} full` : "";
  const nodes = [...new Set([...pods.map((pod) => pod.node), ...attachments.map((one) => one.node)].filter(Boolean))];
  const of_claim = claim
    ? [{ kind: "claims", id, says: `${claim.deleting ? "Terminating" : claim.phase}, ${bytes(claim.capacity ?? claim.size)}${used}`, state: claim.phase === "Bound" ? "done" : claim.phase === "Lost" ? "failed" : "now" }]
    : [];
  const of_volume = volume ? [{ kind: "volumes", id: volume.id, says: `${volume.phase}, ${volume.driver}`, state: volume.phase === "Bound" ? "done" : volume.phase === "Failed" ? "failed" : "now" }] : [];
  const of_attachment = attachments.map((one) => ({ kind: "attachments", id: one.id, says: one.error || (one.deleting ? "detaching" : one.attached ? "attached" : "attaching"), state: one.error ? "failed" : one.attached && !one.deleting ? "done" : "now", to: one.node }));
  const of_node = nodes.map((name) => {
    const node = store.rows.nodes.get(name);
    return { kind: "nodes", id: name, says: node ? (node.ready ? "Ready" : "NotReady") : "not seen", state: node && !node.ready ? "failed" : "done" };
  });
  const of_pod = pods.map((pod) => ({ kind: "pods", id: pod.id, says: pod.deleting ? "Terminating" : pod.node ? (is_mounted(pod) ? pod.phase : "volumes are not mounted") : "not scheduled", state: is_running(pod) ? "done" : pod.phase === "Failed" ? "failed" : "now", from: pod.node }));
  const of_container = pods.flatMap((pod) => pod.containers.map((one) => ({ kind: "pods", id: pod.id, title: one.name, says: one.reason || one.state, state: container_state(one), from: pod.id })));
  return [
    ["Claim", of_claim, "not there"], ["Volume", of_volume, "none yet"],
    ["Attachment", of_attachment, volume && !needs_attachment(volume) ? "not needed" : "none"],
    ["Node", of_node, "none"], ["Pod", of_pod, "no pod uses it"], ["Container", of_container, "none"],
  ];
}

function draw_graph(graph, columns, chosen, choose) {
  show(graph, s("svg", { "aria-hidden": "true" }), columns.map(([title, stations, empty], at) => {
    const shown = stations.slice(0, MOST).map((one) => h("button", {
      type: "button", class: `station${has_just_changed(one.kind, one.id) ? " changed" : ""}`, "data-state": one.state, "data-id": one.title ?? one.id, "data-from": one.from, "data-to": one.to,
      "aria-pressed": at < 5 && chosen[0] === one.kind && chosen[1] === one.id ? "true" : "false",
      title: one.title ?? one.id, "aria-label": `${title} ${one.title ?? one.id}: ${one.says}`, onclick: () => choose(one.kind, one.id),
    }, h("b", {}, one.title ?? one.id), h("div", {}, one.says)));
    const rest = stations.length > MOST ? h("small", {}, `and ${stations.length - MOST} more`) : null;
    return h("div", { class: "column" }, h("small", {}, title), shown.length ? shown : h("div", { class: "station absent card" }, empty), rest);
  }));
}

// Lines between stations that belong together, in neighbouring columns.
function edges(graph) {
  const svg = graph.querySelector("svg");
  const box = graph.getBoundingClientRect();
  const columns = [...graph.querySelectorAll(".column")].map((one) => [...one.querySelectorAll(".station")]);
  const lines = [];
  for (let at = 0; at + 1 < columns.length; at += 1) {
    for (const a of columns[at]) {
      for (const b of columns[at + 1]) if (belong(a, b)) lines.push(edge(a, b, box));
    }
  }
  svg.replaceChildren(...lines);
}

function belong(a, b) {
  if (b.dataset.from !== undefined && !a.classList.contains("absent")) return b.dataset.from === a.dataset.id;
  if (a.dataset.to !== undefined && !b.classList.contains("absent")) return a.dataset.to === b.dataset.id;
  return true;
}

function edge(a, b, box) {
  const from = a.getBoundingClientRect();
  const to = b.getBoundingClientRect();
  const [x1, y1] = [from.right - box.left, from.top + from.height / 2 - box.top];
  const [x2, y2] = [to.left - box.left, to.top + to.height / 2 - box.top];
  const middle = (x1 + x2) / 2;
  const done = a.dataset.state === "done" && b.dataset.state === "done";
  return s("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, "data-state": done ? "done" : "" });
}
