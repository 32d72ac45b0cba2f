"""A pod without a node: what the scheduler's rules say of every node, and what would help."""

from collections.abc import Callable, Iterator

import msgspec

from mooring.model.claim import Claim
from mooring.model.condition import find_condition
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_resources import EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY
from mooring.model.quantity import ZERO
from mooring.model.taint import find_untolerated
from mooring.model.volume import Volume
from mooring.model.wellknown import Label, TaintKey
from mooring.scheduling.decide.claims import UNBOUND_IMMEDIATE
from mooring.why.answer import Fix, State, Step
from mooring.why.claim_fixes import room_for
from mooring.why.found import (
    NOTHING,
    Found,
    grouped,
    kubectl,
    link,
    recreated,
    ref,
    sed_value,
)
from mooring.why.preemption import explain_preemption, why_nobody_goes
from mooring.why.reach import fix_absent_driver, fix_reach
from mooring.why.scheduled import Placement, picture_of, place
from mooring.why.world import World

DEFAULT = "default-scheduler"
_IN_BYTES = frozenset({MEMORY, EPHEMERAL_STORAGE})
_FEW = 10  # of a unit: fewer are told in the unit below, so that little is lost by rounding
_PRESSURE = frozenset(
    {
        TaintKey.NOT_READY,
        TaintKey.UNREACHABLE,
        TaintKey.MEMORY_PRESSURE,
        TaintKey.DISK_PRESSURE,
        TaintKey.PID_PRESSURE,
        TaintKey.NETWORK_UNAVAILABLE,
        TaintKey.UNSCHEDULABLE,
    }
)
"""Taints that say how a node is: removing one helps nobody, it comes back."""


_JOIN = (
    Fix(
        "mooring token create",
        "of a cluster of Mooring, on its machine: prints the command that adds a machine as a node",
    ),
    Fix(
        "kubeadm token create --print-join-command",
        "of a cluster made by kubeadm, on its control plane: prints the same for Kubernetes",
    ),
)


def explain_scheduling(world: World, pod: Pod) -> Found:
    said = find_condition(pod.status.conditions, "PodScheduled")
    moment = pod.metadata.creation_timestamp if said is None else said.last_transition_time
    if gates := [gate.name for gate in pod.spec.scheduling_gates]:
        return _gated(pod, gates, moment)
    if Node in world.unseen or Pod in world.unseen:
        words = "which node it fits could not be seen"
        if said is not None and said.message:
            words = f"the scheduler says: {said.message}"
        return link(Step.SCHEDULING, pod, State.WAITING, words, since=moment, who="the scheduler")
    picture = picture_of(world, pod)
    placement = place(picture)
    going = NOTHING if placement.fits else explain_preemption(world, picture)
    if going is not NOTHING:
        return going
    found = _judged(world, pod, placement, moment)
    if placement.refused and not placement.fits:
        words, helps = why_nobody_goes(picture)
        found = _with_words(found, words).plus(helps)
    groups = grouped(Node.resource.kind, placement.by_reason())
    return found.plus(Found(fixes=tuple(_fixes(world, pod, placement)), candidates=groups))


def _judged(world: World, pod: Pod, placement: Placement, moment: str | None) -> Found:
    scheduler = pod.spec.scheduler_name or DEFAULT
    if placement.fits:
        some = ", ".join(placement.fits[:3])
        words = f"it fits on {some}; the scheduler {scheduler} has not put it there"
        who = f"the scheduler {scheduler}"
        return link(Step.SCHEDULING, pod, State.WAITING, words, since=moment, who=who)
    if placement.everywhere == UNBOUND_IMMEDIATE.reasons:
        words = "it waits for its claims to be bound"
        return link(Step.SCHEDULING, pod, State.WAITING, words, since=moment, who="the binder")
    if placement.everywhere or placement.trouble:
        words = f"it fits on no node: {', '.join(placement.everywhere) or placement.trouble}"
        return link(Step.SCHEDULING, pod, State.BROKEN, words, since=moment, who="the scheduler")
    total = len(placement.refused)
    if not total:
        words = "there is no node in the cluster"
        found = link(
            Step.SCHEDULING, pod, State.BROKEN, words, since=moment, who="an administrator"
        )
        return found.plus(Found(fixes=_JOIN))
    groups = grouped(Node.resource.kind, placement.by_reason())
    counted = "; ".join(f"{group.count}: {group.reason}" for group in groups[:3])
    words = f"none of {total} node{'s' if total > 1 else ''} fits: {counted}"
    return link(Step.SCHEDULING, pod, State.BROKEN, words, since=moment, who="an administrator")


def _with_words(found: Found, more: str) -> Found:
    links = tuple(msgspec.structs.replace(each, says=each.says + more) for each in found.links)
    return msgspec.structs.replace(found, links=links)


def _gated(pod: Pod, gates: list[str], moment: str | None) -> Found:
    words = f"its scheduling gates {', '.join(gates)} keep it from being scheduled"
    found = link(
        Step.SCHEDULING, pod, State.BROKEN, words, since=moment, who="whoever set the gates"
    )
    patch = '[{"op":"remove","path":"/spec/schedulingGates"}]'
    command = kubectl("patch", ref(pod), "--type=json", "-p", patch)
    return found.plus(Found(fixes=(Fix(command, "removes the gates of the pod"),)))


