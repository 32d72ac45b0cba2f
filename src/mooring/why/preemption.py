"""A pod that fits nowhere: who has to go for it, since when, and why nobody may have to.

The scheduler's own decision is asked; what it did before shows in the pod's nominated node.
"""

import msgspec

from mooring.model.condition import find_condition
from mooring.model.pod import Pod
from mooring.scheduling.decide.preemption import DISRUPTION_TARGET, is_preempted
from mooring.scheduling.decide.schedule import decide
from mooring.scheduling.plan import Preemption, Unschedulable
from mooring.scheduling.view import Picture
from mooring.why.answer import Fix, State, Step
from mooring.why.found import NOTHING, Found, kubectl, link, ref
from mooring.why.world import World

_NAMED = 3


def explain_preemption(world: World, picture: Picture) -> Found:
    """A link if somebody goes for the pod; a fix if somebody could."""
    pod = picture.pod
    if going := _going(world, pod):
        return _making_room(pod, going)
    verdict = decide(picture)
    if isinstance(verdict, Unschedulable) and verdict.preemption is not None:
        chosen = verdict.preemption
        words = (
            f"it fits on no node, and is about to displace {_named(chosen.victims)} of lower "
            f"priority on node {chosen.node}"
        )
        return link(Step.SCHEDULING, pod, State.WAITING, words, who="the scheduler")
    return NOTHING


def why_nobody_goes(picture: Picture) -> tuple[str, Found]:
    """Of a pod that fits nowhere and displaces nobody: a part of a sentence, and what helps.

    Nothing is said of a pod whose priority is that of all others.
    """
    pod = picture.pod
    others = (other for node in picture.nodes for other in node.pods.values())
    if not any(other.spec.priority < pod.spec.priority for other in others):
        return "", NOTHING
    if pod.spec.preemption_policy != "Never":
        words = "; it displaces nobody: the pods of lower priority are not what is in its way"
        return words, NOTHING
    words = "; it displaces nobody, for its preemptionPolicy is Never"
    freely = msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, preemption_policy="")
    )
    verdict = decide(msgspec.structs.replace(picture, pod=freely))
    if not isinstance(verdict, Unschedulable) or verdict.preemption is None:
        return words, NOTHING
    return words, Found(fixes=tuple(_displaced(verdict.preemption)))


def _going(world: World, pod: Pod) -> list[Pod]:
    """Pods that were told to go, on the node that was promised to the pod."""
    node = pod.status.nominated_node_name
    found = [
        other
        for other in world.all(Pod)
        if node and other.spec.node_name == node and not other.is_finished and is_preempted(other)
    ]
    return [other for other in found if other.spec.priority < pod.spec.priority]


def _making_room(pod: Pod, going: list[Pod]) -> Found:
    node = pod.status.nominated_node_name
    words = f"{_named(going)} on node {node} were displaced for it, and are ending"
    since = [
        told_so.last_transition_time
        for other in going
        if (told_so := find_condition(other.status.conditions, DISRUPTION_TARGET)) is not None
    ]
    told = "ends it at once, without the time that it has to stop"
    fixes = tuple(
        Fix(kubectl("delete", ref(other), "--force", "--grace-period=0"), told) for other in going
    )
    found = link(
        Step.SCHEDULING,
        pod,
        State.WAITING,
        words,
        since=min((moment for moment in since if moment), default=None),
        until=max((other.metadata.deletion_timestamp or "" for other in going), default="") or None,
        who=f"the kubelet of {node}",
        source=ref(going[0]),
    )
    return found.plus(Found(fixes=fixes))


def _named(pods: list[Pod] | tuple[Pod, ...]) -> str:
    names = ", ".join(str(pod.key) for pod in pods[:_NAMED])
    more = f" and {len(pods) - _NAMED} more" if len(pods) > _NAMED else ""
    return f"pod{'s' if len(pods) > 1 else ''} {names}{more}"


def _displaced(preemption: Preemption) -> list[Fix]:
    told = f"deletes pods of lower priority on node {preemption.node}: then there is room"
    return [Fix(kubectl("delete", ref(pod)), told) for pod in preemption.victims]
