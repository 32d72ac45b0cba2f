"""Lists whose items have to be made: in slices, and no faster than the client reads them.

A list that fits one slice is answered in one piece. The rest of a longer one is made while it is
sent: for a client that asks for a hundred thousand rows and does not read, only a few are made.
"""

from collections.abc import AsyncIterator, Iterator

from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.request.message import BLOCK, Body


def made_list(turns: Turns, items: Iterator[bytes], head: bytes, tail: bytes) -> Body:
    """`head`, the items with commas in between, `tail`."""
    working = turns.slice()
    made: list[bytes] = []
    size = 0
    for item in items:
        made.append(item)
        size += len(item)
        if size >= BLOCK or working.is_over:
            return _in_blocks(turns, head, made, items, tail)
    return b"".join((head, b",".join(made), tail))


async def _in_blocks(
    turns: Turns, head: bytes, made: list[bytes], items: Iterator[bytes], tail: bytes
) -> AsyncIterator[bytes]:
    """A large item is held once: neither here nor in the answer is there a copy of it."""
    yield head
    working = turns.slice()
    is_first = True
    while made:
        if not is_first:
            yield b","
        is_first = False
        yield made.pop() if len(made) == 1 else b",".join(made)
        made.clear()
        await working.pause()
        size = 0
        for item in items:
            made.append(item)
            size += len(item)
            del item
            if size >= BLOCK or working.is_over:
                break
    yield tail
