"""What `kubectl get` prints of a custom kind: its name, and the columns of its definition."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mooring.apiserver.custom.json_path import BadPath, JsonPath, parse
from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import NAME, Column, Row
from mooring.model.age import INVALID, age
from mooring.model.document import Doc

_DESCRIPTION = "Custom resource definition column (in JSONPath format): {}"
_AGE: Doc = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}

Cell = Callable[[Any, str], Any]
"""(value, now) -> what is shown; never called for a value that is missing."""


def columns_of(declared: Sequence[Doc]) -> tuple[tuple[Column, ...], Row]:
    """The columns and what fills them. A path that cannot be read ends them, as upstream."""
    heads: list[Column] = [NAME]
    cells: list[tuple[JsonPath, Cell]] = []
    for column in declared or (_AGE,):
        try:
            path = parse(column["jsonPath"])
        except BadPath:
            break
        cells.append((path, _CELLS.get(column["type"], _text)))
        heads.append(
            Column(
                column["name"],
                type=column["type"],
                format=column.get("format", ""),
                description=column.get("description") or _DESCRIPTION.format(column["jsonPath"]),
                priority=column.get("priority", 0),
            )
        )

    def row(doc: Doc, now: str) -> list[Any]:
        return [name_of(doc), *(_shown(path.first(doc), cell, now) for path, cell in cells)]

    return tuple(heads), row


def _shown(value: Any, cell: Cell, now: str) -> Any:
    return None if value is None else cell(value, now)


def _text(value: Any, _: str) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return msgspec.json.encode(value).decode()


def _whole(value: Any, _: str) -> Any:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, _: str) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: Any, _: str) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: str) -> Any:
    if not isinstance(value, str):
        return None
    try:
        return age(value, now)
    except (ValueError, TypeError):
        return INVALID


_CELLS: dict[str, Cell] = {
    "string": _text,
    "integer": _whole,
    "number": _number,
    "boolean": _flag,
    "date": _date,
}
