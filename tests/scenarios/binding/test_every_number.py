"""Every scenario of the table has a test that begins with its number: `pytest -k` finds it.

`test_61_...` in a name, or `"61 ..."` as the id of a row; `test_12_13_...` is both.
"""

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
FOLDERS = (
    "unit/controllers",
    "scenarios/binding",
    "scenarios/protection",
    "scenarios/ephemeral",
    "scenarios/faults",
)
SCHEDULING = {93, 94, 95}  # of pods that are placed, with the scheduler's own scenarios

_IN_NAMES = re.compile(r"def test_((?:\d+_)+)")
_IN_IDS = re.compile(r'"(\d+) [a-z]|f"(\d+) \{id\}')


def numbers_in(text: str) -> set[int]:
    names = {number for found in _IN_NAMES.findall(text) for number in found.split("_") if number}
    ids = {number for found in _IN_IDS.findall(text) for number in found if number}
    return {int(number) for number in names | ids}


def test_none_is_missing() -> None:
    found: set[int] = set()
    for folder in FOLDERS:
        for path in (TESTS / folder).rglob("test_*.py"):
            found |= numbers_in(path.read_text())
    assert set(range(1, 96)) - SCHEDULING - found == set()


def test_numbers_are_read_from_names_and_ids() -> None:
    text = 'async def test_12_13_both(): ...\n"61 a row": 1,\n[f"88 {id}" for id in X]\n"5Gi"'
    assert numbers_in(text) == {12, 13, 61, 88}