# what would help: one command per rule that refuses some node


def _fixes(world: World, pod: Pod, placement: Placement) -> Iterator[Fix]:
    if placement.fits:
        return
    seen: set[str] = set()
    for name in sorted(placement.refused):
        rule, _ = placement.refused[name]
        node = world.find(Node, Key("", name))
        fix = _BY_RULE.get(rule)
        if rule in seen or node is None or fix is None:
            continue
        made = list(fix(world, pod, node))
        if made:
            seen.add(rule)
            yield from made


def _uncordon(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    command = f"kubectl uncordon {node.name}"
    yield Fix(command, f"lets pods be scheduled on node {node.name} again")


def _untaint(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    taint = find_untolerated(node.spec.taints, pod.spec.tolerations)
    if taint is None or taint.key in _PRESSURE:
        return
    command = kubectl("taint", ref(node), f"{taint.key}:{taint.effect}-")
    yield Fix(command, f"removes the taint {taint.key} from node {node.name}, for all pods")


def _label(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    labels = node.metadata.labels
    pairs = [
        f"{key}={value}"
        for key, value in pod.spec.node_selector.items()
        if labels.get(key) != value and key != Label.HOSTNAME
    ]
    if pairs:
        command = kubectl("label", ref(node), *pairs, "--overwrite")
        yield Fix(command, f"gives node {node.name} the labels that the pod selects")
    wanted = pod.spec.node_selector.get(Label.HOSTNAME)
    if wanted is not None:
        edit = f"/{Label.HOSTNAME.replace('/', chr(92) + '/')}: {wanted}$/d"
        told = f"makes the pod anew, without asking for node {wanted}"
        yield Fix(recreated(ref(pod), edit, "s|nodeSelector:$|nodeSelector: {}|"), told)


def _smaller_claim(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """The driver has less room than a claim asks for, wherever it tells of room."""
    for key in pod.claim_keys():
        claim = world.find(Claim, key)
        if claim is None or claim.is_bound:
            continue
        room = max(room_for(world, claim), default=ZERO)
        if ZERO < room < claim.requested:
            edit = sed_value("storage", str(claim.requested), str(room))
            told = f"makes claim {claim.name} anew, for {room}, which is the most there is room for"
            yield Fix(recreated(ref(claim), edit), told)


def _bind(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    yield from fix_reach(world, pod, node)
    yield from _smaller_claim(world, pod, node)


def _drivers(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """The driver of a volume is not there, or has no room."""
    absent = list(fix_absent_driver(world, pod, node))
    yield from absent or _fewer(world, pod, node)


def _fewer(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """The node holds as many volumes of a driver as it can: one of them must leave."""
    claims = {
        volume.spec.claim_ref.key
        for volume in world.all(Volume)
        if volume.spec.claim_ref is not None
    }
    for other in world.all(Pod):
        is_there = other.spec.node_name == node.name and not other.is_finished
        if is_there and other.key != pod.key and claims.intersection(other.claim_keys()):
            told = f"deletes pod {other.key}, which uses one of the volumes on {node.name}"
            yield Fix(kubectl("delete", ref(other)), told)
            return


def _smaller(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """Too much is asked for: the requests that no node has, lowered."""
    edits: list[str] = []
    for container in pod.spec.containers:
        for what, asked in container.resources.requests.items():
            has = node.status.allocatable.get(what)
            if has is not None and _is_more(asked, has):
                edits.append(
                    f's|{what}: "\\{{0,1\\}}{asked}"\\{{0,1\\}}$|{what}: "{_half(what, has)}"|'
                )
    if edits:
        told = f"makes the pod anew, asking for no more than half of what node {node.name} has"
        yield Fix(recreated(ref(pod), *edits), told)


def _is_more(asked: str, has: str) -> bool:
    from mooring.model import quantity

    try:
        return quantity.parse(asked) > quantity.parse(has)
    except ValueError:
        return False


def _half(what: str, has: str) -> str:
    """Of bytes, and of what is counted, no fractions: the API warns of them."""
    from mooring.model import quantity

    found = quantity.parse(has)
    if what == "cpu":
        return str(quantity.Quantity(found.nanos // 2, found.form).milli_ceil())
    count = found.bytes_ceil() // 2
    if what not in _IN_BYTES and not what.startswith(HUGE_PAGES):
        return str(count)
    unit = 1
    while count >= _FEW * unit * 1024:
        unit *= 1024
    return str(quantity.from_bytes(count // unit * unit))


def _users(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """Another pod has the volume, and must go first."""
    wanted = set(pod.claim_keys())
    for other in world.all(Pod):
        uses = wanted.intersection(other.claim_keys())
        if uses and other.key != pod.key and other.is_scheduled and not other.is_finished:
            told = f"deletes pod {other.name}, which uses claim {min(uses).name}"
            yield Fix(kubectl("delete", ref(other)), told)
            return


Rule = Callable[[World, Pod, Node], Iterator[Fix]]
_BY_RULE: dict[str, Rule] = {
    "NodeUnschedulable": _uncordon,
    "TaintToleration": _untaint,
    "NodeAffinity": _label,
    "NodeResourcesFit": _smaller,
    "VolumeBinding": _bind,
    "NodeVolumeLimits": _drivers,
    "VolumeRestrictions": _users,
    "VolumeZone": fix_reach,
}
