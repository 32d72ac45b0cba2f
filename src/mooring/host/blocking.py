"""Calling the operating system from async code: never on the event loop, and not without a limit.

Who works on a volume says so once (`within_volume`), and all calls below it, in whatever plugin,
are that volume's; see `bulkhead.py` for what that means.
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
    """What `call` returns or raises, without blocking the loop.

    A system call cannot be taken back: when the caller is cancelled, it is cancelled only after
    the call has ended or was given up; and what was given up keeps everything else off its volume
    until it returns. So nobody ever finds a mount appearing under a tear-down.
    Raises: StillRunning when it has not returned in its time, or an earlier one has not.
    """
    place = _place.get()
    what = partial(_words, call, args)
    return await bulkheads().run(place, what, partial(call, *args, **kwargs))


@contextmanager
def within_volume(name: str) -> Iterator[None]:
    """Calls in here are about this volume, and about no other."""
    with _at(replace(_place.get(), pool=Pool.VOLUMES, key=name)):
        yield


@contextmanager
def within_own(key: str) -> Iterator[None]:
    """Calls in here are about this part of the machine's own files: a pod's directory."""
    with _at(replace(_place.get(), pool=Pool.OWN, key=key)):
        yield


@contextmanager
def taking(seconds: float) -> Iterator[None]:
    """Calls in here may take so long without getting on."""
    with _at(replace(_place.get(), seconds=seconds)):
        yield


def bulkheads() -> Bulkheads:
    """Those of the running loop."""
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
    """What people are told: the call's name, and the path that it is about."""
    name = getattr(call, "__name__", type(call).__name__).strip("_")
    owner = getattr(call, "__self__", None)
    about = next((arg for arg in args if isinstance(arg, Path)), getattr(owner, "path", None))
    return f"{name} {about}" if isinstance(about, Path) else name
