"""The expansion of a claim: one state machine for the controller, resizers and kubelets.

The state is in the claim's status: `allocatedResources` is the size being worked on,
`allocatedResourceStatuses` says whether controller or node is working (no entry: neither), and four
conditions inform the user. Functions here take a `ClaimStatus` and return the next one;
`status_patch` is the patch that writes it.

To give up an infeasible size, users lower the request to anything above the capacity. The new
request counts once the recorded size is abandoned (no resize in progress, or infeasible for the
controller); until then the recorded size is finished first, for a back end may already have grown.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any, Final

import msgspec

from mooring.model import quantity
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.condition import Condition, find_condition
from mooring.model.quantity import Quantity
from mooring.model.storage_terms import STORAGE, AccessMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.model.wire import Word


class ResizeStatus(Word):
    """Whether controller or node is resizing, and whether it has failed."""

    CONTROLLER_IN_PROGRESS = "ControllerResizeInProgress"
    CONTROLLER_INFEASIBLE = "ControllerResizeInfeasible"
    NODE_PENDING = "NodeResizePending"
    NODE_IN_PROGRESS = "NodeResizeInProgress"
    NODE_INFEASIBLE = "NodeResizeInfeasible"


class ResizeCondition(StrEnum):
    RESIZING = "Resizing"
    FILE_SYSTEM_PENDING = "FileSystemResizePending"
    CONTROLLER_ERROR = "ControllerResizeError"
    NODE_ERROR = "NodeResizeError"


WAITS_FOR_POD: Final = (
    "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
)

_CONDITIONS = frozenset(ResizeCondition)
_ON_NODE = frozenset({ResizeStatus.NODE_PENDING, ResizeStatus.NODE_IN_PROGRESS})
_BEGUN = _ON_NODE | {ResizeStatus.CONTROLLER_IN_PROGRESS, ResizeStatus.NODE_INFEASIBLE}


# reading


def find_resize_status(status: ClaimStatus) -> ResizeStatus | None:
    """None: no resize is in progress."""
    at = status.allocated_resource_statuses.get(STORAGE)
    return ResizeStatus(at) if at else None


def find_allocated(status: ClaimStatus) -> Quantity | None:
    """The size that was last worked on; it stays there after success."""
    text = status.allocated_resources.get(STORAGE)
    return None if text is None else quantity.parse(text)


def is_answered(status: ClaimStatus) -> bool:
    """Whether the controller's last attempt certainly failed, so that none is going on.

    `start` removes the condition that says so, before the driver is asked again. An upstream
    resizer keeps it, and renews that of the attempt instead: then the younger one counts.
    """
    error = find_condition(status.conditions, ResizeCondition.CONTROLLER_ERROR)
    if error is None:
        return False
    begun = find_condition(status.conditions, ResizeCondition.RESIZING)
    failed_at = error.last_transition_time or ""
    return begun is None or failed_at >= (begun.last_transition_time or "")


# decisions of the controller


class Grow(msgspec.Struct, frozen=True):
    """Grow the back end to this size, then record it."""

    size: Quantity


class LeaveToNode(msgspec.Struct, frozen=True):
    """The back end has grown, and the kubelet is going to finish."""


class RetryOnNode(msgspec.Struct, frozen=True):
    """The back end has grown, the kubelet has given up: let it try again."""


class LeaveAlone(msgspec.Struct, frozen=True):
    """The resize status is unknown to this version."""


Target = Grow | LeaveToNode | RetryOnNode | LeaveAlone


def decide_target(claim: Claim, volume: Volume) -> Target:
    """The controller's or resizer's next target for a claim that is smaller than its request."""
    status = find_resize_status(claim.status)
    if status is not None and not status.is_known:
        return LeaveAlone()
    recorded = find_allocated(claim.status) or claim.requested
    if volume.size < claim.requested:
        return Grow(recorded if status in _BEGUN else claim.requested)
    if status in _ON_NODE:
        return LeaveToNode()
    if status is ResizeStatus.NODE_INFEASIBLE:
        return RetryOnNode()
    # The back end has grown; then the record failed, or the request was lowered.
    return Grow(recorded)


# decisions of the kubelet


class NodeMove(Enum):
    EXPAND = "record that it runs, expand, record the size"
    EXPAND_UNRECORDED = "an old resizer keeps no record: expand, then record the size"
    EXPAND_AGAIN = "another node has finished and recorded it: expand here too, write nothing"
    DONE = "nothing to do"
    WAIT = "not the node's turn"


def node_target(claim: Claim, volume: Volume) -> Quantity:
    """The size that the kubelet has to reach."""
    return find_allocated(claim.status) or volume.size


def decide_node(claim: Claim, volume: Volume) -> NodeMove:
    """What the kubelet does about the size of a mounted volume."""
    status = find_resize_status(claim.status)
    target = node_target(claim, volume)
    if status is not None:
        return NodeMove.EXPAND if status in _ON_NODE else NodeMove.WAIT
    if claim.capacity >= target:
        shared = AccessMode.MANY in claim.spec.access_modes
        needless = Annotation.NODE_EXPANSION_NOT_REQUIRED in claim.metadata.annotations
        return NodeMove.EXPAND_AGAIN if shared and not needless else NodeMove.DONE
    has_record = bool(claim.status.allocated_resources)
    return NodeMove.WAIT if has_record else NodeMove.EXPAND_UNRECORDED


def is_request_changed(claim: Claim, target: Quantity) -> bool:
    """Whether the request is no longer `target`.

    A kubelet for which `target` has certainly failed then gives it up (`refuse_on_node`), so that
    the controller can work on the new request.
    """
    return claim.requested != target


# transitions


def start(status: ClaimStatus, size: Quantity, now: str) -> ClaimStatus:
    """The controller begins to grow the back end."""
    resizing = _condition(ResizeCondition.RESIZING, now)
    return msgspec.structs.replace(
        _at(status, ResizeStatus.CONTROLLER_IN_PROGRESS),
        allocated_resources={**status.allocated_resources, STORAGE: str(size)},
        conditions=_merged(_without_resizing(status.conditions, resizing), resizing),
    )


def await_node(status: ClaimStatus, now: str, size: Quantity | None = None) -> ClaimStatus:
    """The back end has grown, to `size` if that is not what was asked for; the file system on it
    has not."""
    if size is not None:
        allocated = {**status.allocated_resources, STORAGE: str(size)}
        status = msgspec.structs.replace(status, allocated_resources=allocated)
    pending = _condition(ResizeCondition.FILE_SYSTEM_PENDING, now, WAITS_FOR_POD)
    return msgspec.structs.replace(
        _at(status, ResizeStatus.NODE_PENDING), conditions=_merged(status.conditions, pending)
    )


def start_on_node(status: ClaimStatus) -> ClaimStatus:
    return _at(status, ResizeStatus.NODE_IN_PROGRESS)


def finish(status: ClaimStatus, size: Quantity) -> ClaimStatus:
    """Volume and file system have grown. The allocated size stays as a record."""
    return msgspec.structs.replace(
        status,
        capacity={**status.capacity, STORAGE: str(size)},
        allocated_resource_statuses={
            name: at for name, at in status.allocated_resource_statuses.items() if name != STORAGE
        },
        conditions=_without_resizing(status.conditions),
    )


def fail(status: ClaimStatus, error: str, now: str) -> ClaimStatus:
    """The controller has certainly failed, and will try again."""
    return _with_error(status, ResizeCondition.CONTROLLER_ERROR, error, now)


def refuse(status: ClaimStatus, error: str, now: str) -> ClaimStatus:
    """The size is infeasible for the controller, which waits for another request."""
    return _at(fail(status, error, now), ResizeStatus.CONTROLLER_INFEASIBLE)


def fail_on_node(status: ClaimStatus, error: str, now: str) -> ClaimStatus:
    """The kubelet has certainly failed, and will try again."""
    return _with_error(status, ResizeCondition.NODE_ERROR, error, now)


def refuse_on_node(status: ClaimStatus, error: str, now: str) -> ClaimStatus:
    """The size is infeasible for the kubelet, which waits for the controller."""
    return _at(fail_on_node(status, error, now), ResizeStatus.NODE_INFEASIBLE)


def _at(status: ClaimStatus, resize: ResizeStatus) -> ClaimStatus:
    statuses = {**status.allocated_resource_statuses, STORAGE: resize.value}
    return msgspec.structs.replace(status, allocated_resource_statuses=statuses)


def _with_error(status: ClaimStatus, kind: ResizeCondition, error: str, now: str) -> ClaimStatus:
    failed = _condition(kind, now, f"failed to expand pvc with {error}")
    return msgspec.structs.replace(status, conditions=_merged(status.conditions, failed))


def _condition(kind: ResizeCondition, now: str, message: str = "") -> Condition:
    return Condition(type=kind.value, status="True", message=message, last_transition_time=now)


def _merged(conditions: tuple[Condition, ...], wanted: Condition) -> tuple[Condition, ...]:
    """An entry of the same type and status is kept, with its message and time."""
    present = find_condition(conditions, wanted.type)
    if present is None:
        return (*conditions, wanted)
    if present.status == wanted.status:
        return conditions
    return tuple(wanted if condition is present else condition for condition in conditions)


def _without_resizing(
    conditions: tuple[Condition, ...], kept: Condition | None = None
) -> tuple[Condition, ...]:
    """Without the resize conditions of earlier attempts, except that of `kept`."""
    dropped = _CONDITIONS - {kept.type} if kept else _CONDITIONS
    return tuple(condition for condition in conditions if condition.type not in dropped)


# writing


def status_patch(before: ClaimStatus, after: ClaimStatus) -> dict[str, Any]:
    """The merge patch of a claim's `status` from `before` to `after`; empty if they are equal."""
    patch: dict[str, Any] = {}
    for name, old, new in (
        ("capacity", before.capacity, after.capacity),
        ("allocatedResources", before.allocated_resources, after.allocated_resources),
        (
            "allocatedResourceStatuses",
            before.allocated_resource_statuses,
            after.allocated_resource_statuses,
        ),
    ):
        if old != new:
            patch[name] = _map_patch(old, new)
    if before.conditions != after.conditions:
        patch["conditions"] = [*map(msgspec.to_builtins, after.conditions)] or None
    return patch


def _map_patch(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str | None] | None:
    """The merge patch of a map; None removes the field, since an empty map is not written."""
    if not new:
        return None
    gone: dict[str, str | None] = {name: None for name in old if name not in new}
    return gone | {name: text for name, text in new.items() if old.get(name) != text}
