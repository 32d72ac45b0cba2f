"""The change of a claim's VolumeAttributesClass: its state in the claim's status.

`modifyVolumeStatus` says which class is being applied and how far that is, two conditions inform
the user. Functions here take a `ClaimStatus` and return the next one; `status_patch` is the patch
that writes it.

A class that is being applied is given up for another only after a final answer of the driver: until
then the driver may still be at work. That answer is on record in `ModifyVolumeError`, which every
attempt removes before it asks.
"""

from enum import StrEnum
from typing import Any, Final

import msgspec

from mooring.model.claim import Claim, ClaimStatus, ModifyStatus
from mooring.model.condition import Condition, find_condition
from mooring.model.wire import Word


class ModifyState(Word):
    PENDING = "Pending"  # something is missing: nothing was asked of the driver
    IN_PROGRESS = "InProgress"
    INFEASIBLE = "Infeasible"


class ModifyCondition(StrEnum):
    MODIFYING = "ModifyingVolume"
    ERROR = "ModifyVolumeError"


_CONDITIONS = frozenset(ModifyCondition)
NO_ANSWER: Final = "NoAnswer"
"""The reason of `ModifyVolumeError` after an answer that made no sense."""

NOT_ASKED: Final = "InvalidArgument"
"""The reason of `ModifyVolumeError` for a class of another driver: what a driver would say."""

_UNANSWERED: Final = frozenset(
    ("Canceled", "DeadlineExceeded", "ResourceExhausted", "Aborted", "Unavailable", NO_ANSWER)
)
"""Reasons of `ModifyVolumeError` after which the driver may still be at work."""


# reading


def find_state(status: ClaimStatus) -> ModifyState | None:
    """None: no change is on record."""
    found = status.modify_volume_status
    return ModifyState(found.status) if found else None


def find_target(status: ClaimStatus) -> str:
    """The class that was last applied, or tried; empty: none."""
    found = status.modify_volume_status
    return found.target_volume_attributes_class_name if found else ""


def is_answered(status: ClaimStatus) -> bool:
    """Whether the last attempt certainly ended; False also for one that has no record."""
    error = find_condition(status.conditions, ModifyCondition.ERROR)
    if error is None or error.reason in _UNANSWERED:
        return False
    begun = find_condition(status.conditions, ModifyCondition.MODIFYING)
    # Upstream's sidecar keeps the error when it begins anew: the younger one counts.
    return begun is None or (error.last_probe_time or "") >= (begun.last_probe_time or "")


def is_told_of(status: ClaimStatus) -> bool:
    """Whether a condition says that the volume is being changed."""
    return find_condition(status.conditions, ModifyCondition.MODIFYING) is not None


def is_open(claim: Claim) -> bool:
    """Whether the claim asks for another class than it has, or a change is unfinished."""
    status = claim.status
    wanted = claim.spec.volume_attributes_class_name or ""
    has = status.current_volume_attributes_class_name or ""
    return status.modify_volume_status is not None or wanted != has


# transitions


def await_class(status: ClaimStatus) -> ClaimStatus:
    """The class cannot be applied now; what was last tried stays on record."""
    return _at(status, ModifyState.PENDING, find_target(status))


def start(status: ClaimStatus, name: str, now: str) -> ClaimStatus:
    words = f'Modifying volume to "{name}" is in progress.'
    status = _without(status, ModifyCondition.ERROR)
    return _told(_at(status, ModifyState.IN_PROGRESS, name), now, words)


def doubt(status: ClaimStatus, reason: str, message: str, now: str) -> ClaimStatus:
    """There was no final answer: the driver may still be at work."""
    words = f'Modifying volume to "{find_target(status)}" is still in progress.'
    return _with_error(_told(status, now, words), reason, message, now)


def fail(status: ClaimStatus, reason: str, message: str, now: str) -> ClaimStatus:
    """The driver has certainly failed, and is asked again."""
    words = f'Modifying volume to "{find_target(status)}" failed. Waiting for retry.'
    return _with_error(_told(status, now, words), reason, message, now)


def refuse(status: ClaimStatus, reason: str, message: str, now: str) -> ClaimStatus:
    """The class is infeasible for the volume."""
    failed = fail(status, reason, message, now)
    return _at(failed, ModifyState.INFEASIBLE, find_target(status))


def reject(status: ClaimStatus, name: str, message: str, now: str) -> ClaimStatus:
    """The class is not one for the volume's driver, which is not asked."""
    return _with_error(_at(status, ModifyState.INFEASIBLE, name), NOT_ASKED, message, now)


def finish(status: ClaimStatus, name: str) -> ClaimStatus:
    done = _without(status, *_CONDITIONS)
    return msgspec.structs.replace(
        done, current_volume_attributes_class_name=name, modify_volume_status=None
    )


def cancel(status: ClaimStatus) -> ClaimStatus:
    """No class is asked for any more, and none is being applied."""
    return msgspec.structs.replace(_without(status, *_CONDITIONS), modify_volume_status=None)


def _at(status: ClaimStatus, state: ModifyState, name: str) -> ClaimStatus:
    return msgspec.structs.replace(status, modify_volume_status=ModifyStatus(state.value, name))


def _told(status: ClaimStatus, now: str, words: str) -> ClaimStatus:
    return _set(status, Condition(ModifyCondition.MODIFYING, "True", "", words), now)


def _with_error(status: ClaimStatus, reason: str, message: str, now: str) -> ClaimStatus:
    return _set(status, Condition(ModifyCondition.ERROR, "True", reason, message), now)


def _set(status: ClaimStatus, wanted: Condition, now: str) -> ClaimStatus:
    """One that says the same already is left as it is, with its times."""
    present = find_condition(status.conditions, wanted.type)
    if present is not None and (present.status, present.reason, present.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    ):
        return status
    since = present.last_transition_time if present and present.is_true else now
    wanted = msgspec.structs.replace(wanted, last_probe_time=now, last_transition_time=since)
    others = tuple(each for each in status.conditions if each.type != wanted.type)
    return msgspec.structs.replace(status, conditions=(*others, wanted))


def _without(status: ClaimStatus, *kinds: str) -> ClaimStatus:
    kept = tuple(each for each in status.conditions if each.type not in kinds)
    return msgspec.structs.replace(status, conditions=kept)


# writing


def status_patch(before: ClaimStatus, after: ClaimStatus) -> dict[str, Any]:
    """The merge patch of a claim's `status` from `before` to `after`; empty if they are equal."""
    patch: dict[str, Any] = {}
    name = after.current_volume_attributes_class_name
    if before.current_volume_attributes_class_name != name:
        patch["currentVolumeAttributesClassName"] = name
    if before.modify_volume_status != after.modify_volume_status:
        at = after.modify_volume_status
        patch["modifyVolumeStatus"] = msgspec.to_builtins(at) if at else None
    if before.conditions != after.conditions:
        patch["conditions"] = [*map(msgspec.to_builtins, after.conditions)] or None
    return patch
