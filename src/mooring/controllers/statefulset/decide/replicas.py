"""The pods that are wanted, from the lowest number up: made, replaced, put right.

With OrderedReady the first that is missing or not available is the last that is looked at.
"""

from collections.abc import Mapping

import msgspec

from mooring.controllers.owned_pods.plan import MOST_AT_ONCE, CreatePods, DeletePod
from mooring.controllers.revisions.decide import History
from mooring.controllers.statefulset.decide.claims import (
    conflicts,
    deleting_claims,
    former_claims,
    missing_claims,
    settle_owners,
)
from mooring.controllers.statefulset.decide.pods import identity, pod_document, wrong_volumes
from mooring.controllers.statefulset.plan import LabelPod, Reason, Stage, Step
from mooring.controllers.statefulset.view import Member, StatefulSetView
from mooring.model.event import EventType
from mooring.model.pod import PodPhase
from mooring.model.steps import Emit


class _One(msgspec.Struct, frozen=True):
    """What is to be done about one pod."""

    steps: tuple[Step, ...] = ()
    waits: str = ""  # for what the next pods wait, if they come one after another
    failed: str = ""  # why nothing after the replicas is done, in either order


def decide_replicas(
    view: StatefulSetView, members: Mapping[int, Member], history: History
) -> Stage:
    steps: list[Step] = []
    created, failed = 0, ""
    for ordinal in view.set.ordinals:
        member = members.get(ordinal)
        one = _absent(view, history, ordinal) if member is None else _present(view, member)
        steps += one.steps
        created += member is None
        if view.set.is_ordered and (one.waits or one.failed):
            return Stage(one.failed or one.waits, tuple(steps))
        failed = failed or one.failed
        if created >= MOST_AT_ONCE:
            return Stage(f"{created} pods are made at once", tuple(steps))
    return Stage(failed, tuple(steps))


def _absent(view: StatefulSetView, history: History, ordinal: int) -> _One:
    set_, name = view.set, view.set.pod_name(ordinal)
    if former := former_claims(view, ordinal):
        waits = f"claim {former[0]} goes with the former pod {name}"
        return _One(waits=waits, failed=waits)
    if going := deleting_claims(view, ordinal):
        error = f"pvc {going[0]} is being deleted"
        said = f"Create Pod {name} in StatefulSet {set_.name} failed error: {error}"
        return _One((Emit(set_, EventType.WARNING, Reason.FAILED_CREATE, said),), failed=error)
    made = CreatePods(set_, (pod_document(set_, history, ordinal),))
    return _One((*missing_claims(view, ordinal), made), waits=f"pod {name} is made")


def _present(view: StatefulSetView, member: Member) -> _One:
    set_, pod, ordinal = view.set, member.pod, member.ordinal
    if pod.is_finished:
        gone: tuple[Step, ...] = () if member.is_leaving else (DeletePod(set_, pod),)
        return _One(gone, waits=f"pod {pod.name} has ended")
    steps: list[Step] = []
    if pod.status.phase is PodPhase.PENDING and not member.is_leaving:
        if going := deleting_claims(view, ordinal):
            return _One(failed=f"pvc {going[0]} is being deleted")
        steps += missing_claims(view, ordinal)
        steps += [*conflicts(view, ordinal, pod), *settle_owners(view, ordinal, pod)]
    if waits := _waits(member) if set_.is_ordered else "":
        return _One(tuple(steps), waits=waits)
    put_right = _put_right(view, member)
    known = [step for step in put_right.steps if step not in steps]
    return _One((*steps, *known), failed=put_right.failed)


def _waits(member: Member) -> str:
    name = member.pod.name
    if member.is_leaving:
        return f"pod {name} is being deleted"
    if not member.is_ready:
        return f"pod {name} is not ready"
    return "" if member.is_available else f"pod {name} is not available yet"


def _put_right(view: StatefulSetView, member: Member) -> _One:
    """Labels and owners that somebody changed. The volumes of a pod cannot be changed."""
    set_, pod, ordinal = view.set, member.pod, member.ordinal
    if wrong := wrong_volumes(set_, ordinal, pod):
        claim = set_.claim_name(wrong[0], ordinal)
        said = (
            f"Update Pod {pod.name} in StatefulSet {set_.name} failed error: its volume "
            f"{wrong[0]} is not the claim {claim}; delete the pod, and it is made anew"
        )
        event = Emit(set_, EventType.WARNING, Reason.FAILED_UPDATE, said)
        return _One((event,), failed=f"pod {pod.name} has other volumes")
    steps: list[Step] = []
    labels = identity(set_, ordinal)
    if not labels.items() <= pod.metadata.labels.items() and not member.is_leaving:
        steps.append(LabelPod(set_, pod, labels))
    return _One((*steps, *settle_owners(view, ordinal, pod)))
