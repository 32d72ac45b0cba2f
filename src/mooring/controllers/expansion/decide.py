"""What is to be done about a claim that asks for more than it has.

Always true of a plan:

- Only a claim that is bound, and whose volume points back at it, is touched.
- A volume never shrinks.
- That growing has begun is recorded before a driver is run; then come the volume's size and the
  claim's state: cut off anywhere, the next pass finds the claim still being grown.
- The size before the first of several growths is kept on the volume, in the same write as the new
  size, until the file system has followed.
- A claim is finished only if no node has a file system to grow.
- What is grown outside is left to others, and an event says so; a CSI driver that has taken over an
  in-tree plugin is named on the claim.
- A size that a node works on, or whose resize status is unknown, is left alone.
"""

from typing import assert_never

from mooring.controllers.expansion.plan import (
    EXTERNAL,
    SUCCEEDED,
    AwaitNode,
    Finish,
    ForgetBefore,
    GrowBackEnd,
    GrowVolume,
    NameResizer,
    Plan,
    Start,
    Step,
)
from mooring.controllers.expansion.view import (
    ClaimView,
    find_local_expander,
    is_bound_to,
    needs_file_system,
)
from mooring.model.claim import Claim
from mooring.model.csi_migration import Migration, find_migration
from mooring.model.event import EventType
from mooring.model.expansion import Grow, LeaveAlone, LeaveToNode, RetryOnNode, decide_target
from mooring.model.quantity import Quantity
from mooring.model.steps import Emit, Fail, plan
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation

WAITS_OUTSIDE = "waiting for an external controller to expand this PVC"


def decide(view: ClaimView) -> Plan:
    claim, volume = view.claim, view.volume
    if not claim.is_bound:
        return plan("it is not bound")
    if volume is None:
        return plan("its volume is missing", Fail(f'failed to get PV "{claim.spec.volume_name}"'))
    if not is_bound_to(claim, volume):
        problem = f"persistent Volume is not bound to PVC being updated : {claim.key}"
        return plan("its volume points elsewhere", Fail(problem))
    if claim.requested <= claim.capacity and not view.is_annotated:
        return plan("it has what it asks for")
    if (migration := find_migration(volume.spec)) is not None:
        return _hand_over(claim, migration)
    if (resizer := find_local_expander(volume)) is not None:
        return _decide_local(view, volume, resizer)
    return plan("somebody outside grows it", _event(claim, EXTERNAL, WAITS_OUTSIDE))


def _hand_over(claim: Claim, migration: Migration) -> Plan:
    words = (
        f"CSI migration enabled for {migration.plugin}; "
        "waiting for external resizer to expand the pvc"
    )
    steps: list[Step] = [_event(claim, EXTERNAL, words)]
    if claim.metadata.annotations.get(Annotation.RESIZER) != migration.driver:
        steps.append(NameResizer(migration.driver))
    return plan("a CSI driver has taken over its plugin", *steps)


def _decide_local(view: ClaimView, volume: Volume, resizer: str) -> Plan:
    claim = view.claim
    is_complete = claim.capacity >= claim.requested and claim.capacity >= volume.size
    if is_complete and view.is_annotated:
        return plan("its file system has grown", ForgetBefore(volume))
    match decide_target(claim, volume):
        case LeaveToNode():
            return plan("a node is going to finish")
        case LeaveAlone():
            return plan("somebody is at work on it in a way that nobody here knows")
        case RetryOnNode():
            remember = _grow_volume(view, volume, volume.size)
            return plan("a node has given up", *remember, AwaitNode())
        case Grow(size):
            # The volume before the claim's state: cut off in between, the next pass finds the
            # being grown and ends here again.
            begun = (
                Start(size, resizer),
                GrowBackEnd(volume, max(size, volume.size), claim.capacity),
                *_grow_volume(view, volume, size),
            )
            if needs_file_system(view, volume):
                return plan("its back end grows first", *begun, AwaitNode())
            words = f"ExpandVolume succeeded for volume {claim.key}"
            event = _event(claim, SUCCEEDED, words)
            return plan("nothing else has to grow", *begun, Finish(size), event)
        case other:
            assert_never(other)


def _grow_volume(view: ClaimView, volume: Volume, size: Quantity) -> tuple[Step, ...]:
    """A volume never shrinks, and what it remembers is the size before the first of many growths.

    Both go in one write, so that no crash leaves a grown volume without its memory.
    """
    remembered = volume.metadata.annotations.get(Annotation.PRE_RESIZE_CAPACITY)
    before = remembered
    if before is None and needs_file_system(view, volume):
        before = view.claim.status.capacity.get(STORAGE, "0")
    grown = max(volume.size, size)
    if grown == volume.size and before == remembered:
        return ()
    return (GrowVolume(volume, grown, before),)


def _event(claim: Claim, reason: str, message: str) -> Emit:
    return Emit(claim, EventType.NORMAL, reason, message)
