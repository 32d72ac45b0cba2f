"""The rules of CustomResourceDefinitions, a row for each mistake."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from mooring.apiserver.kinds.contract import Context
from mooring.apiserver.kinds.definition.definition import DEFINITION, FINALIZER
from tests.fakes.definitions import SCHEMA, Doc, a_definition, a_version

CONTEXT = Context(now="2026-01-02T03:04:05Z")


def prepared(definition: Doc) -> Doc:
    doc = deepcopy(definition)
    DEFINITION.defaults(doc)
    DEFINITION.prepare_create(doc, CONTEXT)
    return doc


def complaints(definition: Doc) -> list[str]:
    return [str(error) for error in DEFINITION.validate(prepared(definition))]


def test_a_good_definition_has_nothing_wrong() -> None:
    assert complaints(a_definition()) == []


def with_spec(**spec: object) -> Doc:
    definition = a_definition()
    definition["spec"] |= spec
    return definition


def with_version(**changes: object) -> Doc:
    return a_definition(versions=[{**a_version(), **changes}])


def with_names(**names: object) -> Doc:
    definition = a_definition()
    definition["spec"]["names"] |= names
    return definition


COLUMN = {"name": "A", "type": "string", "jsonPath": ".a"}
SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
LONG = "x" * 257
LABEL = "a DNS-1035 label must consist of lower case alphanumeric characters"

MISTAKES: dict[str, tuple[Doc, str]] = {
    "another name": (
        {**a_definition(), "metadata": {"name": "x.example.com"}},
        'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
    ),
    "no group": (with_spec(group=""), "spec.group: Required value"),
    "a group without dots": (
        with_spec(group="g"),
        'spec.group: Invalid value: "g": should be a domain with at least one dot',
    ),
    "no scope": (with_spec(scope=""), "spec.scope: Required value"),
    "an unknown scope": (
        with_spec(scope="x"),
        'spec.scope: Unsupported value: "x": supported values: "Cluster", "Namespaced"',
    ),
    "two storage versions": (
        a_definition(versions=[a_version(), a_version("v2")]),
        "must have exactly one version marked as storage version",
    ),
    "a version twice": (
        a_definition(versions=[a_version(), a_version(storage=False)]),
        "must contain unique version names",
    ),
    "a version's name": (with_version(name="1"), "spec.versions[0].name: Invalid value"),
    "no schema": (
        with_version(schema=None),
        "spec.versions[0].schema.openAPIV3Schema: Required value",
    ),
    "a plural name": (with_names(plural="A"), f'spec.names.plural: Invalid value: "A": {LABEL}'),
    "a kind's name": (
        with_names(kind="a_b"),
        'spec.names.kind: Invalid value: "a_b": may have mixed case, but should otherwise match:',
    ),
    "no kind": (with_names(kind=""), "spec.names.kind: Required value"),
    "one name for kind and list": (
        with_names(listKind="Widget"),
        'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
    ),
    "a short name": (with_names(shortNames=["A"]), "spec.names.shortNames[0]: Invalid value"),
    "unknown fields kept": (
        with_spec(preserveUnknownFields=True),
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
    ),
    "a warning for what is not deprecated": (
        with_version(deprecationWarning="x"),
        "spec.versions[0].deprecationWarning: Invalid value: "
        '"x": can only be set for deprecated versions',
    ),
    "a long warning": (
        with_version(deprecated=True, deprecationWarning=LONG),
        "must be <= 256 characters long",
    ),
    "a column's type": (
        with_version(additionalPrinterColumns=[{**COLUMN, "type": "x"}]),
        'spec.additionalPrinterColumns[0].type: Invalid value: "x": '
        "must be one of boolean,date,integer,number,string",
    ),
    "a column's path": (
        with_version(additionalPrinterColumns=[{**COLUMN, "jsonPath": "spec.x"}]),
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.x": '
        "must be a simple json path starting with .",
    ),
    "replicas elsewhere": (
        with_version(subresources={"scale": {**SCALE, "specReplicasPath": ".x"}}),
        'spec.subresources.scale.specReplicasPath: Invalid value: ".x": '
        "should be a json path under .spec",
    ),
    "a webhook that is not asked": (
        with_spec(conversion={"strategy": "None", "webhook": {}}),
        "Forbidden: should not be set when strategy is not set to Webhook",
    ),
    "a webhook without address": (
        with_spec(conversion={"strategy": "Webhook"}),
        "Required value: required when strategy is set to Webhook",
    ),
    "too many fields to select by": (
        with_version(selectableFields=[{"jsonPath": ".spec.color"}] * 9),
        "spec.selectableFields: Too many: 9: must have at most 8 items",
    ),
    "no such field": (
        with_version(selectableFields=[{"jsonPath": ".spec.nothing"}]),
        "is an invalid path: does not refer to a valid field",
    ),
    "an item to select by": (
        with_version(selectableFields=[{"jsonPath": ".spec.tags[0]"}]),
        "is an invalid path: array notation is not allowed",
    ),
    "metadata to select by": (
        with_version(selectableFields=[{"jsonPath": ".metadata.uid"}]),
        "must not point to fields in metadata",
    ),
    "a list to select by": (
        with_version(selectableFields=[{"jsonPath": ".spec.tags"}]),
        "must point to a field of type string, boolean or integer.",
    ),
    "a schema without type": (
        with_version(schema={"openAPIV3Schema": {"properties": {}}}),
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
    ),
}


@pytest.mark.parametrize(("definition", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told(definition: Doc, text: str) -> None:
    found = complaints(definition)
    assert any(text in complaint for complaint in found), found


def test_what_differs_between_versions_is_named_by_version() -> None:
    wrong = {"openAPIV3Schema": {**SCHEMA, "type": "strange"}}
    versions = [a_version(), a_version("v2", storage=False, schema=wrong)]
    found = complaints(a_definition(versions=versions))
    assert found
    assert all(text.startswith("spec.versions[1].schema.openAPIV3Schema") for text in found), found


def changed(change: Callable[[Doc], None]) -> list[str]:
    old = prepared(a_definition())
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    new = deepcopy(old)
    change(new)
    DEFINITION.prepare_update(new, old, CONTEXT)
    return [str(error) for error in DEFINITION.validate_update(new, old)]


def test_what_an_established_definition_keeps() -> None:
    def change(new: Doc) -> None:
        new["spec"]["scope"] = "Cluster"
        new["spec"]["names"]["kind"] = "Other"

    assert changed(change) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
    ]


def test_a_schema_that_was_wrong_before_may_stay() -> None:
    old = prepared(with_version(schema={"openAPIV3Schema": {"properties": {}}}))
    new = deepcopy(old)
    new["spec"]["names"]["shortNames"] = ["w"]
    assert list(DEFINITION.validate_update(new, old)) == []


def test_a_new_storage_version_is_added_to_the_stored_ones() -> None:
    def change(new: Doc) -> None:
        new["spec"]["versions"][0]["storage"] = False
        new["spec"]["versions"].append(a_version("v2"))

    old = prepared(a_definition())
    new = deepcopy(old)
    change(new)
    DEFINITION.prepare_update(new, old, CONTEXT)
    assert new["status"]["storedVersions"] == ["v1", "v2"]


def test_a_deletion_begins_with_a_mark() -> None:
    doc = prepared(a_definition())
    assert DEFINITION.also_held(doc)
    doc["metadata"]["deletionTimestamp"] = CONTEXT.now
    DEFINITION.begin_deletion(doc)
    assert doc["metadata"]["finalizers"] == [FINALIZER]
    assert doc["status"]["conditions"][0]["reason"] == "InstanceDeletionPending"
    assert not DEFINITION.also_held(doc)


def test_an_unknown_format_is_warned_of_once() -> None:
    schema = deepcopy(SCHEMA)
    schema["properties"]["spec"]["properties"]["word"]["format"] = "strange"
    doc = prepared(with_version(schema={"openAPIV3Schema": schema}))
    assert list(DEFINITION.warnings(doc)) == ['unrecognized format "strange"']
    assert DEFINITION.update_warnings is not None
    assert list(DEFINITION.update_warnings(doc, doc)) == []
