"""A FlexVolume mount against its driver alone, run by hand with the same arguments. Needs root.

The driver is examples/flexvolume/example.com~tmpfs. Both mount and unmount in turn, so that
whatever else the machine does hits both alike.
"""

import asyncio
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import uvloop

from mooring.clock import RealClock
from mooring.host.mount import Mounts
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest
from mooring.plugins.flex.driver import load
from mooring.plugins.flex.options import mount_options
from mooring.plugins.flex.plugin import FlexPlugin, flex_plugin
from mooring.plugins.layout import Layout
from mooring.plugins.volume_host import Host
from tests.unit.plugins.world import EmptyApi

Row = tuple[str, str, str]

ROUNDS = 100
BOUND_MS = 10.0
NAME = "example.com/tmpfs"
PROGRAM = Path(__file__).parents[1] / "examples/flexvolume/example.com~tmpfs/tmpfs"
USE = VolumeUse(inline=PodVolume(name="data", flex_volume={"driver": NAME}))
POD = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u1"), spec=PodSpec())


def run() -> list[Row]:
    if os.geteuid() != 0:
        return [("FlexVolume mounts", "not run", "mounting needs root")]
    return uvloop.run(_run())


async def _run() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        rng = random.SystemRandom()
        host = Host(Layout(Path(place)), Mounts(), EmptyApi({}), RealClock(), rng, "n1")
        plugin = flex_plugin(await load(NAME, PROGRAM), host)
        by_hand = Path(tempfile.mkdtemp(dir=place))
        mine, alone = [], []
        for _ in range(ROUNDS):
            mine.append(await _by_mooring(plugin))
            alone.append(await asyncio.to_thread(_by_hand, by_hand))
    more = statistics.median(mine) - statistics.median(alone)
    verdict = "" if more <= BOUND_MS else ", MISSED"
    return [
        ("driver alone, median", f"{statistics.median(alone):.1f} ms", f"{ROUNDS} tmpfs mounts"),
        ("mount by Mooring, median", f"{statistics.median(mine):.1f} ms", "the same driver"),
        ("Mooring's own part", f"{more:.1f} ms", f"bound {BOUND_MS:g} ms{verdict}"),
    ]


async def _by_mooring(plugin: FlexPlugin) -> float:
    """Milliseconds."""
    mounter = plugin.mounter(USE, POD)
    began = time.perf_counter()
    await mounter.set_up(MountRequest(lambda *_: None))
    took = time.perf_counter() - began
    await plugin.unmounter("data", "u1").tear_down()
    return took * 1000


def _by_hand(target: Path) -> float:
    words = [str(PROGRAM), "mount", str(target), mount_options(USE, POD).argument]
    began = time.perf_counter()
    # in a session of its own, as Mooring's: on a busy machine the scheduler treats those otherwise
    subprocess.run(words, check=True, capture_output=True, start_new_session=True)  # noqa: S603
    took = time.perf_counter() - began
    subprocess.run([str(PROGRAM), "unmount", str(target)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return took * 1000
