"""Patterns of `matches` and its kin: RE2, which never takes longer than the text is long."""

from collections.abc import Iterator
from functools import lru_cache

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.structural import patterns

_MOST_KEPT = 256


@lru_cache(maxsize=_MOST_KEPT)
def _problem(pattern: str) -> str:
    return patterns.problem_of(pattern)


def check_pattern(pattern: str) -> None:
    """Raises CelError, in Go's words, when it is none."""
    if problem := _problem(pattern):
        raise CelError(problem)


def contains_match(text: str, pattern: str) -> bool:
    check_pattern(pattern)
    patterns.begin_look()  # how many there may be, the budget of the expression says
    try:
        return patterns.matches(text, pattern)
    except patterns.TooCostly:
        raise _too_long(text) from None


def matches(text: str, pattern: str) -> Iterator[str]:
    check_pattern(pattern)
    patterns.begin_look()
    try:
        return patterns.find_all(text, pattern)
    except patterns.TooCostly:
        raise _too_long(text) from None


def _too_long(text: str) -> CelError:
    return CelError(f"a text of {len(text)} characters is too long for this pattern")
