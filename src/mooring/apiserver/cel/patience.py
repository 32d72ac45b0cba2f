"""How much may be evaluated at once, where other requests wait for it.

What expressions may cost is a second of work and more. Whoever evaluates on the event loop says so
(`at_once`), and does it over in a thread when it `TakesLong`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mooring.apiserver.cel.errors import CelError

MOST_AT_ONCE = 20_000  # units of cost: some ten milliseconds

Run = Callable[[Mapping[str, Any], int], tuple[Any, int]]
"""From values and the most that it may cost to the result, or a CelError, and what it cost."""


class TakesLong(Exception):
    """What was to be evaluated at once is too much for that; nothing came of it."""


class Allowance:
    """What all expressions of one block may cost together, or those of several."""

    def __init__(self) -> None:
        self.left = MOST_AT_ONCE


_at_once: ContextVar[Allowance | None] = ContextVar("at_once", default=None)


@contextmanager
def at_once(allowance: Allowance | None = None) -> Iterator[None]:
    """What is evaluated inside the block raises TakesLong when it costs too much."""
    token = _at_once.set(allowance or Allowance())
    try:
        yield
    finally:
        _at_once.reset(token)


def evaluate(
    run: Run, values: Mapping[str, Any], most: int, *, asks: bool = False
) -> tuple[Any, int]:
    """What `run` says. Raises: TakesLong within `at_once`.

    `asks`: some of its cost may be excused, so it is not cut short by what is left.
    """
    allowed = _at_once.get()
    if allowed is None:
        return run(values, most)
    limit = most if asks else min(allowed.left, most)
    result, cost = run(values, limit)
    is_cut = limit < most and isinstance(result, CelError) and result.fatal
    allowed.left -= cost
    if is_cut or allowed.left <= 0:
        raise TakesLong
    return result, cost


def excuse(cost: int) -> None:
    """So much of what is evaluated now stands for work that is not done here."""
    allowed = _at_once.get()
    if allowed is not None:
        allowed.left += cost
