"""Node selectors: which node each term chooses."""

from typing import Any

import pytest

from mooring.model.node_selector import NodeSelector
from mooring.model.wire import read_document

LABELS = {"zone": "z1", "cores": "16", "disk": "ssd"}
FIELDS = {"metadata.name": "n1"}


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


CASES: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "no terms choose nothing": ([], False),
    "an empty term chooses nothing": ([{}], False),
    "In": ([label("zone", "In", "z0", "z1")], True),
    "In: another value": ([label("zone", "In", "z0")], False),
    "In: absent": ([label("rack", "In", "r1")], False),
    "NotIn: another value": ([label("zone", "NotIn", "z0")], True),
    "NotIn: the value": ([label("zone", "NotIn", "z1")], False),
    "NotIn: absent": ([label("rack", "NotIn", "r1")], True),
    "NotIn of nothing makes no sense": ([label("zone", "NotIn")], False),
    "Exists": ([label("zone", "Exists")], True),
    "Exists: absent": ([label("rack", "Exists")], False),
    "Exists with values makes no sense": ([label("zone", "Exists", "z1")], False),
    "DoesNotExist": ([label("rack", "DoesNotExist")], True),
    "DoesNotExist: present": ([label("zone", "DoesNotExist")], False),
    "DoesNotExist with values makes no sense": ([label("rack", "DoesNotExist", "r")], False),
    "Gt": ([label("cores", "Gt", "8")], True),
    "Gt is strict": ([label("cores", "Gt", "16")], False),
    "Lt compares numbers, not texts": ([label("cores", "Lt", "9")], False),
    "Lt": ([label("cores", "Lt", "100")], True),
    "Gt of no number": ([label("disk", "Gt", "1")], False),
    "Gt: absent": ([label("rack", "Gt", "1")], False),
    "Gt with two bounds makes no sense": ([label("cores", "Gt", "1", "2")], False),
    "a field In": ([field("metadata.name", "In", "n1")], True),
    "a field In: another": ([field("metadata.name", "In", "n2")], False),
    "a field NotIn": ([field("metadata.name", "NotIn", "n2")], True),
    "a field NotIn: the value": ([field("metadata.name", "NotIn", "n1")], False),
    "a field takes one value": ([field("metadata.name", "In", "n1", "n2")], False),
    "a field knows no other operator": ([field("metadata.name", "Exists", "n1")], False),
    "labels and fields of a term must both hold": (
        [label("zone", "In", "z1") | field("metadata.name", "In", "n2")],
        False,
    ),
    "all expressions of a term must hold": (
        [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["z1"]},
                    {"key": "disk", "operator": "In", "values": ["hdd"]},
                ]
            }
        ],
        False,
    ),
    "one term is enough": ([label("zone", "In", "z0"), label("disk", "In", "ssd")], True),
    "an empty term does not spoil the others": ([{}, label("disk", "Exists")], True),
}


@pytest.mark.parametrize(("terms", "chosen"), CASES.values(), ids=CASES)
def test_node_selector(terms: list[dict[str, Any]], chosen: bool) -> None:  # noqa: FBT001 - a column
    selector = read_document({"nodeSelectorTerms": terms}, NodeSelector)
    assert selector.matches(LABELS, FIELDS) is chosen


def test_by_labels_alone_fields_count_as_fine() -> None:
    def chosen(*terms: dict[str, Any]) -> bool:
        selector = read_document({"nodeSelectorTerms": terms}, NodeSelector)
        return selector.matches_labels(LABELS)

    elsewhere = field("metadata.name", "In", "n2")
    assert chosen(elsewhere)
    assert chosen(label("zone", "In", "z1") | elsewhere)
    assert not chosen(label("zone", "In", "z0") | elsewhere)
    assert not chosen({})
    assert not chosen()
