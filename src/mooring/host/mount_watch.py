"""Watching the kernel's mount table for changes."""

import asyncio
import os
import select
from types import TracebackType
from typing import Self

from mooring.host.mountinfo import TABLE
from mooring.host.refusal import refusals


class MountWatch:
    """Waits for mounts, unmounts and remounts. To be used in a `with`.

    The kernel reports a change of mountinfo as an exceptional condition, which event loops do not
    wait for; so an epoll of our own does, and the loop waits for that one to become readable.

    The kernel clears a change as soon as it was polled, and an event loop polls twice while it
    begins to watch a descriptor: a change in that moment would be lost. So the loop first gets an
    epoll that holds only an eventfd. When the eventfd was reported, the loop is watching; only then
    the mount table is added to the epoll.
    """

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        with refusals(f"watch {TABLE}"):
            self._table = os.open(TABLE, os.O_RDONLY | os.O_CLOEXEC)
            self._first = os.eventfd(1)
            self._poll = select.epoll()
            self._poll.register(self._first, select.EPOLLIN)
        self._is_armed = False
        self._loop.add_reader(self._poll.fileno(), self._on_wake)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.remove_reader(self._poll.fileno())
        self._poll.close()
        os.close(self._first)
        os.close(self._table)

    async def changed(self) -> None:
        """Return at the first change since the last call; several changes may count as one.

        The first call returns when the watch has begun: a caller that reads the table after each
        return misses no change.
        """
        await self._changed.wait()
        self._changed.clear()

    def _on_wake(self) -> None:
        if self._is_armed:
            # The loop's own poll has cleared the change already; this one resets our epoll.
            self._poll.poll(0)
        else:
            self._poll.unregister(self._first)
            self._poll.register(self._table, select.EPOLLPRI)
            self._is_armed = True
        self._changed.set()
