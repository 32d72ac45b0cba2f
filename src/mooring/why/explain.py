"""Why an object waits, out of a picture of the cluster: pure, and asked of the real tables."""

from datetime import datetime

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.daemon_set import DaemonSet
from mooring.model.deployment import Deployment
from mooring.model.keys import Key
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.snapshot import Snapshot
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Answer, Ref, State, Step, Verdict
from mooring.why.found import NOTHING, Found, link
from mooring.why.kinds import BY_KIND
from mooring.why.world import World

LONG = 400  # characters

_VERDICTS = {
    State.BROKEN: Verdict.BROKEN,
    State.WAITING: Verdict.WAITING,
    State.UNKNOWN: Verdict.UNKNOWN,
}


def explain(world: World, subject: Ref, now: datetime) -> Answer:
    """What the object waits for, link by link; the first that is not done is the summary."""
    kind = BY_KIND[subject.kind]
    it = world.find(kind, Key(subject.namespace, subject.name))
    unseen = tuple(f"{kind.resource.plural}: {why}" for kind, why in world.unseen.items())
    if it is None:
        known = world.is_known(kind, Key(subject.namespace, subject.name))
        words = f"there is no {subject}" if known else f"{subject} could not be read"
        return Answer(subject, Verdict.UNKNOWN, words, unseen=unseen)
    found = _explain(world, it, now)
    trouble = found.first_trouble
    fixes = found.fixes if trouble is not None else ()
    if trouble is None:
        summary, verdict = _well(found), Verdict.FINE
    else:
        summary = f"{trouble.object}: {_first_sentence(trouble.says)}"
        verdict = _VERDICTS[trouble.state]
    return Answer(subject, verdict, summary, found.links, fixes, found.candidates, unseen)


def _first_sentence(says: str) -> str:
    """Of long words, which stand in their link as a whole."""
    first, end, _ = says.partition(". ")
    return f"{first}." if end and len(says) > LONG else says


def _well(found: Found) -> str:
    last = found.links[-1] if found.links else None
    return "all is well" if last is None else f"{last.object}: {last.says}"


def _explain(world: World, it: object, now: datetime) -> Found:
    """Each kind is imported when it is asked about, so that an answer comes soon."""
    match it:
        case Claim():
            return _explain_claim(world, it, now)
        case Pod():
            from mooring.why.pod import explain_pod

            return explain_pod(world, it, now)
        case Volume():
            from mooring.why.volume import explain_volume

            return explain_volume(world, it, now)
        case Attachment():
            from mooring.why.attachment import explain_attachment

            return explain_attachment(world, it, now)
        case Node():
            from mooring.why.node import explain_node

            return explain_node(world, it, now)
        case Snapshot():
            from mooring.why.snapshot import explain_snapshot

            return explain_snapshot(world, it, now)
        case StorageClass():
            from mooring.why.provisioner import explain_class

            return explain_class(world, it, now)
        case CsiDriver():
            from mooring.why.provisioner import explain_driver

            return explain_driver(world, it, now)
        case StatefulSet() | Deployment() | ReplicaSet() | DaemonSet():
            from mooring.why.workload import explain_workload

            return explain_workload(world, it, now)
        case Namespace():
            from mooring.why.namespace import explain_namespace

            return explain_namespace(world, it, now)
        case _:
            return NOTHING


def _explain_claim(world: World, claim: Claim, now: datetime) -> Found:
    """The claim, and the pod that waits for it; of pods that all run, the first."""
    from mooring.why.claim import explain_claim, users_of

    found = explain_claim(world, claim, now)
    users = [pod for pod in users_of(world, claim) if not pod.is_finished]
    if not users:
        words = "no pod uses it"
        return found.plus(link(Step.SCHEDULING, claim, State.SKIPPED, words))
    from mooring.why.pod import explain_rest, is_running

    waiting = [pod for pod in users if not is_running(pod)]
    rest = explain_rest(world, (waiting or users)[0], now)
    if claim.is_deleting:
        rest = msgspec.structs.replace(rest, fixes=())
    return found.plus(rest)
