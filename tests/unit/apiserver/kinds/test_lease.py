import pytest

from mooring.apiserver.kinds.contract import Doc
from mooring.apiserver.kinds.lease import LEASE
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
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
    "the known strategy is fine": (
        {"spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "b"}},
        [],
    ),
    "a strategy in a domain is fine": ({"spec": {"strategy": "example.com/mine"}}, []),
    "an unknown strategy is named": (
        {"spec": {"strategy": "Youngest"}},
        [
            'spec.strategy: Unsupported value: "Youngest": '
            'supported values: "OldestEmulationVersion"'
        ],
    ),
    "a strategy in a domain has a qualified name": (
        {"spec": {"strategy": "example.com/not a key"}},
        [f'spec.strategy: Invalid value: "example.com/not a key": {NO_KEY}'],
    ),
    "a preference needs a strategy": (
        {"spec": {"preferredHolder": "b"}},
        ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
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
