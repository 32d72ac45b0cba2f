"""The judge of histories sees what it must."""

import pytest

from tests.fakes.versions import Operation, Read, Write, flaws


def write(
    number: int, revision: int, *, expected: int, at: tuple[float, float], value: str = ""
) -> Write:
    return Write("r", *at, expected, number, value or f"w{number}", revision)


def read(number: int, revision: int, *, at: tuple[float, float]) -> Read:
    return Read("r", *at, revision, number, f"w{number}")


FIRST = write(1, 10, expected=0, at=(0, 1))

GOOD: dict[str, list[Operation]] = {
    "nothing": [],
    "one after the other": [FIRST, read(1, 10, at=(2, 3)), write(2, 11, expected=10, at=(4, 5))],
    "a read during a write sees either": [
        FIRST,
        write(2, 11, expected=10, at=(2, 6)),
        read(1, 10, at=(3, 4)),
    ],
    "an unknown write that happened": [
        FIRST,
        write(2, 0, expected=10, at=(2, 3)),
        read(2, 12, at=(4, 5)),
    ],
    "an unknown write that did not": [
        FIRST,
        write(2, 0, expected=10, at=(2, 3)),
        write(2, 12, expected=10, at=(4, 5), value="other"),
    ],
}

BAD: dict[str, tuple[list[Operation], str]] = {
    "a stale read": (
        [FIRST, write(2, 11, expected=10, at=(2, 3)), read(1, 10, at=(4, 5))],
        "is older than",
    ),
    "reads that go back": (
        [
            FIRST,
            write(2, 0, expected=10, at=(2, 9)),
            read(2, 11, at=(3, 4)),
            read(1, 10, at=(5, 6)),
        ],
        "is older than",
    ),
    "a lost update": (
        [
            FIRST,
            write(2, 11, expected=10, at=(2, 5)),
            write(2, 12, expected=10, at=(2, 5), value="other"),
        ],
        "unseen",
    ),
    "what nobody wrote": ([FIRST, read(7, 17, at=(2, 3))], "nobody wrote"),
    "one write twice": (
        [FIRST, write(2, 11, expected=10, at=(2, 3)), read(2, 14, at=(4, 5))],
        "two revisions",
    ),
    "two contents of one revision": (
        [
            FIRST,
            write(2, 11, expected=10, at=(2, 5)),
            write(2, 11, expected=10, at=(2, 5), value="other"),
        ],
        "contradict",
    ),
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_a_good_history_has_no_flaw(history: list[Operation]) -> None:
    assert flaws(history) == []


@pytest.mark.parametrize(("history", "told"), BAD.values(), ids=BAD)
def test_a_bad_history_has_one(history: list[Operation], told: str) -> None:
    assert any(told in flaw for flaw in flaws(history)), flaws(history)
