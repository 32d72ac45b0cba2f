"""What the plugin says of volumes, and what it reads back from the disk."""

import asyncio
from typing import Any

import pytest

from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attachable,
    BlockMappable,
    DeviceMountable,
    DeviceRequest,
    NodeExpandable,
    NotStarted,
    VolumeError,
)
from mooring.plugins.csi.reconstruct import CsiTrace, scan
from mooring.plugins.unique_name import unique_name
from tests.unit.plugins.csi.world import (
    DRIVER,
    HANDLE,
    NODE,
    POD,
    CsiWorld,
    a_persistent_use,
    an_inline_use,
)
from tests.unit.plugins.world import a_request

USE, INLINE = a_persistent_use(), an_inline_use()


def test_it_can_do_all_that_is_asked_of_it(world: CsiWorld) -> None:
    for protocol in (Attachable, DeviceMountable, BlockMappable, NodeExpandable):
        assert isinstance(world.plugin, protocol)


def test_it_serves_csi_volumes_only(world: CsiWorld) -> None:
    assert world.plugin.supports(USE)
    assert world.plugin.supports(INLINE)
    assert not world.plugin.supports(VolumeUse(inline=PodVolume(name="x")))


def test_names(world: CsiWorld) -> None:
    assert world.plugin.volume_name(USE) == f"{DRIVER}^{HANDLE}"
    assert unique_name(world.plugin, USE, "uid") == f"kubernetes.io/csi/{DRIVER}^{HANDLE}"
    assert unique_name(world.plugin, INLINE, "uid") == "kubernetes.io/csi/uid-scratch"
    with pytest.raises(VolumeError, match="failed to extract volume source from spec"):
        world.plugin.volume_name(INLINE)


ATTACHED: dict[str, tuple[dict[str, Any] | None, VolumeUse, bool]] = {
    "without an object": (None, USE, True),
    "by default": ({}, USE, True),
    "not if the driver needs none": ({"attachRequired": False}, USE, False),
    "never an inline one": ({}, INLINE, False),
}


@pytest.mark.parametrize(("spec", "use", "expected"), ATTACHED.values(), ids=ATTACHED)
def test_a_volume_is_attached(
    world: CsiWorld, spec: dict[str, Any] | None, use: VolumeUse, *, expected: bool
) -> None:
    if spec is not None:
        world.objects.define(**spec)
    assert world.plugin.can_attach(use) is expected
    assert world.plugin.can_mount_device(use) is (use is USE)


def test_while_objects_are_not_known_nobody_says_whether(world: CsiWorld) -> None:
    world.objects.synced = asyncio.Event()
    with pytest.raises(NotStarted):
        world.plugin.can_attach(USE)
    assert not world.plugin.can_attach(INLINE)
    assert not world.plugin.wants_remount(USE)


def test_what_is_published_again_and_again(world: CsiWorld) -> None:
    assert not world.plugin.wants_remount(USE)
    world.objects.define(requiresRepublish=True)
    assert world.plugin.wants_remount(USE)
    assert world.plugin.wants_remount(INLINE)


# limits

FULL: dict[str, tuple[dict[str, Any], dict[str, Any] | None, bool]] = {
    "an attachment that failed for want of room": (
        {"nodeAllocatableUpdatePeriodSeconds": 60},
        {"attached": False, "attachError": {"errorCode": 8}},
        True,
    ),
    "not one that failed otherwise": (
        {"nodeAllocatableUpdatePeriodSeconds": 60},
        {"attached": False, "attachError": {"errorCode": 13}},
        False,
    ),
    "not one that did not fail": ({"nodeAllocatableUpdatePeriodSeconds": 60}, {}, False),
    "not without an attachment": ({"nodeAllocatableUpdatePeriodSeconds": 60}, None, False),
    "not of a driver whose limit is fixed": (
        {},
        {"attached": False, "attachError": {"errorCode": 8}},
        False,
    ),
}


@pytest.mark.parametrize(("spec", "status", "expected"), FULL.values(), ids=FULL)
async def test_a_full_node(
    world: CsiWorld, spec: dict[str, Any], status: dict[str, Any] | None, *, expected: bool
) -> None:
    asked: list[str] = []
    world.drivers.on_full(asked.append)
    world.objects.define(**spec)
    if status is not None:
        world.attach(**status)
    assert await world.plugin.is_node_full(USE, NODE) is expected
    assert asked == ([DRIVER] if expected else [])


# after a restart


async def test_a_published_volume_is_read_back(world: CsiWorld) -> None:
    world.attach()
    await world.plugin.mounter(USE, POD).set_up(a_request())
    world.restart()
    rebuilt = world.plugin.rebuild("pv1", POD.uid)
    assert (rebuilt.name, rebuilt.mode) == ("pv1", VolumeMode.FILESYSTEM)
    assert world.plugin.volume_name(rebuilt) == world.plugin.volume_name(USE)


async def test_an_inline_volume_is_read_back(world: CsiWorld) -> None:
    world.objects.define(volumeLifecycleModes=["Ephemeral"], podInfoOnMount=True)
    await world.plugin.mounter(INLINE, POD).set_up(a_request())
    rebuilt = world.plugin.rebuild("scratch", POD.uid)
    assert unique_name(world.plugin, rebuilt, POD.uid) == f"kubernetes.io/csi/{POD.uid}-scratch"


async def test_a_volume_that_is_only_staged_is_found_and_read_back(world: CsiWorld) -> None:
    world.attach()
    devices = world.plugin.device_mounter()
    place = devices.device_mount_path(USE)
    await devices.mount_device(USE, "", place, DeviceRequest())
    (found,) = scan(world.host.layout)
    assert found == CsiTrace(f"{DRIVER}/{place.parent.name}")
    rebuilt = world.plugin.rebuild(found.name, "")
    assert world.plugin.volume_name(rebuilt) == world.plugin.volume_name(USE)
    assert devices.device_mount_path(rebuilt) == place


def test_what_was_never_there_is_not_read_back(world: CsiWorld) -> None:
    assert list(scan(world.host.layout)) == []
    with pytest.raises(VolumeError, match="failed to open volume data file"):
        world.plugin.rebuild("pv1", POD.uid)
    with pytest.raises(VolumeError, match="failed to open volume data file"):
        world.plugin.rebuild_block("pv1", POD.uid)


def test_directories_of_nobody_are_no_volumes(world: CsiWorld) -> None:
    root = world.host.layout.plugins / "kubernetes.io/csi"
    (root / DRIVER / "empty").mkdir(parents=True)
    (root / "volumeDevices/staging/pv1").mkdir(parents=True)
    (root / "volumeDevices/publish").mkdir()
    (root / "volumeDevices/pv1/dev").mkdir(parents=True)
    assert list(scan(world.host.layout)) == []
