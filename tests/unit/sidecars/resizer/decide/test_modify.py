"""What is done about a claim that asks for another attributes class, and about the answer."""

import pytest
from msgspec.structs import replace

from mooring.csi.outcome import TABLES, Code, Done, Uncertain, judge
from mooring.model import modification
from mooring.model.claim import Claim
from mooring.model.steps import Emit, Fail
from mooring.sidecars.driver import Abilities
from mooring.sidecars.resizer.decide.modify import decide_modified, decide_modify
from mooring.sidecars.resizer.plan import (
    Cancel,
    Complete,
    Later,
    MarkModifyFailed,
    MarkModifyInfeasible,
    MarkPending,
    Modify,
    ModifyStep,
    NameClass,
    RejectClass,
)
from mooring.sidecars.resizer.view import ClassPause
from tests.unit.sidecars.resizer.claims import (
    THEN,
    a_claim,
    a_class,
    a_view,
    a_volume,
    told,
    with_class,
)

BARE = a_claim("1Gi")
FAILED = replace(
    BARE,
    status=replace(
        BARE.status, conditions=(told("ModifyingVolume"), told("ModifyVolumeError", "Internal"))
    ),
)
LATER = "2026-01-02T03:05:00Z"
RENEWED = replace(
    BARE,
    status=replace(
        BARE.status,
        conditions=(told("ModifyingVolume", at=LATER), told("ModifyVolumeError", "Internal")),
    ),
)
DOUBTED = replace(
    BARE,
    status=replace(
        BARE.status,
        conditions=(told("ModifyingVolume"), told("ModifyVolumeError", "DeadlineExceeded")),
    ),
)
CLASSES = {name: a_class(name) for name in "abc"}


def decided(claim: Claim, **more: object) -> tuple[ModifyStep, ...]:
    """The classes a, b and c are there."""
    wanted = CLASSES.get(claim.spec.volume_attributes_class_name or "")
    target = CLASSES.get(modification.find_target(claim.status))
    known = {"wanted_class": wanted, "target_class": target} | more
    return decide_modify(a_view(claim, a_volume(), **known)).steps


def asked(steps: tuple[ModifyStep, ...]) -> str:
    """The class that the driver is asked for."""
    (step,) = steps
    assert isinstance(step, Modify)
    return step.attributes.name


ROWS = {
    "none, and has it": (with_class(BARE, "a", "a"), ""),
    "none, asks for another": (with_class(BARE, "b", "a"), "b"),
    "none, asks for its first": (with_class(BARE, "b", ""), "b"),
    "pending": (with_class(BARE, "b", "a", "Pending"), "b"),
    "pending, back": (with_class(BARE, "a", "a", "Pending"), "a"),
    "under way": (with_class(BARE, "b", "a", "InProgress", "b"), "b"),
    "under way, asks for another": (with_class(BARE, "c", "a", "InProgress", "b"), "b"),
    "under way, asks for none": (with_class(BARE, "", "", "InProgress", "b"), "b"),
    "doubted, asks for another": (with_class(DOUBTED, "c", "a", "InProgress", "b"), "b"),
    "failed": (with_class(FAILED, "b", "a", "InProgress", "b"), "b"),
    "failed, asks for another": (with_class(FAILED, "c", "a", "InProgress", "b"), "c"),
    "failed, back": (with_class(FAILED, "a", "a", "InProgress", "b"), "a"),
    "failed, asks for none": (with_class(FAILED, "", "", "InProgress", "b"), "b"),
    "failed, begun anew by upstream's resizer": (
        with_class(RENEWED, "c", "a", "InProgress", "b"),
        "b",
    ),
    "infeasible, after the pause": (with_class(FAILED, "b", "a", "Infeasible", "b"), "b"),
    "infeasible, asks for another": (with_class(FAILED, "c", "a", "Infeasible", "b"), "c"),
    "infeasible, back": (with_class(FAILED, "a", "a", "Infeasible", "b"), "a"),
    "a state that nobody knows": (with_class(BARE, "b", "a", "Odd", "b"), ""),
}


@pytest.mark.parametrize(("claim", "name"), ROWS.values(), ids=ROWS)
def test_the_class_that_is_asked_for(claim: Claim, name: str) -> None:
    steps = decided(claim)
    assert (asked(steps) if steps else "") == name


