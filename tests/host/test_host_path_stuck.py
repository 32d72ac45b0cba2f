"""Volumes made and deleted by the controllers on a disk that hangs: others are not held up."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host import blocking
from mooring.host.bulkhead import Bulkheads
from mooring.host.daemon_threads import DaemonThreads
from mooring.model.claim import Claim
from mooring.model.meta import ObjectMeta
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import HostPathSource
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from tests.fakes.hanging_disk import HangingDisk, hanging_disk
from tests.host.stuck_node import PATIENCE


@pytest.fixture
def disk(place: Path) -> Iterator[HangingDisk]:
    with hanging_disk(place / "disk") as disk:
        yield disk


@pytest.fixture
async def bulkheads() -> Bulkheads:
    chosen = Bulkheads(DaemonThreads().start, PATIENCE)
    blocking.install(chosen)
    return chosen


def an_order(uid: str) -> Order:
    claim = Claim(metadata=ObjectMeta(name=uid, namespace="default", uid=uid))
    return Order(f"pvc-{uid}", claim, StorageClass(metadata=ObjectMeta(name="own")))


def a_volume(path: Path) -> Volume:
    spec = VolumeSpec(host_path=HostPathSource(path=str(path)))
    return Volume(metadata=ObjectMeta(name="pv"), spec=spec)


async def test_what_hangs_is_told_and_what_does_not_goes_on(
    place: Path, disk: HangingDisk, bulkheads: Bulkheads
) -> None:
    stuck = HostPathPlugin(disk.at, HostPathProvisioning.ON)
    well = HostPathPlugin(place, HostPathProvisioning.ON)
    making = [asyncio.create_task(stuck.provision(an_order(f"s{n}"))) for n in range(20)]
    deleting = asyncio.create_task(stuck.delete(a_volume(disk.at / "x")))
    made = await well.provision(an_order("w"))
    await well.delete(a_volume(Path(made["spec"]["hostPath"]["path"])))
    for task in (*making, deleting):
        with pytest.raises(PluginError, match="has not returned since"):
            await task
