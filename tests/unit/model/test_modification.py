"""How the change of a claim's attributes class is recorded."""

import pytest

from mooring.model import modification
from mooring.model.claim import Claim, ClaimSpec, ClaimStatus, ModifyStatus
from mooring.model.condition import Condition
from mooring.model.modification import status_patch

NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T03:05:00Z"
FOREIGN = Condition("Unused", "True")
HAS_A = ClaimStatus(current_volume_attributes_class_name="a", conditions=(FOREIGN,))


def messages(status: ClaimStatus) -> dict[str, str]:
    return {each.type: each.message for each in status.conditions}


def test_a_change_from_its_beginning_to_its_end() -> None:
    started = modification.start(HAS_A, "b", NOW)
    assert started.modify_volume_status == ModifyStatus("InProgress", "b")
    assert messages(started) == {
        "Unused": "",
        "ModifyingVolume": 'Modifying volume to "b" is in progress.',
    }
    done = modification.finish(started, "b")
    assert done == ClaimStatus(current_volume_attributes_class_name="b", conditions=(FOREIGN,))


def test_a_failed_attempt_is_told_and_forgotten_by_the_next() -> None:
    started = modification.start(HAS_A, "b", NOW)
    failed = modification.fail(started, "Internal", "no", NOW)
    assert failed.modify_volume_status == ModifyStatus("InProgress", "b")
    assert messages(failed)["ModifyingVolume"].endswith("failed. Waiting for retry.")
    assert messages(failed)["ModifyVolumeError"] == "no"
    again = modification.start(failed, "c", LATER)
    assert "ModifyVolumeError" not in messages(again)
    assert again.modify_volume_status == ModifyStatus("InProgress", "c")


def test_an_infeasible_class_keeps_its_name() -> None:
    refused = modification.refuse(modification.start(HAS_A, "b", NOW), "InvalidArgument", "no", NOW)
    assert refused.modify_volume_status == ModifyStatus("Infeasible", "b")
    assert modification.await_class(refused).modify_volume_status == ModifyStatus("Pending", "b")
    assert modification.cancel(refused) == HAS_A


def test_saying_the_same_again_changes_nothing() -> None:
    started = modification.start(HAS_A, "b", NOW)
    assert modification.start(started, "b", LATER) == started
    assert status_patch(started, started) == {}


def test_patches_hold_what_differs_and_remove_what_is_gone() -> None:
    started = modification.start(HAS_A, "b", NOW)
    patch = status_patch(HAS_A, started)
    assert sorted(patch) == ["conditions", "modifyVolumeStatus"]
    done = modification.finish(started, "b")
    assert status_patch(started, done) == {
        "currentVolumeAttributesClassName": "b",
        "modifyVolumeStatus": None,
        "conditions": [{"type": "Unused", "status": "True"}],
    }


@pytest.mark.parametrize(
    ("wanted", "current", "status", "is_open"),
    [
        (None, None, None, False),
        ("", None, None, False),
        ("a", "a", None, False),
        ("b", "a", None, True),
        ("a", "a", ModifyStatus("Infeasible", "b"), True),
    ],
)
def test_which_claims_are_open(
    wanted: str | None, current: str | None, status: ModifyStatus | None, *, is_open: bool
) -> None:
    claim = Claim(
        spec=ClaimSpec(volume_attributes_class_name=wanted),
        status=ClaimStatus(
            current_volume_attributes_class_name=current, modify_volume_status=status
        ),
    )
    assert modification.is_open(claim) == is_open
