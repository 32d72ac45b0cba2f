"""What is asked once more at the moment at which a write goes out.

Between the decision to write and that moment a client may wait: for a free connection, for what a
server asked it to wait, for the answer to the first half of a write. A process may sleep meanwhile,
and wake up when what was right is not any more.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], None]
"""Raises when nothing may be written any more."""

_fence: ContextVar[Check | None] = ContextVar("fence", default=None)


@contextmanager
def fenced(check: Check) -> Iterator[None]:
    """Within it, `check` is called now and before each write. Raises: what it raises."""
    check()
    token = _fence.set(check)
    try:
        yield
    finally:
        _fence.reset(token)


def check_fence() -> None:
    """By a client, before a write goes out."""
    if (check := _fence.get()) is not None:
        check()
