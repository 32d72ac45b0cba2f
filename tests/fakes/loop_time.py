"""An event loop whose timers need no waiting: when nothing else is to do, its time jumps ahead."""

import asyncio

import pytest


class LoopTime:
    """Takes over the time of a loop. Only for tests without sockets: those take real time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = loop
        self._ahead = 0.0
        real_time = loop.time
        selector = vars(loop)["_selector"]
        really_select = selector.select

        def select(timeout: float | None = None) -> object:
            if timeout:
                self._ahead += timeout
                timeout = 0
            return really_select(timeout)

        monkeypatch.setattr(loop, "time", lambda: real_time() + self._ahead)
        monkeypatch.setattr(selector, "select", select)

    def now(self) -> float:
        return self._loop.time()

    async def passes(self, seconds: float) -> None:
        """Every timer that is due within `seconds` has fired when this returns."""
        reached = self._loop.create_future()
        self._loop.call_later(seconds, reached.set_result, None)
        await reached