def test_an_infeasible_class_waits_and_one_made_anew_does_not() -> None:
    claim = with_class(FAILED, "b", "a", "Infeasible", "b")
    assert decided(claim, class_pause=ClassPause("uid-b", 200.0)) == (Later(200.0),)
    assert asked(decided(claim, class_pause=ClassPause("uid-of-the-old-b", 200.0))) == "b"


@pytest.mark.parametrize("state", ["Pending", "Infeasible"])
def test_a_claim_that_asks_for_none_is_left_in_peace(state: str) -> None:
    claim = with_class(FAILED, "", "", state, "b")
    steps = decided(claim)
    assert steps[0] == Cancel(claim)
    assert isinstance(steps[1], Emit)
    assert decided(with_class(BARE, "", "a")) == ()


def test_a_class_that_is_missing_is_pending_and_told() -> None:
    claim = with_class(BARE, "b", "a")
    steps = decided(claim, wanted_class=None)
    assert steps[0] == MarkPending(claim)
    assert isinstance(steps[1], Emit)
    assert steps[1].reason == "VolumeModifyFailed"


def test_a_class_of_another_driver_is_infeasible_and_told() -> None:
    claim = with_class(BARE, "b", "a")
    steps = decided(claim, wanted_class=a_class("b", "other"))
    assert isinstance(steps[0], RejectClass)
    assert steps[0].name == "b"
    assert isinstance(steps[1], Emit)
    assert steps[1].reason == "VolumeModifyFailed"


def test_a_class_in_the_making_stays_on_record_when_it_is_gone() -> None:
    steps = decided(with_class(BARE, "c", "a", "InProgress", "b"), target_class=None)
    assert [type(step) for step in steps] == [Emit]


def test_what_is_left_alone() -> None:
    claim = with_class(BARE, "b", "a")
    assert decide_modify(a_view(claim, None)).steps == ()
    assert decide_modify(a_view(claim, a_volume(uid="u0"))).steps == ()
    assert decide_modify(a_view(claim, a_volume(), driver="other")).steps == ()
    steps = decided(claim, abilities=Abilities())
    assert [type(step) for step in steps] == [Emit]


# the driver's answer

STEP = Modify(BARE, a_volume(), CLASSES["b"], "h1", {"tier": "b"}, None)
DOUBTFUL = {
    *(Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED),
    *(Code.ABORTED, Code.UNAVAILABLE),
}


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_each_code(code: Code) -> None:
    outcome = judge(TABLES["ControllerModifyVolume"], code, "no")
    steps = decide_modified(STEP, BARE, a_volume(), outcome).steps
    if code is Code.INVALID_ARGUMENT:
        assert steps[0] == MarkModifyInfeasible(BARE, code.label, "no", "uid-b")
        assert [type(step) for step in steps[1:]] == [Emit]
    else:
        is_final = code not in DOUBTFUL
        assert steps[0] == MarkModifyFailed(BARE, code.label, "no", is_final)
        assert [type(step) for step in steps[1:]] == [Emit, Fail]


@pytest.mark.parametrize("code", [*Code, None])
def test_what_is_on_record_of_an_answer_says_whether_it_was_final(code: Code | None) -> None:
    if code is Code.OK:
        return
    table = TABLES["ControllerModifyVolume"]
    outcome = judge(table, code, "no") if code is not None else Uncertain(None, "gibberish")
    (mark, *_) = decide_modified(STEP, BARE, a_volume(), outcome).steps
    if isinstance(mark, MarkModifyInfeasible):
        return
    assert isinstance(mark, MarkModifyFailed)
    started = modification.start(BARE.status, "b", THEN)
    assert not modification.is_answered(started)
    write = modification.fail if mark.is_final else modification.doubt
    status = write(started, mark.code, mark.message, THEN)
    assert modification.is_answered(status) == mark.is_final
    assert not modification.is_answered(modification.start(status, "b", THEN))


def test_success_is_on_the_volume_before_the_claim() -> None:
    steps = decide_modified(STEP, BARE, a_volume(), Done(None)).steps
    assert steps[:2] == (NameClass(a_volume(), "b"), Complete(BARE, "b"))
