"""What each answer to CreateVolume means; one row for every status code."""

import pytest

from mooring.csi.outcome import TABLES, Code, Done, Uncertain, judge
from mooring.csi.requests import CreateVolume
from mooring.csi.volume import CapacityRange, FromVolume, Volume
from mooring.model.claim import Claim
from mooring.model.storage_class import StorageClass
from mooring.sidecars.provisioner.decide.reply import (
    Elsewhere,
    Good,
    Maybe,
    Never,
    NotNow,
    Unfit,
    judge_reply,
    judge_settling,
)
from mooring.sidecars.provisioner.draft import Draft, SecretReferences


def a_draft(source: FromVolume | None = None) -> Draft:
    request = CreateVolume("pvc-1", (), CapacityRange(required_bytes=10), source=source)
    return Draft(Claim(), StorageClass(), request, SecretReferences(), "")


CODES: dict[Code, type] = {
    Code.CANCELLED: Maybe,
    Code.UNKNOWN: NotNow,
    Code.INVALID_ARGUMENT: Never,
    Code.DEADLINE_EXCEEDED: Maybe,
    Code.NOT_FOUND: NotNow,
    Code.ALREADY_EXISTS: Maybe,
    Code.PERMISSION_DENIED: NotNow,
    Code.RESOURCE_EXHAUSTED: NotNow,
    Code.FAILED_PRECONDITION: NotNow,
    Code.ABORTED: Maybe,
    Code.OUT_OF_RANGE: NotNow,
    Code.UNIMPLEMENTED: NotNow,
    Code.INTERNAL: NotNow,
    Code.UNAVAILABLE: Maybe,
    Code.DATA_LOSS: NotNow,
    Code.UNAUTHENTICATED: NotNow,
}


def test_every_code_has_a_row() -> None:
    assert set(CODES) == set(Code) - {Code.OK}


@pytest.mark.parametrize(("code", "expected"), CODES.items(), ids=[code.name for code in CODES])
def test_a_code(code: Code, expected: type) -> None:
    outcome = judge(TABLES["CreateVolume"], code, "text")
    assert isinstance(judge_reply(a_draft(), outcome, may_reschedule=False), expected)


AFTER_DOUBT: dict[Code, type] = {
    **dict.fromkeys(CODES, Maybe),
    Code.INVALID_ARGUMENT: Never,
    Code.OUT_OF_RANGE: NotNow,
    Code.RESOURCE_EXHAUSTED: NotNow,
}


@pytest.mark.parametrize(("code", "expected"), AFTER_DOUBT.items(), ids=[c.name for c in CODES])
def test_a_code_after_an_unclear_answer(code: Code, expected: type) -> None:
    outcome = judge(TABLES["CreateVolume"], code, "text")
    judged = judge_reply(a_draft(), outcome, may_reschedule=False, after_doubt=True)
    assert isinstance(judged, expected)


@pytest.mark.parametrize("as_before", [True, False], ids=["same words", "other words"])
@pytest.mark.parametrize("code", CODES, ids=[code.name for code in CODES])
def test_a_code_while_it_is_found_out_whether_there_is_a_volume(
    code: Code, *, as_before: bool
) -> None:
    outcome = judge(TABLES["CreateVolume"], code, "text")
    is_none = as_before and code in (Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE)
    judged = judge_settling(a_draft(), outcome, is_as_before=as_before)
    assert isinstance(judged, Never if is_none else Maybe)


def test_no_room_with_a_chosen_node_asks_for_another() -> None:
    outcome = judge(TABLES["CreateVolume"], Code.RESOURCE_EXHAUSTED, "full")
    assert isinstance(judge_reply(a_draft(), outcome, may_reschedule=True), Elsewhere)


def test_an_answer_that_makes_no_sense_may_mean_anything() -> None:
    assert judge_reply(a_draft(), Uncertain(None, "what?"), may_reschedule=False) == Maybe("what?")


MADE: dict[str, tuple[FromVolume | None, Volume, type]] = {
    "as big as asked for": (None, Volume("v", 10), Good),
    "bigger": (None, Volume("v", 11), Good),
    "of a size that it does not tell": (None, Volume("v", 0), Good),
    "smaller": (None, Volume("v", 9), Unfit),
    "filled as asked for": (FromVolume("o"), Volume("v", 10, source=FromVolume("o")), Good),
    "not filled": (FromVolume("o"), Volume("v", 10), Unfit),
}


@pytest.mark.parametrize(("source", "made", "expected"), MADE.values(), ids=MADE)
def test_a_volume(source: FromVolume | None, made: Volume, expected: type) -> None:
    assert isinstance(judge_reply(a_draft(source), Done(made), may_reschedule=False), expected)
