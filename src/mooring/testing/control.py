"""How a test reaches its cluster's world: on a thread of this process, or in a child."""

import asyncio
import os
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mooring.errors import MooringError
from mooring.testing.errors import ClusterError, told_start_failure
from mooring.testing.settings import Settings

if TYPE_CHECKING:
    from mooring.testing.world import World

START_SECONDS = 60.0
STOP_SECONDS = 30.0
LEAVE_SECONDS = 2.0


class Control(Protocol):
    @property
    def url(self) -> str: ...

    def call(self, method: str, /, **arguments: Any) -> Any:
        """A method of the world. Raises: ClusterError."""
        ...

    def trouble(self) -> str:
        """Why the cluster does not run; empty while it does."""
        ...

    def stop(self) -> None:
        """After: nothing of it runs. Again: nothing."""
        ...

    def abandon(self) -> None:
        """Nobody holds the cluster any more, or the interpreter ends: `stop`, within a moment."""
        ...


class ThreadControl:
    """`Control`: a thread with a loop of its own, so that a blocked loop of the caller is no
    trouble. Raises: ClusterError."""

    def __init__(self, data_dir: Path, settings: Settings) -> None:
        self._owner = os.getpid()
        self._failure = ""
        self._ready: Future[World] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(data_dir, settings), name="mooring-cluster", daemon=True
        )
        try:
            self._thread.start()
            self._world = self._ready.result(START_SECONDS)
        except BaseException as error:  # interrupted, too: nothing of it may stay
            self._ready.add_done_callback(_stop)
            if self._thread.ident is not None:  # it still writes to the directory
                self._thread.join(STOP_SECONDS)
            if isinstance(error, MooringError | OSError | TimeoutError):
                told = told_start_failure(error, data_dir.parent.parent)
                raise ClusterError(f"the cluster does not start: {told}") from error
            raise

    @property
    def url(self) -> str:
        return self._world.url

    def call(self, method: str, /, **arguments: Any) -> Any:
        self._check_process()
        if trouble := self.trouble():
            raise ClusterError(trouble)
        asked = self._world.call(method, arguments)
        try:
            return asyncio.run_coroutine_threadsafe(asked, self._world.loop).result()
        except RuntimeError as error:  # its loop has just closed
            asked.close()
            raise ClusterError(self.trouble() or f"the cluster has stopped: {error}") from error
        except ClusterError:
            raise
        except MooringError as error:
            raise ClusterError(str(error)) from error

    def trouble(self) -> str:
        if os.getpid() != self._owner or self._thread.is_alive():
            return ""
        return self._failure or "the cluster has stopped"

    def stop(self) -> None:
        if os.getpid() == self._owner:
            self._end(STOP_SECONDS)

    def abandon(self) -> None:
        if os.getpid() == self._owner:
            self._end(LEAVE_SECONDS)

    def _end(self, seconds: float) -> None:
        with suppress(RuntimeError):  # its loop is closed
            self._world.loop.call_soon_threadsafe(self._world.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _run(self, data_dir: Path, settings: Settings) -> None:
        try:
            from mooring.testing.world import run_world

            run_world(data_dir, settings, self._ready.set_result)
        except BaseException as error:  # noqa: BLE001  it is told to whoever asks next
            reasons = _reasons(error)
            self._failure = f"the cluster has died: {reasons[0]}"
            if not self._ready.done():
                self._ready.set_exception(reasons[0])

    def _check_process(self) -> None:
        if os.getpid() != self._owner:
            raise ClusterError(
                f"the cluster belongs to process {self._owner}, of which this is a fork: here only "
                "its API can be used (apply, get, wait, kubeconfig)"
            )


def _reasons(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [reason for inner in error.exceptions for reason in _reasons(inner)]
    return [error]


def _stop(ready: "Future[World]") -> None:
    """It came after all; called on its loop."""
    if ready.exception() is None:
        ready.result().stop()
