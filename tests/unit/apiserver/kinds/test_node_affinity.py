from typing import Any

import pytest

from mooring.apiserver.kinds.node_affinity import (
    validate_affinity_update,
    validate_node_affinity,
    warn_of_labels,
)
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import NO_KEY, NO_SUBDOMAIN

TERMS = "spec.nodeAffinity.required.nodeSelectorTerms"
LABEL = f"{TERMS}[0].matchExpressions[0]"
FIELD = f"{TERMS}[0].matchFields[0]"


def by_label(key: str, operator: str, *values: str) -> Doc:
    requirement: Doc = {"key": key, "operator": operator}
    if values:
        requirement["values"] = list(values)
    return terms({"matchExpressions": [requirement]})


def by_field(key: str, operator: str, *values: str) -> Doc:
    return terms({"matchFields": [{"key": key, "operator": operator, "values": list(values)}]})


def terms(*listed: Doc) -> Doc:
    return {"required": {"nodeSelectorTerms": list(listed)}}


AFFINITIES: dict[str, tuple[Doc, list[str]]] = {
    "a zone is fine": (by_label("topology.kubernetes.io/zone", "In", "a", "b"), []),
    "presence is fine": (by_label("a", "Exists"), []),
    "comparison is fine": (by_label("a", "Gt", "5"), []),
    "a node's name is fine": (by_field("metadata.name", "In", "n1"), []),
    "nothing required is refused": (
        {},
        ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ),
    "no term is refused": (
        terms(),
        [f"{TERMS}: Required value: must have at least one node selector term"],
    ),
    "In needs values": (
        by_label("a", "NotIn"),
        [f"{LABEL}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ),
    "Exists takes none": (
        by_label("a", "DoesNotExist", "b"),
        [
            f"{LABEL}.values: Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'"
        ],
    ),
    "comparison takes one value": (
        by_label("a", "Lt", "1", "2"),
        [
            f"{LABEL}.values: Required value: must be specified single value when `operator` is "
            "'Lt' or 'Gt'"
        ],
    ),
    "an unknown operator is named": (
        by_label("a", "Near", "b"),
        [f'{LABEL}.operator: Invalid value: "Near": not a valid selector operator'],
    ),
    "a key is a label key": (
        by_label("not a key", "Exists"),
        [f'{LABEL}.key: Invalid value: "not a key": {NO_KEY}'],
    ),
    "the only field is the name": (
        by_field("metadata.uid", "In", "x"),
        [f'{FIELD}.key: Invalid value: "metadata.uid": not a valid field selector key'],
    ),
    "a field takes one value": (
        by_field("metadata.name", "In", "n1", "n2"),
        [
            f"{FIELD}.values: Required value: must be only one value when `operator` is 'In' or "
            "'NotIn' for node field selector"
        ],
    ),
    "a field knows no presence": (
        by_field("metadata.name", "Exists", "n1"),
        [f'{FIELD}.operator: Invalid value: "Exists": not a valid selector operator'],
    ),
    "a field's value is a node's name": (
        by_field("metadata.name", "In", "Not_A_Name"),
        [f'{FIELD}.values[0]: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
}


@pytest.mark.parametrize(("affinity", "complaints"), AFFINITIES.values(), ids=AFFINITIES)
def test_affinities(affinity: Doc, complaints: list[str]) -> None:
    found = validate_node_affinity(affinity, "spec.nodeAffinity")
    assert [str(e) for e in found] == complaints


BETA, SUCCESSOR = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"

UPDATES: dict[str, tuple[Any, Any, bool]] = {
    "it may be given once": (by_label("a", "In", "b"), None, True),
    "it may stay": (by_label("a", "In", "b"), by_label("a", "In", "b"), True),
    "it may not go": (None, by_label("a", "In", "b"), False),
    "its values may not change": (by_label("a", "In", "c"), by_label("a", "In", "b"), False),
    "an old label name may become the new one": (
        by_label(SUCCESSOR, "In", "b"),
        by_label(BETA, "In", "b"),
        True,
    ),
    "a new label name may not become the old one": (
        by_label(BETA, "In", "b"),
        by_label(SUCCESSOR, "In", "b"),
        False,
    ),
    "a label name may not change otherwise": (
        by_label("other", "In", "b"),
        by_label(BETA, "In", "b"),
        False,
    ),
    "renaming is no cover for other changes": (
        by_label(SUCCESSOR, "In", "c"),
        by_label(BETA, "In", "b"),
        False,
    ),
    "a term may not be added": (
        terms({"matchExpressions": []}, {"matchExpressions": []}),
        terms({"matchExpressions": []}),
        False,
    ),
}


@pytest.mark.parametrize(("new", "old", "allowed"), UPDATES.values(), ids=UPDATES)
def test_updates(new: Doc | None, old: Doc | None, *, allowed: bool) -> None:
    complaints = list(validate_affinity_update(new, old))
    assert (complaints == []) is allowed
    for complaint in complaints:
        assert complaint.field == "nodeAffinity"
        assert complaint.text.endswith(
            ": field is immutable, except for updating from beta label to GA"
        )


def test_a_label_with_a_successor_is_warned_of() -> None:
    assert list(warn_of_labels(by_label(BETA, "In", "b"), "spec.nodeAffinity")) == [
        f'{LABEL}.key: {BETA} is deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ]
    assert list(warn_of_labels(by_label(SUCCESSOR, "In", "b"), "spec.nodeAffinity")) == []
