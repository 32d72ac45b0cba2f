from typing import Any

import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.metadata import (
    MOST_ANNOTATION_BYTES,
    drop_duplicate_owners,
    validate_annotations,
    validate_labels,
    validate_metadata,
    validate_metadata_update,
)
from mooring.model.document import Doc
from mooring.model.names import dns_label, path_segment
from tests.unit.apiserver.kinds.writing import (
    NO_KEY,
    NO_LABEL,
    NO_SUBDOMAIN,
    NO_VALUE,
    merged,
)

THING = Kind(
    group="", version="v1", kind="Thing", plural="things", message="x.Thing", namespaced=True
)
WIDE_THING = Kind(
    group="", version="v1", kind="Wide", plural="wides", message="x.Wide", namespaced=False
)
SPACE = Kind(
    group="",
    version="v1",
    kind="Space",
    plural="spaces",
    message="x.Space",
    namespaced=False,
    name_rule=dns_label,
)
LOOSE_THING = Kind(
    group="",
    version="v1",
    kind="Loose",
    plural="looses",
    message="x.Loose",
    namespaced=True,
    name_rule=path_segment,
)
CUSTOM_THING = Kind(
    group="x.io",
    version="v1",
    kind="Custom",
    plural="customs",
    message="x.Custom",
    namespaced=True,
    custom=True,
)

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1"}
NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def problems(metadata: Doc, kind: Kind = THING) -> list[str]:
    given = merged({"name": "a", "namespace": "default"}, metadata)
    return [str(error) for error in validate_metadata({"metadata": given}, kind)]


