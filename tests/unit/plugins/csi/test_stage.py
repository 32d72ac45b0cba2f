"""What is staged once for all pods of a volume."""

import json
from pathlib import Path

import pytest

from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.model.reference import SecretReference
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, NotStarted, Uncertain, VolumeError
from mooring.plugins.csi.attachment_name import attachment_name
from tests.fakes.csi_played import Fault
from tests.unit.plugins.csi.world import (
    CONTEXT,
    DRIVER,
    HANDLE,
    NODE,
    CsiWorld,
    a_persistent_use,
    an_inline_use,
)

USE = a_persistent_use()
ATTACHMENT = attachment_name(HANDLE, DRIVER, NODE)


async def stage(
    world: CsiWorld, use: VolumeUse = USE, fs_group: int | None = None
) -> pb.NodeStageVolumeRequest:
    devices = world.plugin.device_mounter()
    place = devices.device_mount_path(use)
    await devices.mount_device(use, "", place, DeviceRequest(fs_group))
    return world.connection.of(pb.NodeStageVolumeRequest)[-1]


def target(world: CsiWorld) -> Path:
    return world.plugin.device_mounter().device_mount_path(USE)


async def unstage(world: CsiWorld) -> None:
    await world.plugin.device_unmounter().unmount_device(target(world))


async def test_all_that_the_volume_says(world: CsiWorld) -> None:
    world.attach()
    world.api.secrets["login"] = {"user": b"me"}
    use = a_persistent_use(
        volume_attributes={"pool": "fast"},
        node_stage_secret_ref=SecretReference("login", "default"),
    )
    request = await stage(world, use, fs_group=2000)
    assert request.volume_id == HANDLE
    assert request.staging_target_path == str(target(world))
    assert dict(request.publish_context) == CONTEXT
    assert dict(request.volume_context) == {"pool": "fast"}
    assert dict(request.secrets) == {"user": "me"}
    mount = request.volume_capability.mount
    assert (mount.fs_type, list(mount.mount_flags)) == ("ext4", ["noatime"])
    assert mount.volume_mount_group == "2000"
    assert target(world).stat().st_mode & 0o777 == 0o750
    written = json.loads((target(world).parent / "vol_data.json").read_text())
    assert written == {"driverName": DRIVER, "volumeHandle": HANDLE}


async def test_a_driver_that_does_not_stage_is_not_asked(world: CsiWorld) -> None:
    world.state.node.discard(NodeCapability.STAGE_UNSTAGE_VOLUME)
    secret = SecretReference("missing", "default")
    use = a_persistent_use(node_stage_secret_ref=secret)
    place = world.plugin.device_mounter().device_mount_path(use)
    await world.plugin.device_mounter().mount_device(use, "", place, DeviceRequest())
    assert world.connection.rpcs() == []
    assert not place.parent.exists()
    await unstage(world)
    assert world.connection.rpcs() == []


async def test_a_driver_that_stages_no_more_is_not_asked_to_unstage(world: CsiWorld) -> None:
    world.attach()
    await stage(world)
    world.mounts.unmount(target(world))
    world.state.node.discard(NodeCapability.STAGE_UNSTAGE_VOLUME)
    world.connection.restart()
    await unstage(world)
    assert world.connection.rpcs() == ["NodeStageVolume"]
    assert not target(world).parent.exists()


async def test_a_refusal_leaves_nothing(world: CsiWorld) -> None:
    world.attach()
    world.connection.fail("NodeStageVolume", Fault(Code.INVALID_ARGUMENT))
    with pytest.raises(VolumeError) as raised:
        await stage(world)
    assert str(raised.value) == "rpc error: code = InvalidArgument desc = scripted"
    assert not target(world).parent.exists()


async def test_a_lost_answer_leaves_all(world: CsiWorld) -> None:
    world.attach()
    world.connection.fail("NodeStageVolume", Fault(Code.DEADLINE_EXCEEDED, is_done=True))
    with pytest.raises(Uncertain):
        await stage(world)
    await unstage(_restarted(world))
    assert world.connection.rpcs() == ["NodeStageVolume", "NodeUnstageVolume"]
    assert not target(world).parent.exists()


async def test_nothing_staged_is_unstaged(world: CsiWorld) -> None:
    await unstage(world)
    assert world.connection.requests == []


async def test_a_failed_unstage_is_asked_for_again(world: CsiWorld) -> None:
    world.attach()
    await stage(world)
    world.connection.fail("NodeUnstageVolume", Fault(Code.INTERNAL))
    with pytest.raises(Uncertain, match=r"attacher\.UnmountDevice failed: rpc error: code = Inte"):
        await unstage(world)
    await unstage(world)
    assert world.state.stages == {}
    assert not target(world).parent.exists()


async def test_a_driver_that_is_not_there(world: CsiWorld) -> None:
    world.attach()
    await stage(world)
    world.drivers.drop(DRIVER)
    missing = f"driver name {DRIVER} not found in the list of registered CSI drivers"
    before = "kubernetes.io/csi: attacher."
    with pytest.raises(NotStarted) as raised:
        await unstage(world)
    assert str(raised.value) == (
        f"{before}UnmountDevice failed to create newCsiDriverClient: {missing}"
    )
    with pytest.raises(NotStarted) as raised:
        await stage(world)
    assert str(raised.value) == (
        f"{before}MountDevice failed to create newCsiDriverClient: {missing}"
    )


UNUSABLE = {
    "an inline volume": (an_inline_use(), "unexpected api.CSIVolumeSource"),
    "no handle": (a_persistent_use(handle=""), "volume handle is empty"),
}


@pytest.mark.parametrize(("use", "text"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_staged(world: CsiWorld, use: VolumeUse, text: str) -> None:
    with pytest.raises(VolumeError, match=text):
        world.plugin.device_mounter().device_mount_path(use)


def _restarted(world: CsiWorld) -> CsiWorld:
    world.restart()
    return world
