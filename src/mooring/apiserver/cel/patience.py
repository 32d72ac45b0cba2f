"""How much may be evaluated at once, where other requests wait for it.

What rules may cost is a second of work and more. Whoever evaluates on the event loop says so
(`at_once`), and does it over in a thread when it `TakesLong`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_AT_ONCE = 100_000  # units of cost: some ten milliseconds

_at_once: ContextVar[int | None] = ContextVar("at_once", default=None)


class TakesLong(Exception):
    """What was to be evaluated at once is too much for that; nothing came of it."""


@contextmanager
def at_once() -> Iterator[None]:
    """Rules that are checked inside the block raise TakesLong when they cost too much."""
    token = _at_once.set(MOST_AT_ONCE)
    try:
        yield
    finally:
        _at_once.reset(token)


def most_at_once() -> int | None:
    """None: it may take its time."""
    return _at_once.get()