NAMES: dict[str, tuple[Kind, Doc, list[str]]] = {
    "a DNS subdomain is a name": (THING, {"name": "my.thing-1"}, []),
    "a name is required": (
        THING,
        {"name": None},
        ["metadata.name: Required value: name or generateName is required"],
    ),
    "an empty name is none": (
        THING,
        {"name": ""},
        ["metadata.name: Required value: name or generateName is required"],
    ),
    "capitals and underscores are refused": (
        THING,
        {"name": "Bad_Name"},
        [f'metadata.name: Invalid value: "Bad_Name": {NO_SUBDOMAIN}'],
    ),
    "a path is no name": (
        THING,
        {"name": "../etc"},
        [f'metadata.name: Invalid value: "../etc": {NO_SUBDOMAIN}'],
    ),
    "253 characters are the most": (THING, {"name": "a" * 253}, []),
    "254 characters are too many": (
        THING,
        {"name": "a" * 254},
        [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 characters'],
    ),
    "some kinds take only a DNS label": (
        SPACE,
        {"name": "a.b", "namespace": None},
        ['metadata.name: Invalid value: "a.b": must not contain dots'],
    ),
    "some kinds take whatever fits into a path": (LOOSE_THING, {"name": "Web.17f_!"}, []),
    "but never the path itself": (
        LOOSE_THING,
        {"name": "a/b"},
        ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
    "a prefix may end in a dash, as something follows": (
        THING,
        {"name": "gn-x2x2x", "generateName": "gn-"},
        [],
    ),
    "a prefix of nothing but a dash leads to no name": (
        THING,
        {"generateName": "-"},
        [f'metadata.generateName: Invalid value: "-": {NO_SUBDOMAIN}'],
    ),
    "a prefix that is no start of a name is refused, and so is the name": (
        THING,
        {"name": "Gn-x2x2x", "generateName": "Gn-"},
        [
            f'metadata.generateName: Invalid value: "Gn-": {NO_SUBDOMAIN}',
            f'metadata.name: Invalid value: "Gn-x2x2x": {NO_SUBDOMAIN}',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "metadata", "complaints"), NAMES.values(), ids=NAMES)
def test_names(kind: Kind, metadata: Doc, complaints: list[str]) -> None:
    assert problems(metadata, kind) == complaints


METADATA: dict[str, tuple[Kind, Doc, list[str]]] = {
    "a namespaced object has a namespace": (
        THING,
        {"namespace": None},
        ["metadata.namespace: Required value"],
    ),
    "which is a DNS label": (
        THING,
        {"namespace": "Not_A_Name"},
        [f'metadata.namespace: Invalid value: "Not_A_Name": {NO_LABEL}'],
    ),
    "a cluster-wide object has none": (
        WIDE_THING,
        {},
        ["metadata.namespace: Forbidden: not allowed on this type"],
    ),
    "generation never goes below zero": (
        THING,
        {"generation": -1},
        ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "a label may have a domain, and an empty value": (
        THING,
        {"labels": {"example.com/App.name_1": "", "app": "web"}},
        [],
    ),
    "a label's key is qualified": (
        THING,
        {"labels": {"not a key": "x"}},
        [f'metadata.labels: Invalid value: "not a key": {NO_KEY}'],
    ),
    "a label's value is one word": (
        THING,
        {"labels": {"app": "not a value"}},
        [f'metadata.labels: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "63 bytes are the most for a label's value": (
        THING,
        {"labels": {"app": "v" * 63}},
        [],
    ),
    "64 bytes are too many for a label's value": (
        THING,
        {"labels": {"app": "v" * 64}},
        [f'metadata.labels: Invalid value: "{"v" * 64}": must be no more than 63 bytes'],
    ),
    "an annotation's key may use capitals in its domain": (
        THING,
        {"annotations": {"Example.COM/Key": "anything at all"}},
        [],
    ),
    "an annotation's key is qualified otherwise": (
        THING,
        {"annotations": {"not a key": ""}},
        [f'metadata.annotations: Invalid value: "not a key": {NO_KEY}'],
    ),
    "annotations take 256 KiB": (
        THING,
        {"annotations": {"k": "x" * (MOST_ANNOTATION_BYTES - 1)}},
        [],
    ),
    "annotations take no more": (
        THING,
        {"annotations": {"k": "x" * MOST_ANNOTATION_BYTES}},
        ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ),
    "annotations are counted in bytes, not characters": (
        THING,
        {"annotations": {"k": "é" * (MOST_ANNOTATION_BYTES // 2)}},
        ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ),
}


@pytest.mark.parametrize(("kind", "metadata", "complaints"), METADATA.values(), ids=METADATA)
def test_namespace_labels_and_annotations(kind: Kind, metadata: Doc, complaints: list[str]) -> None:
    assert problems(metadata, kind) == complaints


FINALIZERS: dict[str, tuple[Kind, list[str], list[str]]] = {
    "a finalizer has a domain": (THING, ["kubernetes.io/pvc-protection"], []),
    "or is one of three": (THING, ["kubernetes", "orphan"], []),
    "a plain word is none": (
        THING,
        ["example.com/ok", "word"],
        [f'metadata.finalizers[1]: Invalid value: "word": {NOT_QUALIFIED}'],
    ),
    "in a kind from a CRD a plain word is one": (CUSTOM_THING, ["word"], []),
    "whatever the kind, it is qualified": (
        CUSTOM_THING,
        ["not a key"],
        [f'metadata.finalizers: Invalid value: "not a key": {NO_KEY}'],
    ),
    "dependents are orphaned or deleted, not both": (
        THING,
        ["orphan", "foregroundDeletion"],
        [
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        ],
    ),
}


@pytest.mark.parametrize(("kind", "finalizers", "complaints"), FINALIZERS.values(), ids=FINALIZERS)
def test_finalizers(kind: Kind, finalizers: list[str], complaints: list[str]) -> None:
    assert problems({"finalizers": finalizers}, kind) == complaints


def owner(**fields: Any) -> Doc:
    return merged(OWNER, fields)


OWNERS: dict[str, tuple[list[Doc], list[str]]] = {
    "an owner is named fully": ([OWNER], []),
    "one of them may be the controller": ([owner(controller=True), owner(uid="u-2")], []),
    "what is missing is told without an index": (
        [{}],
        [
            'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
            'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
            'metadata.ownerReferences.name: Invalid value: "": must not be empty',
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ],
    ),
    "a group without a version is not enough": (
        [owner(apiVersion="apps/")],
        ['metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty'],
    ),
    "an API version has two parts at most": (
        [owner(apiVersion="a/b/c")],
        ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
    ),
    "events own nothing": (
        [owner(kind="Event")],
        [
            "metadata.ownerReferences: Invalid value: "
            '{"apiVersion":"v1","kind":"Event","name":"web","uid":"u-1"}: '
            "/v1, Kind=Event is disallowed from being an owner"
        ],
    ),
}


@pytest.mark.parametrize(("owners", "complaints"), OWNERS.values(), ids=OWNERS)
def test_owners(owners: list[Doc], complaints: list[str]) -> None:
    assert problems({"ownerReferences": owners}) == complaints


def test_two_controllers_are_one_too_many() -> None:
    owners = [owner(controller=True), owner(controller=True, name="db", uid="u-2")]
    (complaint,) = problems({"ownerReferences": owners})
    assert complaint.startswith("metadata.ownerReferences: Invalid value: [{")
    assert complaint.endswith(
        "Only one reference can have Controller set to true. "
        'Found "true" in references for Pod/web and Pod/db'
    )


STORED = {
    "name": "a",
    "namespace": "default",
    "uid": "u-1",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "generation": 2,
    "labels": {"app": "web"},
    "finalizers": ["example.com/one"],
}
DYING = {**STORED, "deletionTimestamp": "2026-01-02T00:00:00Z", "deletionGracePeriodSeconds": 0}

CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "labels may change": (STORED, {"labels": {"app": "db"}}, []),
    "to good ones": (
        STORED,
        {"labels": {"app": "not a value"}},
        [f'metadata.labels: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "so may annotations": (
        STORED,
        {"annotations": {"not a key": "x"}},
        [f'metadata.annotations: Invalid value: "not a key": {NO_KEY}'],
    ),
    "and owners": (
        STORED,
        {"ownerReferences": [{**OWNER, "uid": ""}]},
        ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    ),
    "a name is for ever": (
        STORED,
        {"name": "b"},
        ['metadata.name: Invalid value: "b": field is immutable'],
    ),
    "a namespace is for ever": (
        STORED,
        {"namespace": "other"},
        ['metadata.namespace: Invalid value: "other": field is immutable'],
    ),
    "a uid is for ever": (
        STORED,
        {"uid": "u-2"},
        ['metadata.uid: Invalid value: "u-2": field is immutable'],
    ),
    "the birthday is for ever": (
        STORED,
        {"creationTimestamp": "2025-01-01T00:00:00Z"},
        ['metadata.creationTimestamp: Invalid value: "2025-01-01T00:00:00Z": field is immutable'],
    ),
    "a deletion cannot be taken back": (
        DYING,
        {"deletionTimestamp": None},
        ["metadata.deletionTimestamp: Invalid value: null: field is immutable"],
    ),
    "generation never goes back": (
        STORED,
        {"generation": 1},
        ["metadata.generation: Invalid value: 1: must not be decremented"],
    ),
    "finalizers may join while it lives": (
        STORED,
        {"finalizers": ["example.com/one", "example.com/two"]},
        [],
    ),
    "good ones": (
        STORED,
        {"finalizers": ["word"]},
        [f'metadata.finalizers[0]: Invalid value: "word": {NOT_QUALIFIED}'],
    ),
    "none may join once it is being deleted": (
        DYING,
        {"finalizers": ["example.com/two", "example.com/one", "example.com/three"]},
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
            'being deleted, found new finalizers []string{"example.com/three", "example.com/two"}'
        ],
    ),
    "and what is wrong with them is told around that": (
        DYING,
        {"finalizers": ["example.com/one", "not a name"]},
        [
            f'metadata.finalizers: Invalid value: "not a name": {NO_KEY}',
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
            'being deleted, found new finalizers []string{"not a name"}',
            f'metadata.finalizers[1]: Invalid value: "not a name": {NOT_QUALIFIED}',
        ],
    ),
    "they may leave then": (DYING, {"finalizers": None}, []),
}


@pytest.mark.parametrize(("stored", "patch", "complaints"), CHANGES.values(), ids=CHANGES)
def test_changes(stored: Doc, patch: Doc, complaints: list[str]) -> None:
    new, old = {"metadata": merged(stored, patch)}, {"metadata": stored}
    assert [str(e) for e in validate_metadata_update(new, old, THING)] == complaints


def test_what_did_not_change_is_not_judged_again() -> None:
    old = {"metadata": {**STORED, "labels": {"once": "was allowed, is no longer"}}}
    assert list(validate_metadata_update(old, old, THING)) == []


def test_labels_elsewhere_are_told_at_their_path() -> None:
    (complaint,) = validate_labels({"app": "not a value"}, "spec.nodeSelector")
    assert str(complaint) == f'spec.nodeSelector: Invalid value: "not a value": {NO_VALUE}'


def test_annotations_elsewhere_are_told_at_their_path() -> None:
    (complaint,) = validate_annotations({"not a key": ""}, "spec.template.annotations")
    assert str(complaint) == f'spec.template.annotations: Invalid value: "not a key": {NO_KEY}'


DUPLICATES: dict[str, tuple[list[Doc], list[Doc], bool]] = {
    "the same owner twice is one owner": ([OWNER, OWNER], [OWNER], True),
    "the same owner in two roles is two": (
        [OWNER, owner(controller=True)],
        [OWNER, owner(controller=True)],
        False,
    ),
    "a single owner stays": ([OWNER], [OWNER], False),
}


@pytest.mark.parametrize(("owners", "kept", "warned"), DUPLICATES.values(), ids=DUPLICATES)
def test_duplicate_owners_are_dropped(owners: list[Doc], kept: list[Doc], *, warned: bool) -> None:
    doc: Doc = {"metadata": {"ownerReferences": owners}}
    warning = drop_duplicate_owners(doc)
    assert doc["metadata"]["ownerReferences"] == kept
    assert (warning is not None) == warned
    assert warning is None or warning.endswith("duplicate UID(s) observed: u-1")
