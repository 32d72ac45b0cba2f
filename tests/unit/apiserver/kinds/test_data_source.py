import pytest

from mooring.apiserver.kinds.data_source import settle_data_sources, validate_data_sources
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import NO_LABEL, NO_SUBDOMAIN

CLAIM = {"kind": "PersistentVolumeClaim", "name": "old"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
POPULATOR = {"apiGroup": "example.com", "kind": "Picture", "name": "p"}
FOREIGN = {**SNAPSHOT, "namespace": "other"}

CREATED: dict[str, tuple[Doc, Doc]] = {
    "no source stays none": ({}, {}),
    "a claim is copied to the newer field": (
        {"dataSource": CLAIM},
        {"dataSource": CLAIM, "dataSourceRef": CLAIM},
    ),
    "a snapshot is copied to the newer field": (
        {"dataSource": SNAPSHOT},
        {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT},
    ),
    "any kind in the newer field is copied to the older": (
        {"dataSourceRef": POPULATOR},
        {"dataSource": POPULATOR, "dataSourceRef": POPULATOR},
    ),
    "any other kind in the older field alone is dropped": ({"dataSource": POPULATOR}, {}),
    "a snapshot of another group is dropped": (
        {"dataSource": {**SNAPSHOT, "apiGroup": "example.com"}},
        {},
    ),
    "with both given, none is dropped": (
        {"dataSource": POPULATOR, "dataSourceRef": SNAPSHOT},
        {"dataSource": POPULATOR, "dataSourceRef": SNAPSHOT},
    ),
    "a reference into another namespace is dropped": ({"dataSourceRef": FOREIGN}, {}),
    "what stands beside a foreign reference takes its place": (
        {"dataSourceRef": FOREIGN, "dataSource": SNAPSHOT},
        {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT},
    ),
}


@pytest.mark.parametrize(("given", "then"), CREATED.values(), ids=CREATED)
def test_sources_of_a_new_claim(given: Doc, then: Doc) -> None:
    spec = dict(given)
    settle_data_sources(spec)
    assert spec == then


UPDATED: dict[str, tuple[Doc, Doc, Doc]] = {
    "an old client that knows one field gets the other back": (
        {"dataSource": POPULATOR},
        {"dataSource": POPULATOR, "dataSourceRef": POPULATOR},
        {"dataSource": POPULATOR, "dataSourceRef": POPULATOR},
    ),
    "a claim stored with one field gets the other": (
        {"dataSource": POPULATOR},
        {"dataSource": POPULATOR},
        {"dataSource": POPULATOR, "dataSourceRef": POPULATOR},
    ),
    "a claim without a source does not get an odd one later": ({"dataSource": POPULATOR}, {}, {}),
    "a stored foreign reference is kept": (
        {"dataSourceRef": FOREIGN},
        {"dataSourceRef": FOREIGN},
        {"dataSourceRef": FOREIGN},
    ),
}


@pytest.mark.parametrize(("given", "old", "then"), UPDATED.values(), ids=UPDATED)
def test_sources_of_a_stored_claim(given: Doc, old: Doc, then: Doc) -> None:
    spec = dict(given)
    settle_data_sources(spec, old)
    assert spec == then


def test_the_two_fields_do_not_share_one_document() -> None:
    spec: Doc = {"dataSource": dict(CLAIM)}
    settle_data_sources(spec)
    spec["dataSourceRef"]["name"] = "new"
    assert spec["dataSource"]["name"] == "old"


VALIDATED: dict[str, tuple[Doc, list[str]]] = {
    "equal ones are fine": ({"dataSource": CLAIM, "dataSourceRef": CLAIM}, []),
    "different ones are refused": (
        {"dataSource": CLAIM, "dataSourceRef": SNAPSHOT},
        ["spec: Invalid value: {}: must match dataSourceRef"],
    ),
    "name and kind are required": (
        {"dataSource": {"apiGroup": "example.com"}},
        ["spec.dataSource.name: Required value", "spec.dataSource.kind: Required value"],
    ),
    "the core group has only claims": (
        {"dataSourceRef": {"kind": "Secret", "name": "s"}},
        [
            'spec.dataSourceRef: Invalid value: "Secret": must be '
            "'PersistentVolumeClaim' when referencing the default apiGroup"
        ],
    ),
    "a group is a DNS name": (
        {"dataSourceRef": {**POPULATOR, "apiGroup": "Not_A_Name"}},
        [f'spec.dataSourceRef.apiGroup: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a foreign reference stands alone": (
        {"dataSource": SNAPSHOT, "dataSourceRef": FOREIGN},
        ["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"],
    ),
    "a namespace is a DNS label": (
        {"dataSourceRef": {**SNAPSHOT, "namespace": "Not_A_Name"}},
        [f'spec.dataSourceRef.namespace: Invalid value: "Not_A_Name": {NO_LABEL}'],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), VALIDATED.values(), ids=VALIDATED)
def test_validation(spec: Doc, complaints: list[str]) -> None:
    assert [str(e) for e in validate_data_sources(spec, "spec")] == complaints
