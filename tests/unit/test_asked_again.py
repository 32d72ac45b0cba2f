"""Which failed tests `make test` asks once more."""

from collections.abc import Sequence

import pytest

from tests.run import MOST_ASKED_AGAIN, asked_again

FEW = [f"tests/api/test_a.py::test_{number}" for number in range(MOST_ASKED_AGAIN)]

CASES: dict[str, tuple[int, Sequence[str], Sequence[str]]] = {
    "all passed": (0, [], ()),
    "one failed": (1, FEW[:1], FEW[:1]),
    "a few failed": (1, FEW, FEW),
    "many failed: the change is wrong": (1, [*FEW, "tests/api/test_a.py::test_more"], ()),
    "the run was interrupted": (2, FEW[:1], ()),
    "pytest itself failed": (3, FEW[:1], ()),
    "nothing was collected": (5, [], ()),
}


@pytest.mark.parametrize(("exit_code", "failed", "again"), CASES.values(), ids=CASES)
def test_asked_again(exit_code: int, failed: Sequence[str], again: Sequence[str]) -> None:
    assert asked_again(exit_code, failed) == again
