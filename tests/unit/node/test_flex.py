"""FlexVolumes of a node: found after a restart, once the drivers are known."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.node.actual import Attachability, DeviceState
from mooring.node.flex import volumes_of
from mooring.node.reconstruct import reconstruct
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.paths import device_mount
from mooring.plugins.flex.prober import FlexProber
from mooring.plugins.registry import built_in
from tests.fakes.flex_driver import NAME, PlayedDriver, PlayedDrivers
from tests.fakes.plugins import FakeDisk
from tests.unit.node.effects.world import NodeWorld


def a_world(root: Path, *, attach: bool) -> NodeWorld:
    world = NodeWorld(root, FakeDisk)
    host = world.context.host
    driver = PlayedDriver(host.mounts, Capabilities(attach=attach))
    prober = FlexProber(PlayedDrivers(world.context.clock, driver), host)
    world.context = replace(world.context, registry=built_in(host, prober=prober))
    return world


@pytest.mark.parametrize("attach", [False, True])
async def test_a_volume_of_a_pod_is_reconstructed(tmp_path: Path, attach: bool) -> None:  # noqa: FBT001  a column
    context = a_world(tmp_path, attach=attach).context
    context.host.layout.volume("p1", NAME, "pv1").mkdir(parents=True)
    found = await reconstruct(context)
    assert found.volumes == ({f"{NAME}/pv1"} if attach else {f"{NAME}/p1-pv1"})
    (here,) = context.actual.volumes()
    assert here.attachability is (Attachability.UNCERTAIN if attach else Attachability.NO)
    assert volumes_of(context, NAME) == tuple(found.volumes)
    assert volumes_of(context, "example.com/other") == ()


async def test_a_device_mount_without_a_pod_is_reconstructed(tmp_path: Path) -> None:
    context = a_world(tmp_path, attach=True).context
    place = device_mount(context.host.layout, NAME, "pv1")
    await asyncio.to_thread(place.mkdir, parents=True)
    assert (await reconstruct(context)).volumes == {f"{NAME}/pv1"}
    (here,) = context.actual.volumes()
    assert (here.device, here.device_mount_path) == (DeviceState.UNCERTAIN, place)


async def test_a_volume_whose_driver_is_gone_is_left_for_later(tmp_path: Path) -> None:
    context = a_world(tmp_path, attach=True).context
    context.host.layout.volume("p1", "example.com/gone", "pv1").mkdir(parents=True)
    found = await reconstruct(context)
    (left,) = found.not_reconstructed
    assert left.because == "no volume plugin matched name: example.com/gone"
