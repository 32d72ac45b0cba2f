"""`mooring top`: reads once, or again and again, and shows what it read."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import uvloop

from mooring.client.connect import connect
from mooring.client.http import HttpClient
from mooring.clock import Clock, RealClock
from mooring.errors import MooringError, UsageError
from mooring.stack.process import stop_event
from mooring.top.read import Measured, read_summaries
from mooring.top.rows import Row, Subject, rows_of
from mooring.top.told import printable

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[[Sequence[Row], Mapping[str, str]], None]

RESERVED_LINES = 3  # of a terminal: titles, the last line, the cursor


class Wish(msgspec.Struct, frozen=True):
    subject: Subject
    namespace: str = ""  # empty: all


def run_once(kubeconfig: Path | None, wish: Wish, show: Show) -> None:
    """Raises: UsageError when no node could be asked."""

    async def run() -> None:
        async with connect(kubeconfig, RealClock()) as client:
            measured = await read_summaries(client)
        _check(measured)
        show(rows_of(wish.subject, measured.summaries, wish.namespace), measured.unseen)

    uvloop.run(run())


def run_live(kubeconfig: Path | None, wish: Wish, every: float, console: "Console") -> None:
    """Until SIGINT or SIGTERM. An API server that is away for a while is waited for."""

    async def run() -> None:
        stop = stop_event()
        clock = RealClock()
        async with connect(kubeconfig, clock) as client, asyncio.TaskGroup() as tasks:
            drawing = tasks.create_task(_draw(client, wish, every, console, clock))
            waiting = tasks.create_task(stop.wait())
            await asyncio.wait((drawing, waiting), return_when=asyncio.FIRST_COMPLETED)
            drawing.cancel()
            waiting.cancel()

    uvloop.run(run())


async def _draw(
    client: HttpClient, wish: Wish, every: float, console: "Console", clock: Clock
) -> None:
    from rich.live import Live

    from mooring.top.live import screen

    first = await read_summaries(client)  # what is wrong from the start is an error
    _check(first)
    with Live(console=console, auto_refresh=False, screen=False) as live:
        measured, trouble = first, ""
        while True:
            rows = rows_of(wish.subject, measured.summaries, wish.namespace)
            most = max(1, console.size.height - RESERVED_LINES - len(measured.unseen))
            when = trouble or f"read at {clock.now():%H:%M:%S} UTC, every {every:g} s"
            live.update(screen(wish.subject, rows, measured.unseen, most, when), refresh=True)
            await clock.sleep(every)
            try:
                measured, trouble = await read_summaries(client), ""
            except MooringError as error:
                trouble = f"not read: {printable(str(error))}"


def _check(measured: Measured) -> None:
    if measured.unseen and not measured.summaries:
        node, why = next(iter(measured.unseen.items()))
        raise UsageError(f"no node could be asked; {node}: {why}")
