import pytest

from mooring.apiserver.kinds.lease import LEASE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    create,
    created,
    merged,
    printed,
    update,
)

HELD: Doc = {
    "kind": "Lease",
    "apiVersion": "coordination.k8s.io/v1",
    "metadata": {"name": "n1", "namespace": "kube-node-lease", "creationTimestamp": BEFORE},
    "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40},
}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a lease is fine": ({}, []),
    "an empty lease is fine": ({"spec": None}, []),
    "a lease lasts": (
        {"spec": {"leaseDurationSeconds": 0}},
        ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    ),
    "it has changed hands never or more often": ({"spec": {"leaseTransitions": 0}}, []),
    "but not less often than never": (
        {"spec": {"leaseTransitions": -1}},
        ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(LEASE, merged(HELD, patch)) == complaints


def test_every_field_may_change() -> None:
    other = {"holderIdentity": "b", "leaseDurationSeconds": 1, "leaseTransitions": 1}
    assert update(LEASE, HELD, {"spec": other}) == []


def test_a_row() -> None:
    assert printed(LEASE, HELD) == {"Name": "n1", "Holder": "n1", "Age": "27h"}
    assert printed(LEASE, created(LEASE, merged(HELD, {"spec": None})))["Holder"] == ""


def test_elections_by_the_server_are_not_held() -> None:
    asked = {"spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "b"}}
    assert created(LEASE, merged(HELD, asked))["spec"] == HELD["spec"]
