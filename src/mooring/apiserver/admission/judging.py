"""Judging a document without keeping other requests waiting.

Nearly all rules, policies and conditions cost little, and are evaluated where the request is. Some
may take a second and more: then all is judged anew in a thread, of which only one runs at a time,
for it shares the interpreter with everybody else. Namespaces take turns.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from mooring.apiserver.cel.patience import Allowance, TakesLong, at_once
from mooring.apiserver.limits.fair_line import FairLine, LineFull, LineLimits
from mooring.apiserver.limits.turns import round_trip
from mooring.errors import TooManyRequests
from mooring.host.blocking import in_thread, taking

LONG_SECONDS = 120.0  # such a thread may have to wait for others of the pool
WAITING: Final = LineLimits(most_of_one=64, most=512, seconds=30.0)
RETRY_AFTER = 5  # seconds, for those who cannot wait any more
SWITCH_SECONDS = 0.0005  # others have the interpreter so soon; ten times as long by default

P = ParamSpec("P")
R = TypeVar("R")


class Judging:
    """The judgements of one server."""

    def __init__(self, waiting: LineLimits = WAITING) -> None:
        self._line = FairLine(waiting)
        self._is_tried = False  # in this round of the event loop one was, which takes long

    async def judge(
        self, origin: str, judgement: Callable[[], R], allowance: Allowance | None = None
    ) -> R:
        """Returns and raises whatever `judgement` does, which is called twice if it takes long.
        `allowance` is shared by those that come one after the other, without a turn between them.

        It reads nothing that the loop changes, but through `on_loop`. Raises: TooManyRequests.
        """
        while self._is_tried:
            await round_trip()  # many that come together are tried one in each round
        try:
            with at_once(allowance):
                return judgement()
        except TakesLong:
            self._is_tried = True
            asyncio.get_running_loop().call_soon(self._begin_round)
            await round_trip()  # before anything begins that a write decided at once would undo
            try:
                async with self._line.place(origin):
                    with taking(LONG_SECONDS):
                        return await in_thread(_sharing, judgement)
            except LineFull as error:
                raise TooManyRequests(
                    f"Too many requests whose expressions take long: {error}",
                    retry_after=RETRY_AFTER,
                ) from error

    def _begin_round(self) -> None:
        self._is_tried = False


def _sharing(judgement: Callable[[], R]) -> R:
    """There is one at a time, so nobody else changes the interval meanwhile."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        return judgement()
    finally:
        sys.setswitchinterval(before)


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
