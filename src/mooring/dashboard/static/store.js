// Everything that the feed has sent, with what belongs together found by id; views are told of
// changes once per frame.

const KINDS = ["claims", "volumes", "pods", "attachments", "nodes", "classes", "drivers"];
const EMPTY = new Map();

export const store = {
  rows: Object.fromEntries(KINDS.map((kind) => [kind, new Map()])),
  listed: new Set(),
  troubles: new Map(),
  usage: new Map(), // by claim
  usage_trouble: "",
  changed_at: new Map(), // "kind id" -> time, for what has just changed
};

const pods_by_claim = new Map(); // claim -> Map of pods
const attachments_by_volume = new Map();
const listeners = new Set();
let is_waiting = false;

export function on_change(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tell() {
  if (is_waiting) return;
  is_waiting = true;
  const run = () => {
    if (!is_waiting) return;
    is_waiting = false;
    for (const listener of [...listeners]) listener();
  };
  // A hidden tab gets no frames; the timer is for it.
  requestAnimationFrame(run);
  setTimeout(run, 100);
}

function index(map, key, row) {
  let found = map.get(key);
  if (!found) map.set(key, (found = new Map()));
  found.set(row.id, row);
}

function unindex(map, key, id) {
  const found = map.get(key);
  if (found && found.delete(id) && !found.size) map.delete(key);
}

function put(kind, row) {
  const old = store.rows[kind].get(row.id);
  if (old) forget(kind, old);
  store.rows[kind].set(row.id, row);
  if (kind === "pods") for (const claim of row.claims) index(pods_by_claim, claim, row);
  if (kind === "attachments") index(attachments_by_volume, row.volume, row);
}

function forget(kind, row) {
  store.rows[kind].delete(row.id);
  if (kind === "pods") for (const claim of row.claims) unindex(pods_by_claim, claim, row.id);
  if (kind === "attachments") unindex(attachments_by_volume, row.volume, row.id);
}

export function take(line) {
  const kind = line.k;
  if (!(kind in store.rows)) return;
  if (line.list) {
    for (const row of [...store.rows[kind].values()]) forget(kind, row);
    for (const row of line.list) put(kind, row);
    store.listed.delete(kind);
  } else if (line.more) {
    for (const row of line.more) put(kind, row);
  } else if (line.put) {
    const old = store.rows[kind].get(line.put.id);
    put(kind, line.put);
    if (store.changed_at.size > 1000) store.changed_at.clear();
    if (JSON.stringify(old) !== JSON.stringify(line.put)) store.changed_at.set(`${kind} ${line.put.id}`, Date.now());
  } else if (line.gone !== undefined) {
    const old = store.rows[kind].get(line.gone);
    if (old) forget(kind, old);
  } else if (line.trouble !== undefined) {
    if (line.listed) store.listed.add(kind);
    if (line.trouble) store.troubles.set(kind, line.trouble);
    else store.troubles.delete(kind);
  }
  tell();
}

export const pods_of = (claim) => [...(pods_by_claim.get(claim) ?? EMPTY).values()];
export const attachments_of = (volume) => [...(attachments_by_volume.get(volume) ?? EMPTY).values()];
export const is_used = (claim) => pods_by_claim.has(claim);
export const has_just_changed = (kind, id) => Date.now() - (store.changed_at.get(`${kind} ${id}`) ?? 0) < 1200;

export function take_usage(told) {
  store.usage = new Map(told.claims.map((row) => [`${row.namespace}/${row.name}`, row]));
  const unseen = Object.entries(told.unseen).map(([node, why]) => `node ${node}: ${why}`);
  const rest = unseen.length > 3 ? [`and ${unseen.length - 3} more`] : [];
  store.usage_trouble = [...unseen.slice(0, 3), ...rest].join("; ");
  tell();
}
