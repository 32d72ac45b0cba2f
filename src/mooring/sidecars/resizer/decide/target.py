"""To which size a volume is to be grown, if the controller has to do anything at all."""

from mooring.model.condition import is_condition_true
from mooring.model.expansion import (
    ResizeCondition,
    ResizeStatus,
    find_allocated,
    find_resize_status,
    is_answered,
)
from mooring.model.quantity import Quantity
from mooring.model.volume import Volume
from mooring.sidecars.resizer.view import ClaimView

_ON_NODE = (ResizeStatus.NODE_PENDING, ResizeStatus.NODE_IN_PROGRESS)


def find_target(view: ClaimView, volume: Volume) -> Quantity | None:
    """Of a claim that asks for more than it has. None: it is not the controller's turn.

    A size that may be in the making is kept until the driver has answered, whatever the claim asks
    for meanwhile; after a final answer the request counts.
    """
    claim = view.claim
    status = find_resize_status(claim.status)
    if status is not None and not status.is_known:
        return None
    request, allocated = claim.requested, find_allocated(claim.status)
    recorded = request if allocated is None else allocated
    if status in _ON_NODE:
        return recorded if volume.size < min(recorded, request) else None
    if status is ResizeStatus.CONTROLLER_IN_PROGRESS:
        has_grown = volume.size >= request  # then only the record is missing
        return recorded if has_grown or not is_answered(claim.status) else request
    if status is ResizeStatus.NODE_INFEASIBLE:
        # Where there is no back end, nothing has grown: the request may as well be a smaller one.
        is_bound = view.abilities.expands or volume.size < request
        return recorded if is_bound else request
    if status is ResizeStatus.CONTROLLER_INFEASIBLE or volume.size < request:
        return request
    if allocated is not None and allocated > claim.capacity:
        return allocated
    is_pending = is_condition_true(claim.status.conditions, ResizeCondition.FILE_SYSTEM_PENDING)
    return None if is_pending else request
