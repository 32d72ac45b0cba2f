import pytest

from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import NO_KEY, NO_VALUE

AT = "spec.selector.matchExpressions[0]"


def expression(**fields: object) -> Doc:
    return {"matchExpressions": [{"key": "a", **fields}]}


SELECTORS: dict[str, tuple[Doc, list[str]]] = {
    "an empty selector is fine": ({}, []),
    "labels and every operator are fine": (
        {
            "matchLabels": {"a": "b"},
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "a", "operator": "NotIn", "values": ["b"]},
                {"key": "a", "operator": "Exists"},
                {"key": "a", "operator": "DoesNotExist"},
            ],
        },
        [],
    ),
    "a label's key is checked": (
        {"matchLabels": {"not a key": "b"}},
        [f'spec.selector.matchLabels: Invalid value: "not a key": {NO_KEY}'],
    ),
    "a label's value is checked": (
        {"matchLabels": {"a": "not a value"}},
        [f'spec.selector.matchLabels: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "In needs values": (
        expression(operator="In"),
        [f"{AT}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ),
    "Exists takes none": (
        expression(operator="Exists", values=["b"]),
        [
            f"{AT}.values: Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'"
        ],
    ),
    "nodes' operators are unknown here": (
        expression(operator="Gt", values=["1"]),
        [f'{AT}.operator: Invalid value: "Gt": not a valid selector operator'],
    ),
    "an expression's key and values are checked": (
        {"matchExpressions": [{"key": "not a key", "operator": "In", "values": ["not a value"]}]},
        [
            f'{AT}.key: Invalid value: "not a key": {NO_KEY}',
            f'{AT}.values[0]: Invalid value: "not a value": {NO_VALUE}',
        ],
    ),
}


@pytest.mark.parametrize(("selector", "complaints"), SELECTORS.values(), ids=SELECTORS)
def test_selectors(selector: Doc, complaints: list[str]) -> None:
    assert [str(e) for e in validate_label_selector(selector, "spec.selector")] == complaints
