"""Which snapshot a claim waits for."""

from typing import Any

import pytest

from mooring.controllers.snapshots.informers import restored_by
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.wire import read_document

SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snap"}

CASES: dict[str, tuple[dict[str, Any], str, set[Key]]] = {
    "its own namespace": ({"dataSource": SNAPSHOT}, "Pending", {Key("ns", "snap")}),
    "its own namespace, by name": (
        {"dataSourceRef": SNAPSHOT | {"namespace": "ns"}},
        "Pending",
        {Key("ns", "snap")},
    ),
    "another namespace, whose snapshots it must not hold": (
        {"dataSourceRef": SNAPSHOT | {"namespace": "vault"}},
        "Pending",
        set(),
    ),
    "it has its volume": ({"dataSource": SNAPSHOT}, "Bound", set()),
    "another kind": ({"dataSourceRef": SNAPSHOT | {"kind": "Book"}}, "Pending", set()),
    "nothing": ({}, "Pending", set()),
}


@pytest.mark.parametrize(("spec", "phase", "keys"), CASES.values(), ids=CASES)
def test_a_claim_waits_for(spec: dict[str, Any], phase: str, keys: set[Key]) -> None:
    metadata = {"name": "copy", "namespace": "ns"}
    doc = {"metadata": metadata, "spec": spec, "status": {"phase": phase}}
    assert set(restored_by(read_document(doc, Claim))) == keys
