"""Judging a document without keeping other requests waiting.

Nearly all rules, policies and conditions cost little, and are evaluated where the request is. Some
may take a second and more: then all is judged anew in a thread, of which only one runs at a time,
for it shares the interpreter with everybody else.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mooring.apiserver.cel.patience import TakesLong, at_once
from mooring.apiserver.limits.turns import round_trip
from mooring.host.blocking import in_thread, taking

MOST_LONG = 1  # documents that are judged in threads at the same time
LONG_SECONDS = 120.0  # such a thread may have to wait for the others

P = ParamSpec("P")
R = TypeVar("R")


class Judging:
    """The judgements of one server."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MOST_LONG)

    async def judge(self, judgement: Callable[[], R]) -> R:
        """Returns and raises whatever `judgement` does, which is called twice if it takes long.

        It reads nothing that the loop changes, but through `on_loop`.
        """
        try:
            with at_once():
                return judgement()
        except TakesLong:
            await round_trip()  # before anything begins that a write decided at once would undo
            async with self._room:
                with taking(LONG_SECONDS):
                    return await in_thread(judgement)


def on_loop(call: Callable[P, R]) -> Callable[P, R]:
    """The same, done on the running loop wherever it is called: a thread waits for it."""
    loop, own = asyncio.get_running_loop(), threading.get_ident()

    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        if threading.get_ident() == own:
            return call(*args, **kwargs)

        async def answer() -> R:
            return call(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(answer(), loop).result(LONG_SECONDS)

    return asked
