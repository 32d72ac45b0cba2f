from typing import Any

import pytest

from mooring.apiserver.custom.columns import columns_of

NOW = "2026-01-02T03:04:05Z"


def cell(kind: str, value: Any) -> Any:
    _, row = columns_of([{"name": "X", "type": kind, "jsonPath": ".x"}])
    return row({"metadata": {"name": "n"}, "x": value}, NOW)[1]


CELLS: dict[str, tuple[str, Any, Any]] = {
    "a text": ("string", "a", "a"),
    "a number as text": ("string", 5, "5"),
    "a truth as text": ("string", True, "true"),
    "a list as text": ("string", [1, 2], "[1,2]"),
    "an object as text": ("string", {"a": 1}, '{"a":1}'),
    "a whole number": ("integer", 5, 5),
    "a fraction is cut off": ("integer", 5.9, 5),
    "a text is no whole number": ("integer", "5", None),
    "a truth is no whole number": ("integer", True, None),
    "a number": ("number", 1.5, 1.5),
    "a truth": ("boolean", False, False),
    "a text is no truth": ("boolean", "false", None),
    "an age": ("date", "2026-01-02T03:02:05Z", "2m"),
    "no date": ("date", "yesterday", "<invalid>"),
    "a number is no date": ("date", 5, None),
    "what is null": ("string", None, None),
}


@pytest.mark.parametrize(("kind", "value", "shown"), CELLS.values(), ids=CELLS)
def test_a_cell_shows(kind: str, value: Any, shown: Any) -> None:
    found = cell(kind, value)
    assert found == shown
    assert type(found) is type(shown)


def test_without_columns_there_is_an_age() -> None:
    columns, row = columns_of(())
    assert [column.name for column in columns] == ["Name", "Age"]
    metadata = {"name": "n", "creationTimestamp": "2026-01-02T03:04:00Z"}
    assert row({"metadata": metadata}, NOW) == ["n", "5s"]


def test_a_path_that_cannot_be_read_ends_the_columns() -> None:
    declared = [
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "string", "jsonPath": ".b["},
        {"name": "C", "type": "string", "jsonPath": ".c"},
    ]
    columns, row = columns_of(declared)
    assert [column.name for column in columns] == ["Name", "A"]
    assert row({"metadata": {"name": "n"}, "a": "1", "c": "3"}, NOW) == ["n", "1"]


def test_a_column_without_description_names_its_path() -> None:
    columns, _ = columns_of([{"name": "A", "type": "string", "jsonPath": ".a", "priority": 7}])
    text = "Custom resource definition column (in JSONPath format): .a"
    assert (columns[1].description, columns[1].priority) == (text, 7)
