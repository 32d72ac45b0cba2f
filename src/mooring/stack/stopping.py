"""When to stop: a role runs until somebody asks its process to end."""

import asyncio
import signal


def stop_asked() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set from now on."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
