"""Long lists, page by page."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from mooring.csi.outcome import Done, Outcome, Uncertain

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    entries: tuple[T, ...]
    next_token: str = ""  # empty: this was the last one


async def every_page(
    ask: Callable[[str], Awaitable[Outcome[Page[T]]]],
) -> Outcome[tuple[T, ...]]:
    """All entries; `ask` takes the token of the next page. A failure of one page is that of all."""
    entries: list[T] = []
    token = ""
    seen: set[str] = set()
    while True:
        outcome = await ask(token)
        if not isinstance(outcome, Done):
            return outcome
        entries.extend(outcome.value.entries)
        token = outcome.value.next_token
        if not token:
            return Done(tuple(entries))
        if token in seen:
            return Uncertain(None, "the driver's list does not end: a token came twice")
        seen.add(token)
