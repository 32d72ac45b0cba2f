// What does not go on, out of the rows. Pure. Why it does not, the server says (/ui/why).

import { seconds_since } from "./format.js";
import { is_used, store } from "./store.js";

const PATIENCE = 10; // seconds that something may take before it counts as stuck

export function stuck(now = Date.now()) {
  const found = [];
  const add = (kind, row, what, since) => found.push({ kind, id: row.id, what, since });
  const lasts = (time) => (seconds_since(time, now) ?? PATIENCE) >= PATIENCE;
  for (const row of store.rows.claims.values()) {
    if (row.deleting) {
      if (lasts(row.deleting)) add("claims", row, "Terminating", row.deleting);
    } else if (row.phase === "Lost") add("claims", row, "Lost", row.created);
    else if (row.phase !== "Bound" && lasts(row.created) && !waits_for_pod(row)) add("claims", row, row.phase || "Pending", row.created);
    else if (row.conditions.some((one) => one.status === "True" && /Error|Infeasible/.test(one.type + one.reason))) add("claims", row, "Resizing failed", row.created);
  }
  for (const row of store.rows.pods.values()) {
    if (row.deleting) {
      if (lasts(row.deleting)) add("pods", row, "Terminating", row.deleting);
    } else if (row.phase === "Pending" && lasts(row.created)) add("pods", row, waiting_word(row), row.created);
  }
  for (const row of store.rows.attachments.values()) {
    if (row.error) add("attachments", row, row.deleting ? "Not detached" : "Not attached", row.created);
    else if (row.deleting && lasts(row.deleting)) add("attachments", row, "Detaching", row.deleting);
  }
  for (const row of store.rows.volumes.values()) {
    if (row.phase === "Failed") add("volumes", row, "Failed", row.since ?? row.created);
    else if (row.deleting && lasts(row.deleting)) add("volumes", row, "Terminating", row.deleting);
  }
  for (const row of store.rows.nodes.values()) if (!row.ready) add("nodes", row, "NotReady", null);
  return found.sort((a, b) => (a.since ?? "").localeCompare(b.since ?? ""));
}

// A claim that waits for its first pod, and has none, waits for its user.
function waits_for_pod(row) {
  return store.rows.classes.get(row.class)?.mode === "WaitForFirstConsumer" && !is_used(row.id);
}

function waiting_word(pod) {
  if (!pod.node) return "Not scheduled";
  return pod.containers.find((one) => one.state === "waiting" && one.reason)?.reason ?? "Pending";
}
