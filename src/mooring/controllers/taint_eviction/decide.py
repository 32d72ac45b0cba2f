"""Whether a pod may stay on its node, and for how long."""

from math import inf

from mooring.controllers.disruption import disrupted
from mooring.controllers.taint_eviction.plan import DropTimer, Evict, Plan, SetTimer, Step
from mooring.controllers.taint_eviction.view import PodView, Timer
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.taint import Taint
from mooring.model.wellknown import TaintKey

REASON = "DeletionByTaintManager"
MESSAGE = "Taint manager: deleting due to NoExecute taint"
EVICTION = "TaintManagerEviction"
SCHEDULED = "EvictionScheduled"  # no word of upstream's, which keeps this to itself

OF_LOST_NODES = frozenset({TaintKey.NOT_READY, TaintKey.UNREACHABLE})


def decide(view: PodView) -> Plan:
    pod, timer = view.pod, view.timer
    if pod.is_deleting:
        return plan("it goes already", *_drop(view, is_told=False))
    stay = seconds_allowed(pod, view.taints)
    if stay == inf:
        return plan("it may stay", *_drop(view, is_told=True))
    since = view.now if timer is None else timer.since
    due = since + stay
    if due > view.now:
        wanted = Timer(pod.uid, since, due)
        if wanted == timer:
            return plan("its time is not up")
        return plan("it may stay for a while", SetTimer(pod, wanted), _schedule(view, due))
    ending = Evict(pod, disrupted(pod, REASON, MESSAGE, view.time_of(view.now)))
    words = f"Marking for deletion Pod {pod.namespace}/{pod.name}"
    return plan("its time is up", ending, Emit(pod, EventType.NORMAL, EVICTION, words))


def seconds_allowed(pod: Pod, taints: tuple[Taint, ...]) -> float:
    """How long a pod may stay on a node with these NoExecute taints; `inf`: for ever."""
    shortest = inf
    for taint in taints:
        matching = [each for each in pod.spec.tolerations if each.tolerates(taint)]
        if not matching:
            return 0.0
        limits = (each.toleration_seconds for each in matching)
        shortest = min([shortest, *(max(0.0, limit) for limit in limits if limit is not None)])
    return shortest


def _drop(view: PodView, *, is_told: bool) -> tuple[Step, ...]:
    if view.timer is None:
        return ()
    pod = view.pod
    words = f"Cancelling deletion of Pod {pod.namespace}/{pod.name}"
    told = (Emit(pod, EventType.NORMAL, EVICTION, words),) if is_told else ()
    return (DropTimer(pod), *told)


def _schedule(view: PodView, due: float) -> Emit:
    """What its people wait for, and until when."""
    pod, node = view.pod, view.pod.spec.node_name
    keys = ", ".join(sorted({taint.key for taint in view.taints}))
    at = view.time_of(due)
    words = f"Node {node} has the taint {keys}: the pod is deleted at {at} unless the taint goes"
    if OF_LOST_NODES.intersection(taint.key for taint in view.taints):
        words += (
            f"; if the machine is certainly off, the taint {TaintKey.OUT_OF_SERVICE} on the node "
            "moves pods and volumes at once"
        )
    return Emit(pod, EventType.NORMAL, SCHEDULED, words)
