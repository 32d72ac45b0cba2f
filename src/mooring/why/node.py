"""A node: its heartbeat, what keeps pods away, its drivers and its volumes."""

from datetime import datetime, timedelta

from mooring.model.attachment import Attachment
from mooring.model.condition import find_condition
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.attachment import explain_attachment_state
from mooring.why.deletion import explain_deletion, out_of_service
from mooring.why.found import NOTHING, Found, kubectl, link, ref
from mooring.why.world import World

NOT_READY_AFTER = 40  # seconds without a heartbeat: --node-monitor-grace-period


def explain_node(world: World, node: Node, now: datetime) -> Found:
    found = explain_deletion(world, node, now).plus(_ready(world, node))
    if node.spec.unschedulable:
        words = "it is cordoned: no pod is scheduled there"
        found = found.plus(
            link(Step.SCHEDULING, node, State.BROKEN, words, who="an administrator")
        ).plus(Found(fixes=(Fix(f"kubectl uncordon {node.name}", "lets pods be scheduled there"),)))
    for taint in node.spec.taints:
        if taint.key.startswith("node.kubernetes.io/") and not node.is_out_of_service:
            continue
        words = f"it has the taint {taint.key} ({taint.effect})"
        undo = kubectl("taint", ref(node), f"{taint.key}:{taint.effect}-")
        told = "removes the taint; for one that says the node is off, only when it is back"
        found = found.plus(link(Step.SCHEDULING, node, State.DONE, words)).plus(
            Found(fixes=(Fix(undo, told),) if node.is_ready else ())
        )
    return found.plus(_drivers(world, node)).plus(_volumes(world, node, now))


def _ready(world: World, node: Node) -> Found:
    ready = find_condition(node.status.conditions, "Ready")
    lease = world.find(Lease, Key("kube-node-lease", node.name))
    renewed = None if lease is None else lease.spec.renew_time
    if ready is not None and ready.is_true:
        words = "it is ready"
        if renewed:
            words = f"it is ready; its last heartbeat was at {renewed}"
        due = None
        if renewed is not None:
            due = _after(renewed, NOT_READY_AFTER)
        return link(Step.NODE, node, State.DONE, words, since=ready.last_transition_time, until=due)
    said = "it has not said that it is ready" if ready is None else ready.message or ready.reason
    words = f"it is not ready: {said}"
    if renewed:
        words = f"{words}; its last heartbeat was at {renewed}"
    moment = None if ready is None else ready.last_transition_time
    found = link(
        Step.NODE, node, State.BROKEN, words, since=moment, who=f"the kubelet of {node.name}"
    )
    pods = sum(1 for pod in world.all(Pod) if pod.spec.node_name == node.name)
    fixes = (out_of_service(node.name),) if pods or _attached(world, node) else ()
    forget = Fix(
        kubectl("delete", ref(node)),
        "forgets the node: only if its machine is gone; it registers again when it starts",
    )
    return found.plus(Found(fixes=(*fixes, forget)))


def _after(moment: str, seconds: int) -> str | None:
    try:
        return to_seconds(datetime.fromisoformat(moment) + timedelta(seconds=seconds))
    except ValueError:
        return None


def _attached(world: World, node: Node) -> list[Attachment]:
    return [each for each in world.all(Attachment) if each.spec.node_name == node.name]


def _drivers(world: World, node: Node) -> Found:
    csi = world.find(CsiNode, Key("", node.name))
    if csi is None:
        if not world.is_known(CsiNode, Key("", node.name)):
            return NOTHING
        about = Ref(CsiNode.resource.kind, node.name)
        words = "no CSI driver is registered there"
        return link(Step.DRIVER, about, State.SKIPPED, words, source=ref(node))
    names = [driver.name for driver in csi.spec.drivers or ()]
    words = f"CSI drivers: {', '.join(names)}" if names else "no CSI driver is registered there"
    return link(Step.DRIVER, csi, State.DONE if names else State.SKIPPED, words)


def _volumes(world: World, node: Node, now: datetime) -> Found:
    """Attachments that are not simply attached."""
    found = NOTHING
    for attachment in _attached(world, node):
        if attachment.is_deleting or not attachment.is_attached:
            found = found.plus(explain_attachment_state(world, attachment, now))
    return found
