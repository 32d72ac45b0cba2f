"""docs/pod-fields.md tells of every field of a pod, and of none that does not exist."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.apiserver.schema.contract import Field
from mooring.apiserver.schema.parse import load

TABLE = Path(__file__).parents[4] / "docs/pod-fields.md"
SPEC = "core.v1.PodSpec"
ONLY_THEMSELVES = {"core.v1.Volume"}  # what is in a source is the matter of its plugin
STATES = re.compile(r"(in part: )?(honoured|refused|told|no effect)")
ROW = re.compile(r"\| (`[^|]*`) \| ([^|]*) \| ?(.*?) ?\|")


def fields_of(message: str) -> Iterator[Field]:
    """As they stand in JSON: those of inline messages among their parent's."""
    for field in load().message(message).fields.values():
        if field.inline and isinstance(field.type, str):
            yield from fields_of(field.type)
        else:
            yield field


def served() -> dict[str, list[str]]:
    """The fields of every message in a pod's spec, by the message's name."""
    found: dict[str, list[str]] = {}
    left = [SPEC]
    while left:
        message = left.pop()
        name = message.rpartition(".")[2]
        if name in found:
            continue
        fields = list(fields_of(message))
        found[name] = [field.name for field in fields]
        if message not in ONLY_THEMSELVES:
            left += [field.type for field in fields if isinstance(field.type, str)]
    return found


def told() -> dict[str, list[tuple[str, str, str]]]:
    """The rows of the table by message: field, state, how."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    rows: list[tuple[str, str, str]] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            rows = found[line.removeprefix("## ")] = []
        elif row := ROW.fullmatch(line):
            rows += [(name, row[2], row[3]) for name in re.findall(r"`([^`]+)`", row[1])]
    return found


def test_every_message_has_a_section_and_no_other_has() -> None:
    assert sorted(told()) == sorted(served())


@pytest.mark.parametrize("message", sorted(served()))
def test_every_field_stands_in_the_table_once_and_no_other_does(message: str) -> None:
    assert Counter(name for name, _, _ in told()[message]) == Counter(served()[message])


def test_every_row_says_what_becomes_of_its_fields() -> None:
    rows = [(message, *row) for message, rows in told().items() for row in rows]
    odd = [row for row in rows if not STATES.fullmatch(row[2])]
    silent = [row for row in rows if row[2] != "honoured" and not row[3]]
    assert (odd, silent) == ([], [])
    assert len(rows) > 250
