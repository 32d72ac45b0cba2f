"""When to stop: a role runs until somebody asks its process to end."""

import asyncio
import signal

from mooring.host.blocking import bulkheads

REST_SECONDS = 5.0  # for calls to the operating system; then they are left where they are


def stop_asked() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set from now on; calls that do not return hold up nobody."""
    stop = asyncio.Event()

    def ask() -> None:
        stop.set()
        bulkheads().leave_within(REST_SECONDS)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ask)
    return stop
