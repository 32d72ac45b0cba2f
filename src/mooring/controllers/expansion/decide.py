"""What is to be done about a claim that asks for more than it has."""

from typing import assert_never

from mooring.controllers.expansion.migration import Migration, find_migration
from mooring.controllers.expansion.plan import (
    AwaitNode,
    Finish,
    ForgetBefore,
    GrowVolume,
    NameResizer,
    Plan,
    Start,
    Step,
    TellExternal,
    plan,
)
from mooring.controllers.expansion.view import (
    ClaimView,
    find_local_expander,
    is_bound_to,
    needs_file_system,
)
from mooring.model.claim import Claim
from mooring.model.expansion import Grow, LeaveToNode, RetryOnNode, decide_target
from mooring.model.quantity import Quantity
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation

WAITS_OUTSIDE = "waiting for an external controller to expand this PVC"


def decide(view: ClaimView) -> Plan:
    claim, volume = view.claim, view.volume
    if not claim.is_bound:
        return plan("it is not bound")
    if volume is None:
        return Plan("its volume is missing", problem=f'failed to get PV "{claim.spec.volume_name}"')
    if not is_bound_to(claim, volume):
        problem = f"persistent Volume is not bound to PVC being updated : {claim.key}"
        return Plan("its volume points elsewhere", problem=problem)
    if claim.requested <= claim.capacity and not view.is_annotated:
        return plan("it has what it asks for")
    if (migration := find_migration(volume)) is not None:
        return _hand_over(claim, migration)
    if (resizer := find_local_expander(volume)) is not None:
        return _decide_local(view, volume, resizer)
    return plan("somebody outside grows it", TellExternal(WAITS_OUTSIDE))


def _hand_over(claim: Claim, migration: Migration) -> Plan:
    steps: list[Step] = [
        TellExternal(
            f"CSI migration enabled for {migration.plugin}; "
            "waiting for external resizer to expand the pvc"
        )
    ]
    if claim.metadata.annotations.get(Annotation.RESIZER) != migration.driver:
        steps.append(NameResizer(migration.driver))
    return plan("a CSI driver has taken over its plugin", *steps)


def _decide_local(view: ClaimView, volume: Volume, resizer: str) -> Plan:
    claim = view.claim
    is_complete = claim.capacity >= claim.requested and claim.capacity >= volume.size
    if is_complete and view.is_annotated:
        return plan("its file system has grown", ForgetBefore())
    match decide_target(claim, volume):
        case LeaveToNode():
            return plan("a node is going to finish")
        case RetryOnNode():
            remember = _grow_volume(claim, volume, volume.size)
            return plan("a node has given up", *remember, AwaitNode())
        case Grow(size):
            # The volume before the claim's state: whoever stops in between finds the claim still
            # being grown and ends here again.
            last = AwaitNode() if needs_file_system(volume) else Finish(size)
            grown = _grow_volume(claim, volume, size)
            return plan("nothing else has to grow", Start(size, resizer), *grown, last)
        case other:
            assert_never(other)


def _grow_volume(claim: Claim, volume: Volume, size: Quantity) -> tuple[Step, ...]:
    """A volume never shrinks, and what it remembers is the size before the first of many growths.

    Both go in one write, so that no crash leaves a grown volume without its memory.
    """
    remembered = volume.metadata.annotations.get(Annotation.PRE_RESIZE_CAPACITY)
    before = remembered
    if before is None and needs_file_system(volume):
        before = claim.status.capacity.get(STORAGE, "0")
    grown = max(volume.size, size)
    if grown == volume.size and before == remembered:
        return ()
    return (GrowVolume(grown, before),)
