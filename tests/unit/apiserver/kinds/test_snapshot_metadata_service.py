import pytest

from mooring.apiserver.kinds.snapshot_metadata_service import SNAPSHOT_METADATA_SERVICE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, merged

SERVICE: Doc = {
    "kind": "SnapshotMetadataService",
    "apiVersion": "cbt.storage.k8s.io/v1beta1",
    "metadata": {"name": "d.example.com", "creationTimestamp": BEFORE},
    "spec": {"address": "127.0.0.1:50051", "audience": "blocks", "caCert": "UEVN"},
}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a service is fine": ({}, []),
    "its spec is required": ({"spec": None}, ["spec: Required value"]),
    "all of its spec is required": (
        {"spec": {"address": None, "audience": None, "caCert": None}},
        [
            "spec.address: Required value",
            "spec.audience: Required value",
            "spec.caCert: Required value",
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(SNAPSHOT_METADATA_SERVICE, merged(SERVICE, patch)) == complaints
