"""Regular expressions of schemas: RE2, whose syntax is Go's and whose time is linear in the text.

The only module that knows the library. Expressions are compiled when first asked for and kept
within a bound, by their text: nobody holds a compiled one.

An expression of many states can take as many steps for each character as it has instructions
(RE2 falls back to that when its automaton outgrows its memory): how many one look at a document
may take is bounded.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from mooring.apiserver.limits.short_memo import short_memo

MOST_CHARACTERS = 16_384  # of an expression
MOST_MEMORY = 1 << 20  # bytes of one compiled expression and of what its matching keeps
MOST_KEPT = 256  # compiled expressions
MOST_STEPS = 100_000_000  # characters times instructions, of one look: a second at worst

# What RE2 says, and what Go's regexp package says for it.
_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
}
_TOO_LARGE = "error parsing regexp: expression too large"


class TooCostly(Exception):
    """The texts are too long for their patterns."""


class _Allowance:
    """The steps that are left of one look; looks do not overlap, none of them waits."""

    def __init__(self) -> None:
        self.steps = MOST_STEPS


_allowance = _Allowance()


def begin_look() -> None:
    """Forget what was spent before: another document is looked at."""
    _allowance.steps = MOST_STEPS


def problem_of(pattern: str) -> str:
    """What is wrong with an expression, in Go's words; "" when nothing is."""
    if len(pattern) > MOST_CHARACTERS:
        return _TOO_LARGE
    if r"\C" in pattern.replace(r"\\", ""):
        return "error parsing regexp: invalid escape sequence: `\\C`"  # RE2 has it, Go does not
    try:
        _compiled(pattern)
    except re2.error as error:
        return _go_words(error)
    return ""


@short_memo
def matches(text: str, pattern: str) -> bool:
    """Whether an expression is found in a text; one that is wrong never is. Raises: TooCostly."""
    try:
        return _spent_on(text, pattern).search(text) is not None
    except re2.error:  # of a schema that another server let in
        return False


def find_all(text: str, pattern: str) -> Iterator[str]:
    """What an expression that compiles finds in a text, from left to right. Raises: TooCostly."""
    return (str(found.group()) for found in _spent_on(text, pattern).finditer(text))


def _spent_on(text: str, pattern: str) -> Any:
    """The compiled expression, when there are steps left for this text."""
    compiled = _compiled(pattern)
    _allowance.steps -= len(text) * compiled.programsize
    if _allowance.steps < 0:
        raise TooCostly
    return compiled


@lru_cache(maxsize=MOST_KEPT)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.never_capture = True
    options.log_errors = False
    return re2.compile(pattern, options)


def _go_words(error: re2.error) -> str:
    told = error.args[0] if error.args else b""
    words = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
    if words.startswith("pattern too large"):
        return _TOO_LARGE
    if words.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    what, _, where = words.partition(": ")
    return f"error parsing regexp: {_WORDS.get(what, what)}: `{where}`"
