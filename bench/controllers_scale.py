"""Controllers and scheduler among very many objects: start, memory, one change, idle.

The production roles run in this process on the in-memory store, which is filled behind the API's
back: what is measured is the roles. The same is done with a hundredth of the objects, and one
change of each kind costs as much there, or the slope says how much more.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

import msgspec
import uvloop

from bench.in_process import Cluster, Row, Spent, cluster, pause
from bench.process import Process
from bench.store_filling import DRIVER, fill
from mooring.controllers.role import CONTROLLERS
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import attachment_name

CHOSEN = tuple(name for name in CONTROLLERS if name != "node-lifecycle")
"""Nobody sends heartbeats for these nodes: they would all be lost, and their pods evicted."""

CLAIMS = 100_000
NODES = 5_000
PODS = 50_000  # and as many attachments
CHANGES = 20
FEW = 100  # times fewer
REST_SECONDS = 20.0
_PULSE_SECONDS = 0.01
DEADLINE = 900.0  # seconds for one process


class Measured(msgspec.Struct):
    """Of one process."""

    synced_wall: float
    synced_cpu: float
    longest_block: float  # processor seconds for which the event loop did nothing else
    memory: float  # bytes
    change_ms: dict[str, float]  # processor time of one change, by kind
    idle: float  # share of a core


class _Pulse:
    """For how much processor time one turn of the event loop held up all others.

    A timer, not a task: that would be woken in the turn after the one in which it could run.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._loop = asyncio.get_running_loop()
        self._seen = time.thread_time()
        self._beating = self._loop.call_later(_PULSE_SECONDS, self._beat)

    def stop(self) -> None:
        self._beating.cancel()

    def _beat(self) -> None:
        now = time.thread_time()
        self.longest, self._seen = max(self.longest, now - self._seen), now
        self._beating = self._loop.call_later(_PULSE_SECONDS, self._beat)


async def _change(at: Cluster, kind: type[ApiObject], key: Key, number: int) -> None:
    seen = await at.client.get(kind, key)
    await at.client.patch(seen, {"metadata": {"annotations": {"bench": str(number)}}})


def _samples() -> Iterator[tuple[type[ApiObject], Key]]:
    yield Claim, Key("default", "c000007")
    yield Volume, Key("", "v000007")
    yield Node, Key("", "n000007")
    yield Pod, Key("default", "p000007")
    yield Attachment, Key("", attachment_name("v000007", DRIVER, "n000007"))


async def _cost(at: Cluster, kind: type[ApiObject], key: Key, idle: float) -> float:
    """Milliseconds of processor time, above what doing nothing costs meanwhile."""
    costs = []
    for number in range(CHANGES):
        spent = Spent()
        await _change(at, kind, key, number)
        await pause(0.05)
        costs.append(spent.cpu - idle * spent.wall)
    return median(costs) * 1000


async def _measure(divisor: int) -> Measured:
    async with cluster() as at:
        await fill(at, CLAIMS // divisor, NODES // divisor, PODS // divisor)
        gc.unfreeze()  # what the roles that made the models have left: a process starts without it
        gc.collect()
        before = Process(os.getpid()).resident_bytes()
        pulse = _Pulse()
        spent = Spent()
        async with at.roles(*CHOSEN):
            wall, cpu = spent.wall, spent.cpu
            quiet = 0
            while quiet < 3:  # what the start has queued; others may have the processor for a while
                rest = Spent()
                await pause(2.0)
                quiet = quiet + 1 if rest.cpu < 0.05 else 0
            settled = spent.cpu
            memory = Process(os.getpid()).resident_bytes() - before
            rest = Spent()
            await pause(REST_SECONDS)
            idle = rest.cpu / rest.wall
            changes = {
                kind.resource.plural: await _cost(at, kind, key, idle) for kind, key in _samples()
            }
            pulse.stop()
        print(f"settled after {settled:.1f} s of processor time", file=sys.stderr)
        return Measured(wall, cpu, pulse.longest, memory, changes, idle)


def _in_a_process(divisor: int) -> Measured:
    """Each in its own, so that memory is its own."""
    command = (sys.executable, "-m", "bench.controllers_scale", str(divisor))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=DEADLINE)  # noqa: S603
    return msgspec.json.decode(done.stdout, type=Measured)


def run() -> list[Row]:
    many, few = _in_a_process(1), _in_a_process(FEW)
    return [
        (
            f"{CLAIMS:,} claims, {CLAIMS:,} volumes, {NODES:,} nodes, {PODS:,} pods, synced",
            f"{many.synced_wall:.1f} s",
            f"{many.synced_cpu:.1f} s CPU; target 30 s",
        ),
        (
            "the same: memory of the roles",
            f"{many.memory / 1e6:.0f} MB",
            "above the store's; target 2 GB in all",
        ),
        (
            "the same: the event loop held up, at most",
            f"{many.longest_block:.2f} s CPU",
            "",
        ),
        *(
            (
                f"one change of {plural}",
                f"{cost:.2f} ms CPU",
                f"{cost / few.change_ms[plural]:.2f}x of that with {FEW} times fewer; target 1x",
            )
            for plural, cost in many.change_ms.items()
        ),
        ("idle", f"{many.idle * 100:.1f}% of a core", "target 3%"),
    ]


if __name__ == "__main__":
    found = uvloop.run(_measure(int(sys.argv[1])))
    print(json.dumps(msgspec.to_builtins(found)))
