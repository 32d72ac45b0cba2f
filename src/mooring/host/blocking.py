"""Calling the operating system from async code: in threads, with a time limit.

Code that works on a volume says so once (`within_volume`); all calls in that block, in whatever
plugin, count as that volume's. See `bulkhead.py` for what follows from it.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from mooring.host.bulkhead import Bulkheads, Place, Pool
from mooring.host.daemon_threads import DaemonThreads

P = ParamSpec("P")
R = TypeVar("R")

_OWN = Place()
_place: ContextVar[Place] = ContextVar("place", default=_OWN)
_threads = DaemonThreads()
_bulkheads: WeakKeyDictionary[asyncio.AbstractEventLoop, Bulkheads] = WeakKeyDictionary()


async def in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `call` in a thread; return or raise what it does.

    A system call cannot be cancelled: a cancelled caller returns only after the call has ended or
    was given up. A call that was given up blocks all others on its volume until it returns, so a
    late mount never appears during a tear-down.
    Raises: StillRunning when the call, or an earlier one on the volume, has not returned in time.
    """
    place = _place.get()
    what = partial(_words, call, args)
    return await bulkheads().run(place, what, partial(call, *args, **kwargs))


@contextmanager
def within_volume(name: str) -> Iterator[None]:
    """Calls inside the block are about this volume."""
    with _at(replace(_place.get(), pool=Pool.VOLUMES, key=name)):
        yield


@contextmanager
def within_own(key: str) -> Iterator[None]:
    """Calls inside the block are about this part of the node's own disk: a pod's directory."""
    with _at(replace(_place.get(), pool=Pool.OWN, key=key)):
        yield


@contextmanager
def taking(seconds: float) -> Iterator[None]:
    """Calls inside the block may go `seconds` without progress before they are given up."""
    with _at(replace(_place.get(), seconds=seconds)):
        yield


def bulkheads() -> Bulkheads:
    """The bulkheads of the running loop."""
    loop = asyncio.get_running_loop()
    found = _bulkheads.get(loop)
    if found is None:
        found = _bulkheads[loop] = Bulkheads(_threads.start)
    return found


def install(chosen: Bulkheads) -> None:
    """Use these for the running loop."""
    _bulkheads[asyncio.get_running_loop()] = chosen


@contextmanager
def _at(place: Place) -> Iterator[None]:
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def _words(call: Callable[..., object], args: tuple[object, ...]) -> str:
    """The call's name and its path, for error texts."""
    name = getattr(call, "__name__", type(call).__name__).strip("_")
    owner = getattr(call, "__self__", None)
    about = next((arg for arg in args if isinstance(arg, Path)), getattr(owner, "path", None))
    return f"{name} {about}" if isinstance(about, Path) else name
