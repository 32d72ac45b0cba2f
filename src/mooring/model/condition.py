"""Conditions: the state of one aspect of an object, with its transition time."""

from collections.abc import Iterable

import msgspec

from mooring.model.wire import Wire


class Condition(Wire, frozen=True):
    """The common part of all condition types of the API."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None
    observed_generation: int | None = None

    @property
    def is_true(self) -> bool:
        return self.status == "True"


def find_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def is_condition_true(conditions: Iterable[Condition], kind: str) -> bool:
    found = find_condition(conditions, kind)
    return found is not None and found.is_true


def set_condition(
    conditions: tuple[Condition, ...], wanted: Condition, now: str
) -> tuple[Condition, ...]:
    """`conditions` with `wanted` in place of the one of its type, or at the end.

    The transition time becomes `now` when the status changes, and is kept otherwise; the one in
    `wanted` is ignored. When nothing changes, the same tuple is returned.
    """
    present = find_condition(conditions, wanted.type)
    if present is None:
        return (*conditions, msgspec.structs.replace(wanted, last_transition_time=now))
    since = present.last_transition_time if present.status == wanted.status else now
    wanted = msgspec.structs.replace(wanted, last_transition_time=since)
    if wanted == present:
        return conditions
    return tuple(wanted if condition is present else condition for condition in conditions)
