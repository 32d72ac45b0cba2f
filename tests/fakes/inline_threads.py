"""Threads that are none: what is sent to one has happened before anything else does.

So virtual time and turns of the event loop are all that a test has to wait for.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class InlineThreads(ThreadPoolExecutor):
    """For `loop.set_default_executor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  the caller's to judge, as from a thread
            future.set_exception(error)
        return future
