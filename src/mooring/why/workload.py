"""What makes pods: whether it could make them, and the first of them that is not ready."""

from collections.abc import Sequence
from datetime import datetime

from mooring.model.condition import find_condition
from mooring.model.daemon_set import DaemonSet
from mooring.model.deployment import Deployment
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner
from mooring.model.replica_set import ReplicaSet
from mooring.model.stateful_set import StatefulSet
from mooring.why.admission import fix_creation
from mooring.why.answer import Fix, State, Step
from mooring.why.deletion import explain_deletion
from mooring.why.found import Found, kubectl, link, newest_event, ref, reporter
from mooring.why.pod import explain_pod
from mooring.why.world import World

_REFUSED = ("FailedCreate",)


def explain_workload(world: World, it: PodOwner | Deployment, now: datetime) -> Found:
    found = explain_deletion(world, it, now)
    makers = makers_of(world, it)
    pods = pods_of(world, makers)
    wanted = _wanted(it)
    ready = sum(1 for pod in pods if is_ready(pod))
    words = f"{ready} of {wanted} pods are ready"
    if isinstance(it, Deployment) and it.spec.paused and ready < wanted:
        return found.plus(_paused(it, words))
    if ready >= wanted:
        return found.plus(link(Step.WORKLOAD, it, State.DONE, words))
    waiting = [pod for pod in pods if not is_ready(pod)]
    if len(pods) < wanted:
        for maker in makers:
            refused = _refused(world, maker, words)
            if refused is not None:
                return found.plus(refused)
    if not waiting:
        who = f"the controller of {it.resource.kind}s"
        words = f"{words}, and the others have not been made"
        return found.plus(link(Step.WORKLOAD, it, State.WAITING, words, who=who))
    first = waiting[0]
    if isinstance(it, StatefulSet) and it.is_ordered and len(pods) < wanted:
        words = f"{words}; the next one is made when {first.name} is ready"
    found = found.plus(link(Step.WORKLOAD, it, State.WAITING, words, who=str(ref(first))))
    return found.plus(explain_pod(world, first, now))


def makers_of(world: World, it: PodOwner | Deployment) -> list[PodOwner]:
    """Whose events tell of pods: of a deployment, those of its replica sets that want any."""
    if not isinstance(it, Deployment):
        return [it]
    return [each for each in world.all(ReplicaSet) if _is_of(each, it) and each.spec.replicas]


def pods_of(world: World, makers: Sequence[PodOwner]) -> list[Pod]:
    uids = {maker.uid for maker in makers}
    found = [
        pod
        for pod in world.all(Pod)
        if (owner := pod.metadata.find_controller()) is not None and owner.uid in uids
    ]
    return sorted(found, key=lambda pod: (len(pod.name), pod.name))  # web-2 before web-10


def is_ready(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, "Ready")
    return condition is not None and condition.is_true and not pod.is_deleting


def _is_of(each: ReplicaSet, it: Deployment) -> bool:
    owner = each.metadata.find_controller()
    return owner is not None and owner.uid == it.uid


def _wanted(it: PodOwner | Deployment) -> int:
    match it:
        case DaemonSet():
            return it.status.desired_number_scheduled
        case StatefulSet() | ReplicaSet() | Deployment():
            return it.spec.replicas
        case _:
            return 0


def _refused(world: World, maker: PodOwner, words: str) -> Found | None:
    """The API server does not take its pods, or their claims."""
    said = newest_event(world, maker, _REFUSED)
    if said is None:
        return None
    words = f"{words}; {reporter(said)} says: {said.message}"
    found = link(
        Step.WORKLOAD,
        maker,
        State.BROKEN,
        words,
        source=ref(said),
        since=said.first_timestamp,
        who="an administrator",
    )
    return found.plus(Found(fixes=tuple(fix_creation(world, said.message, maker.namespace))))


def _paused(it: Deployment, words: str) -> Found:
    found = link(
        Step.WORKLOAD, it, State.BROKEN, f"{words}, and it is paused", who="whoever paused it"
    )
    command = kubectl("rollout resume", ref(it))
    return found.plus(Found(fixes=(Fix(command, "lets the deployment go on"),)))
