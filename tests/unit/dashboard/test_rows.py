"""Rows: what the page needs of an object, whatever is in it."""

import json
from typing import Any

import pytest

from mooring.dashboard.kinds import SHOWN
from mooring.dashboard.rows import MOST_TEXT, row_of
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.meta import ApiObject
from mooring.model.volume import Volume
from mooring.model.wire import read_document

META = {"name": "x", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"}


def row(kind: type[ApiObject], **body: Any) -> dict[str, Any]:
    made = row_of(read_document({"metadata": META, **body}, kind))
    assert made is not None
    return made


def test_a_claim_has_sizes_in_bytes() -> None:
    made = row(
        Claim,
        spec={"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"},
        status={"phase": "Bound", "capacity": {"storage": "2Gi"}},
    )
    assert (made["size"], made["capacity"], made["phase"]) == (1 << 30, 2 << 30, "Bound")
    assert (made["class"], made["id"]) == ("fast", "team/x")


def test_a_size_that_is_none_is_not_known() -> None:
    assert row(Claim, spec={"resources": {"requests": {"storage": "many"}}})["size"] is None


def test_a_volume_names_its_claim_and_its_driver() -> None:
    spec = {"claimRef": {"namespace": "team", "name": "data"}, "nfs": {"server": "s", "path": "/"}}
    made = row(Volume, spec=spec, status={"phase": "Released"})
    assert (made["claim"], made["driver"], made["csi"]) == ("team/data", "nfs", False)


def test_a_long_message_is_cut() -> None:
    error = {"attachError": {"message": "x" * 10_000}}
    made = row(Attachment, spec={"attacher": "d", "nodeName": "n"}, status=error)
    assert len(made["error"]) == MOST_TEXT + 1


POD = SHOWN["pods"]
STATES = {
    "running": ({"running": {"startedAt": "then"}}, "running"),
    "ended": ({"terminated": {"exitCode": 3, "reason": "Error"}}, "terminated"),
    "waiting": ({"waiting": {"reason": "ContainerCreating"}}, "waiting"),
    "nothing said": ({}, "waiting"),
}


@pytest.mark.parametrize(("state", "word"), STATES.values(), ids=STATES)
def test_the_state_of_a_container(state: dict[str, Any], word: str) -> None:
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    status = {"containerStatuses": [{"name": "main", "state": state}]}
    made = row(POD, spec={"volumes": volumes}, status=status)
    assert made["containers"][0]["state"] == word
    assert made["claims"] == ["team/data", "team/x-scratch"]


@pytest.mark.parametrize("sort", ["waiting", "terminated"])
def test_nothing_that_a_kubelet_says_is_without_a_bound(sort: str) -> None:
    said = {"reason": "r" * 10_000, "message": "m" * 10_000}
    condition = {"type": "Ready", "status": "False", **said}
    main = {"name": "main", "state": {sort: said}}
    status = {"reason": said["reason"], "conditions": [condition], "containerStatuses": [main]}
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    made = row(POD, spec={"volumes": volumes}, status=status)
    assert len(json.dumps(made)) < 6 * MOST_TEXT


def test_something_being_deleted_says_what_holds_it() -> None:
    meta = {**META, "deletionTimestamp": "then", "finalizers": ["a/b"]}
    made = row_of(read_document({"metadata": meta}, Claim))
    assert made is not None
    assert (made["deleting"], made["finalizers"]) == ("then", ["a/b"])
