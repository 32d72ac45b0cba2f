"""Which pods are ended although no node says that they have ended."""

from collections.abc import Iterable, Sequence

from mooring.controllers.disruption import disrupted
from mooring.controllers.pod_gc.plan import ForceDelete, Plan, Tell, Why
from mooring.controllers.pod_gc.view import Absence, PodView
from mooring.model.condition import Condition, find_condition
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import TaintKey

REASON = "DeletionByPodGC"
MESSAGE = "PodGC: node no longer exists"
WAITING = "WaitingForNode"  # no word of upstream's, which says nothing of this
EVICTED = "Evicted"


def decide(view: PodView) -> Plan:
    pod = view.pod
    if view.absence is Absence.CONFIRMED:
        conditions = disrupted(pod, REASON, MESSAGE, view.now)
        return plan("its node no longer exists", *_force(pod, conditions, Why.ORPHANED))
    if not pod.is_deleting or view.absence is Absence.NEW:
        return plan("its node looks after it, or may come back")
    if view.node is None:
        forced = _force(pod, pod.status.conditions, Why.UNSCHEDULED)
        return plan("it is deleted and never had a node", *forced)
    if view.node.is_ready:
        return plan("its node ends it")
    if view.node.is_out_of_service:
        forced = _force(pod, pod.status.conditions, Why.OUT_OF_SERVICE)
        return plan("its node is out of service", *forced)
    if view.is_told or not _is_lost(view):
        return plan("its node may come back")
    name = view.node.name
    words = (
        f"Deleted, but node {name} is not heard of: the pod stays until the node ends it, is "
        f"deleted, or has the taint {TaintKey.OUT_OF_SERVICE}, which says that its machine is off"
    )
    return plan("its node may come back", Tell(Emit(pod, EventType.WARNING, WAITING, words)))


def surplus(finished: Iterable[Pod], limit: int) -> Sequence[Pod]:
    """Of finished pods those beyond the limit: evicted ones first, then the oldest."""
    known = list(finished)
    if len(known) <= limit:
        return ()
    return sorted(known, key=_rank)[: len(known) - limit]


def _force(pod: Pod, conditions: tuple[Condition, ...], why: Why) -> tuple[ForceDelete, ...]:
    """Nothing is left to do for one that is forced already and held by finalizers."""
    is_forced = pod.is_deleting and pod.metadata.deletion_grace_period_seconds == 0
    if is_forced and pod.is_finished:
        return ()
    return (ForceDelete(pod, conditions, why),)


def _is_lost(view: PodView) -> bool:
    node = view.node
    ready = None if node is None else find_condition(node.status.conditions, "Ready")
    return ready is not None and ready.status == "Unknown"


def _rank(pod: Pod) -> tuple[bool, str, str, str]:
    born = pod.metadata.creation_timestamp or ""
    return (pod.status.reason != EVICTED, born, pod.namespace, pod.name)
