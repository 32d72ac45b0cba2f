"""Writes that are decided at once, unless somebody outside has to be asked, or it takes long.

A decision is a coroutine. As long as nothing in it waits, it is run by the store itself, on the
newest version, with no other write in between. Only when it would have to wait (a webhook is to be
asked, a thread is to judge) it is run before the write, on the version that is there; the write is
then made only if that is still the newest, else everything is decided again.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from mooring.apiserver.store.contract import Change, Entry, Store
from mooring.errors import Conflict

T = TypeVar("T")
MOST_TRIES = 8

AsyncDecide = Callable[[Entry | None], Coroutine[Any, Any, Change]]
"""As `Decide` of the store; may be called several times."""


class WouldWait(Exception):
    """A coroutine that was to be run at once has to wait. Nothing has happened yet."""


class _Moved(Exception):
    """Another write was faster."""

    def __init__(self, newest: Entry | None) -> None:
        super().__init__()
        self.newest = newest


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that does not wait. Raises: WouldWait, and what it raises."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    coroutine.close()
    raise WouldWait


def _nothing() -> None:
    """Nothing but the object can have changed meanwhile."""


async def write_decided(
    store: Store,
    table: str,
    name: str,
    decide: AsyncDecide,
    check_late: Callable[[], None] = _nothing,
) -> Entry | None:
    """Write what `decide` says, unless `check_late`, which is asked with the write, raises.

    Raises: Conflict when others are faster again and again.
    """

    def decide_at_once(entry: Entry | None) -> Change:
        check_late()
        return at_once(decide(entry))

    try:
        return await store.write(table, name, decide_at_once)
    except WouldWait:
        seen = store.get(table, name)
    for _ in range(MOST_TRIES):
        change = await decide(seen)
        try:
            return await store.write(table, name, _if_still(seen, change, check_late))
        except _Moved as moved:
            seen = moved.newest
    raise Conflict(
        f"{name} was changed by others again and again while it was judged: please try again"
    )


def _if_still(
    seen: Entry | None, change: Change, check_late: Callable[[], None]
) -> Callable[[Entry | None], Change]:
    def decide(newest: Entry | None) -> Change:
        check_late()
        if (newest and newest.revision) != (seen and seen.revision):
            raise _Moved(newest)
        return change

    return decide
