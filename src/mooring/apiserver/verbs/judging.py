"""Judging a document without keeping other requests waiting.

Nearly all rules cost little, and are evaluated where the request is. Those of a custom kind may
take a second and more: then all is judged anew in a thread, of which only one runs at a time, for
it shares the interpreter with everybody else.
"""

import asyncio
from collections.abc import Callable

from mooring.apiserver.cel.patience import TakesLong, at_once
from mooring.host.blocking import in_thread, taking

MOST_LONG = 1  # documents that are judged in threads at the same time
LONG_SECONDS = 120.0  # such a thread may have to wait for the others

Judgement = Callable[[], None]


class Judging:
    """The judgements of one server."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MOST_LONG)

    async def judge(self, judgement: Judgement) -> None:
        """Raises whatever `judgement` does, which is called twice if it takes long."""
        try:
            with at_once():
                judgement()
        except TakesLong:
            async with self._room:
                with taking(LONG_SECONDS):
                    await in_thread(judgement)
