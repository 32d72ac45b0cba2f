// The six steps from a claim to a running container, as far as the objects show them. Pure.
// Staging and publishing are the node's own: the API shows that volumes are mounted, not which half.

import { attachments_of, pods_of, store } from "./store.js";

const ENDED = new Set(["Succeeded", "Failed"]);

export const condition = (row, type) => (row?.conditions ?? []).find((one) => one.type === type);

// The pod that the steps are about: one that does not run yet before one that does, the newest first.
export function chosen_pod(pods) {
  const rank = (pod) => (ENDED.has(pod.phase) ? 2 : is_running(pod) ? 1 : 0);
  const newest = (a, b) => (b.created ?? "").localeCompare(a.created ?? "");
  return [...pods].sort((a, b) => rank(a) - rank(b) || newest(a, b))[0];
}

export function is_running(pod) {
  const main = pod.containers.filter((one) => one.sort !== "init");
  return main.length > 0 && main.every((one) => one.state === "running");
}

export function is_mounted(pod) {
  const ready = condition(pod, "PodReadyToStartContainers");
  return ready?.status === "True" || pod.containers.some((one) => one.state !== "waiting");
}

export function needs_attachment(volume) {
  if (!volume?.csi) return false;
  return store.rows.drivers.get(volume.driver)?.attach ?? true;
}

export function chain_of(id) {
  const claim = store.rows.claims.get(id);
  const volume = claim?.volume ? store.rows.volumes.get(claim.volume) : undefined;
  const pods = pods_of(id);
  return { id, claim, volume, pods, attachments: claim?.volume ? attachments_of(claim.volume) : [] };
}

export function steps_of(chain) {
  const { claim, volume, pods, attachments } = chain;
  const pod = chosen_pod(pods);
  const attachment = pod?.node ? attachments.find((one) => one.node === pod.node) : attachments[0];
  return [
    provisioned(claim, volume), bound(claim), scheduled(pod),
    attached(volume, pod, attachment), mounted(pod, attachment, volume), running(pod),
  ];
}

const step = (name, state, says) => ({ name, state, says });

function provisioned(claim, volume) {
  if (volume) return step("Provisioned", "done", volume.id);
  if (claim?.volume) return step("Provisioned", "failed", `volume ${claim.volume} is not there`);
  const waits = store.rows.classes.get(claim?.class)?.mode === "WaitForFirstConsumer";
  if (waits && !pods_of(claim.id).length) return step("Provisioned", "idle", "waits for a pod");
  return step("Provisioned", "now", claim?.class ? `by class ${claim.class}` : "a volume is looked for");
}

function bound(claim) {
  if (claim?.phase === "Bound") return step("Bound", "done", "");
  if (claim?.phase === "Lost") return step("Bound", "failed", "its volume is lost");
  return step("Bound", claim?.volume ? "now" : "idle", claim?.phase ?? "");
}

function scheduled(pod) {
  if (!pod) return step("Scheduled", "idle", "no pod uses it");
  if (pod.node) return step("Scheduled", "done", `${pod.id} on ${pod.node}`);
  const told = condition(pod, "PodScheduled");
  return step("Scheduled", told?.status === "False" ? "failed" : "now", told?.message || pod.id);
}

function attached(volume, pod, attachment) {
  if (volume && !needs_attachment(volume)) return step("Attached", pod?.node ? "done" : "idle", "not needed");
  if (attachment?.attached) return step("Attached", "done", `to ${attachment.node}`);
  if (attachment?.error) return step("Attached", "failed", attachment.error);
  return step("Attached", attachment || (pod?.node && volume) ? "now" : "idle", "");
}

function mounted(pod, attachment, volume) {
  if (!pod?.node) return step("Mounted", "idle", "");
  if (is_mounted(pod)) return step("Mounted", "done", "");
  const ready = attachment?.attached || (volume && !needs_attachment(volume));
  return step("Mounted", ready ? "now" : "idle", "");
}

function running(pod) {
  if (!pod) return step("Running", "idle", "");
  if (is_running(pod)) return step("Running", "done", "");
  const wrong = pod.containers.find((one) => container_state(one) === "failed");
  if (wrong) return step("Running", "failed", `${wrong.name}: ${wrong.reason || "failed"}`);
  if (ENDED.has(pod.phase)) return step("Running", "idle", `ended: ${pod.phase}`);
  return step("Running", is_mounted(pod) ? "now" : "idle", "");
}

export function container_state(one) {
  if (one.state === "running") return "done";
  if (one.state === "terminated") return one.code ? "failed" : "done";
  return one.reason && !["ContainerCreating", "PodInitializing"].includes(one.reason) ? "failed" : "now";
}
