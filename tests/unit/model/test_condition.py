"""Conditions: when the time of transition moves, and when nothing is written."""

import msgspec
import pytest

from mooring.model.condition import (
    Condition,
    find_condition,
    is_condition_true,
    set_condition,
)

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
READY = Condition("Ready", "True", "Fine", "all is well", EARLIER)
RESIZING = Condition("Resizing", "True", last_transition_time=EARLIER)
BOTH = (READY, RESIZING)

SET = {
    "a new type is added at the end, as of now": (
        Condition("Lost", "True"),
        (*BOTH, Condition("Lost", "True", last_transition_time=NOW)),
    ),
    "a changed status moves the time, in place": (
        Condition("Ready", "False", "Broken"),
        (Condition("Ready", "False", "Broken", last_transition_time=NOW), RESIZING),
    ),
    "a changed message leaves the time": (
        Condition("Ready", "True", "Fine", "still well"),
        (Condition("Ready", "True", "Fine", "still well", EARLIER), RESIZING),
    ),
    "a time in the wish counts for nothing": (
        Condition("Ready", "True", "Fine", "all is well", NOW),
        BOTH,
    ),
}


@pytest.mark.parametrize(("wanted", "expected"), SET.values(), ids=SET)
def test_set(wanted: Condition, expected: tuple[Condition, ...]) -> None:
    assert set_condition(BOTH, wanted, NOW) == expected


def test_no_change_gives_the_same_tuple() -> None:
    wanted = msgspec.structs.replace(READY, last_transition_time=None)
    assert set_condition(BOTH, wanted, NOW) is BOTH


def test_setting_leaves_the_old_tuple_alone() -> None:
    set_condition(BOTH, Condition("Ready", "False"), NOW)
    assert BOTH == (READY, RESIZING)


def test_find() -> None:
    assert find_condition(BOTH, "Resizing") is RESIZING
    assert find_condition(BOTH, "Lost") is None


@pytest.mark.parametrize(
    ("status", "truth"), [("True", True), ("False", False), ("Unknown", False)]
)
def test_only_true_is_true(status: str, truth: bool) -> None:  # noqa: FBT001 - a column
    assert is_condition_true((Condition("Ready", status),), "Ready") is truth


def test_an_absent_condition_is_not_true() -> None:
    assert not is_condition_true((), "Ready")
