"""What keeps a device from being unmounted, though no pod has it."""

from pathlib import Path

import pytest

from mooring.host import block_device
from mooring.node.actual import DeviceState
from mooring.plugins.contract import VolumeError
from tests.unit.node.effects.stories import UNSURE
from tests.unit.node.effects.world import NodeWorld, a_use

GLOBAL = "node/plugins/example.com/disk/mounts/pv"


async def mounted(world: NodeWorld, root: Path) -> Path:
    """A volume whose device really is in the mount table; its pod has gone meanwhile."""
    world.want("p1", a_use())
    await world.once()
    target = root / GLOBAL
    target.mkdir(parents=True)
    world.mounts.mount("/dev/sdx", target, "ext4")
    world.backend.calls.clear()
    world.drop("p1")
    return target


PLACES = {
    "a bind of the device that is not ours": ("elsewhere/bind", False),
    "a pod's bind of the device that is not known": (
        "node/pods/p9/volumes/example.com~disk/pv",
        False,
    ),
    "the same mount, seen through a bind of the node's directory": (f"elsewhere/{GLOBAL}", True),
    "another mount of ours": ("node/plugins/example.com/disk/mounts/pv2", True),
}


@pytest.mark.parametrize(("place", "goes"), PLACES.values(), ids=PLACES)
async def test_other_mounts_of_the_device(
    place: str,
    goes: bool,  # noqa: FBT001  a column of the table
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        target = await mounted(world, tmp_path)
        other = tmp_path / place
        other.mkdir(parents=True)
        world.mounts.bind(target, other)
        await world.once()
        if goes:
            assert world.backend.calls == ["tear_down pv p1", "unmount_device pv"]
            return
        assert world.backend.calls == ["tear_down pv p1"]
        assert world.here().device is DeviceState.MOUNTED
        assert world.events() == ()
        world.mounts.unmount(other)
        await world.settle()
        assert world.backend.calls == ["tear_down pv p1", "unmount_device pv"]
        assert world.picture() is None


async def test_a_foreign_mount_of_the_device_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with NodeWorld(tmp_path) as world:
        target = await mounted(world, tmp_path)
        other = tmp_path / "elsewhere"
        other.mkdir()
        world.mounts.bind(target, other)
        await world.once()
    text = f'the device mount path \\"{target}\\" is still mounted by other references [{other}]'
    assert text in caplog.text


async def test_a_device_that_the_kernel_calls_busy_stays_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = [True, False]
    monkeypatch.setattr(block_device, "is_block_device", lambda path: path == Path("/dev/sdx"))
    monkeypatch.setattr(block_device, "is_busy", lambda path: busy.pop(0))
    async with NodeWorld(tmp_path) as world:
        name = world.want("p1", a_use())
        await world.once()
        world.context.actual.device_mounted(name, "/dev/sdx", tmp_path / GLOBAL, "")
        world.drop("p1")
        await world.once()
        assert world.here().device is UNSURE
        assert world.here().device_path == "/dev/sdx"
        await world.settle()
        assert world.picture() is None


async def test_a_device_is_unmounted_where_it_was_mounted_when_its_plugin_cannot_say(
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.backend.script("device_mount_path", VolumeError('path "/x" does not exist'))
        world.drop("p1")
        await world.once()
        assert world.backend.calls[-1] == "unmount_device pv"
        assert world.picture() is None


async def test_a_device_that_nobody_knows_the_place_of_stays_in_doubt(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.drop("p1")
        world.restart()
        world.backend.script("device_mount_path", VolumeError("no idea"))
        await world.once()
        assert world.here().device is UNSURE
        await world.settle()
        assert world.picture() is None
