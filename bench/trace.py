"""What the log of CSI calls costs: calls to a driver that answers at once, with and without it.

Both take turns. What the log does for one call is also measured by itself, which the noise of the
machine cannot hide.
"""

import asyncio
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median

import uvloop

from mooring.clock import RealClock
from mooring.csi.call_log import CallLog, TracedCall
from mooring.csi.channel import Connection
from mooring.csi.node import Node
from tests.fakes.csi_driver import FakeCsiDriver

Row = tuple[str, str, str]

TURNS, CALLS, AT_ONCE = 15, 400, 16
ALONE = 20_000
METHOD = "/csi.v1.Node/NodeUnpublishVolume"


class _NoLog(CallLog):
    """Keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._call = super().begin("", METHOD, RealClock().now(), 0.0)

    def begin(self, driver: str, method: str, started: datetime, began: float) -> TracedCall:
        return self._call

    def named(self, call: TracedCall, volume: str) -> None:
        pass

    def end(self, call: TracedCall, code: str, seconds: float) -> None:
        pass


async def _calls(node: Node) -> float:
    """How many in a second."""

    async def some() -> None:
        for _ in range(CALLS // AT_ONCE):
            await node.unpublish("vol-1", "/nowhere", within=30)

    began = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return CALLS / (time.perf_counter() - began)


async def _compare() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as place:
        socket = Path(place, "csi.sock")
        async with (
            FakeCsiDriver(socket),
            Connection(str(socket), driver="d.example.com", calls=CallLog()) as traced,
            Connection(str(socket), driver="d.example.com", calls=_NoLog()) as plain,
        ):
            sides = Node(plain), Node(traced)
            for side in sides:
                await _calls(side)
            rates: tuple[list[float], list[float]] = [], []
            for turn in range(TURNS):
                for number in (0, 1) if turn % 2 else (1, 0):
                    rates[number].append(await _calls(sides[number]))
            return median(rates[0]), median(rates[1])


def _alone() -> float:
    """Seconds of the log for one call, in a full log."""
    log, clock = CallLog(), RealClock()
    began = time.perf_counter()
    for _ in range(ALONE):
        call = log.begin("d.example.com", METHOD, clock.now(), clock.monotonic())
        log.named(call, "vol-0123456789abcdef")
        log.end(call, "OK", clock.monotonic() - call.began)
    return (time.perf_counter() - began) / ALONE


def run() -> list[Row]:
    without, with_log = uvloop.run(_compare())
    alone = _alone()
    return [
        ("calls without the log", f"{without:.0f}/s", f"{AT_ONCE} at once"),
        ("calls with the log", f"{with_log:.0f}/s", f"{(without / with_log - 1) * 100:+.1f} %"),
        ("the log, for one call", f"{alone * 1e6:.1f} us", f"{alone * without * 100:.2f} %"),
    ]
