"""A process that writes without end and says what was acknowledged, for test_crash.py to kill.

Prints one line per acknowledged write: name, revision, `put` or `gone`.
"""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from random import Random

from mooring.apiserver.store.contract import Change, Entry, Put, Remove
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.clock import RealClock

WRITERS = 16
TABLE = "persistentvolumeclaims"


def decide(change: Change, _: Entry | None) -> Change:
    return change


async def write_for_ever(store: SqliteStore, writer: int, rng: Random) -> None:
    """Each writer has names of its own, so that the last line about a name is its newest."""
    while True:
        name = f"{writer}/{rng.randrange(200)}"
        value = Put(b"%b at " % name.encode(), b" " + b"x" * rng.randrange(3000))
        gone = rng.random() < 0.2
        change = Remove(value) if gone else value
        entry = await store.write(TABLE, name, partial(decide, change))
        if entry is not None:
            os.write(1, f"{name} {entry.revision} {'gone' if gone else 'put'}\n".encode())


async def main(path: Path, seed: int) -> None:
    store = SqliteStore.open(path, RealClock())
    async with asyncio.TaskGroup() as tasks:
        for writer in range(WRITERS):
            rng = Random(seed * WRITERS + writer)  # noqa: S311 - repeatable, not secret
            tasks.create_task(write_for_ever(store, writer, rng))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
