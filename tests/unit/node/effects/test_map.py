"""The device of a block volume: given to pods and taken from them."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.node.actual import DeviceState
from mooring.plugins.contract import VolumeError
from tests.fakes.plugins import FakePlugin, Outcome
from tests.unit.node.effects.stories import (
    HAS,
    MAYBE,
    MOUNTED,
    NOT_MOUNTED,
    Story,
    at_last,
    drop,
    later,
    play,
    refresh,
    want,
)
from tests.unit.node.effects.world import OTHER_ZONE, NodeWorld, Picture, a_use

BLOCK = a_use("block", mode=VolumeMode.BLOCK)
ONE_POD = a_use("block", AccessMode.ONCE_POD, mode=VolumeMode.BLOCK)
NAME = "example.com/disk/block"

MAP = ("set_up_device block", "map_pod_device block p1")
UNMAP = ("unmap_pod_device block p1", "tear_down_device block")


def shown(root: Path, pod_uid: str = "p1") -> list[tuple[str, str]]:
    text = 'MapVolume.MapPodDevice succeeded for volume "block" '
    once = root / "node/plugins/example.com/disk/volumeDevices/block"
    of_pod = root / f"node/pods/{pod_uid}/volumeDevices/example.com~disk"
    return [
        ("SuccessfulMountVolume", f'{text}globalMapPath "{once}"'),
        ("SuccessfulMountVolume", f'{text}volumeMapPath "{of_pod}"'),
    ]


def failed(what: str) -> tuple[str, str]:
    step, error = what.split(" : ")
    return ("FailedMapVolume", f'{step} failed for volume "block" : {error}')


QUIET = {  # stories in which no pod gets the device
    "an uncertain device is torn down": Story(
        script={"set_up_device": [Outcome.LOST]},
        acts=[want(use=BLOCK), drop()],
        calls=["set_up_device block", "tear_down_device block"],
        left=None,
        events=[failed("MapVolume.SetUpDevice : set_up_device timed out")],
    ),
    "a device that certainly was not set up is not torn down": Story(
        script={"set_up_device": [Outcome.FINAL]},
        acts=[want(use=BLOCK), drop()],
        calls=["set_up_device block"],
        left=None,
        events=[failed("MapVolume.SetUpDevice : set_up_device refused")],
    ),
    "a mapping that timed out is uncertain": Story(
        script={"map_pod_device": [Outcome.LOST]},
        acts=[want(use=BLOCK)],
        calls=MAP,
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[failed("MapVolume.MapPodDevice : map_pod_device timed out")],
    ),
    "an uncertain mapping is unmapped when the pod goes": Story(
        script={"map_pod_device": [Outcome.LOST]},
        acts=[want(use=BLOCK), drop()],
        calls=[*MAP, *UNMAP],
        left=None,
        events=[failed("MapVolume.MapPodDevice : map_pod_device timed out")],
    ),
    "a mapping that was refused leaves nothing to unmap": Story(
        script={"map_pod_device": [Outcome.FINAL]},
        acts=[want(use=BLOCK), drop()],
        calls=[*MAP, "tear_down_device block"],
        left=None,
        events=[failed("MapVolume.MapPodDevice : map_pod_device refused")],
    ),
    "a volume of another node is not touched": Story(
        acts=[want(use=a_use("block", mode=VolumeMode.BLOCK, node_affinity=OTHER_ZONE))],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[
            (
                "FailedMount",
                'MapVolume.NodeAffinity check failed for volume "block" : '
                "no matching NodeSelectorTerms",
            )
        ],
    ),
    "a mapper that cannot be made": Story(
        script={"block_mapper": [VolumeError("no")]},
        acts=[want(use=BLOCK)],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[failed("MapVolume.NewBlockVolumeMapper initialization : no")],
    ),
    "a plugin that knows no devices": Story(
        make_plugin=FakePlugin,
        acts=[want(use=BLOCK)],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[failed("MapVolume.FindMapperPluginBySpec : no block volume plugin matched")],
    ),
}


@pytest.mark.parametrize("story", QUIET.values(), ids=QUIET)
async def test_without_a_device(story: Story, tmp_path: Path) -> None:
    assert await play(story, tmp_path) == story.end


LOUD = {  # stories in which p1 gets the device, and is told so
    "a block volume is mapped in this order": Story(
        acts=[want(use=BLOCK)], calls=MAP, left=Picture(MOUNTED, {"p1": HAS})
    ),
    "a block volume is unmapped in the reverse order": Story(
        acts=[want(use=BLOCK), drop()], calls=[*MAP, *UNMAP], left=None
    ),
    "a mapping that is asked for again stays whatever comes of it": Story(
        script={"map_pod_device": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(use=BLOCK), refresh(), later],
        calls=[*MAP, "map_pod_device block p1", "map_pod_device block p1"],
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[failed("MapVolume.MapPodDevice : map_pod_device refused")],
    ),
    "what cannot be unmapped gets an event, and is tried again": Story(
        script={"unmap_pod_device": [Outcome.FINAL]},
        acts=[want(use=BLOCK), drop(), at_last],
        calls=[*MAP, "unmap_pod_device block p1", *UNMAP],
        left=None,
        events=[
            (
                "FailedUnmount",
                f'UnmapVolume.UnmapPodDevice failed for volume "{NAME}" : unmap_pod_device refused',
            )
        ],
    ),
    "a device that cannot be let go is tried again": Story(
        script={"tear_down_device": [Outcome.FINAL]},
        acts=[want(use=BLOCK), drop(), at_last],
        calls=[*MAP, *UNMAP, "tear_down_device block"],
        left=None,
    ),
    "a ReadWriteOncePod device is refused to a second pod": Story(
        acts=[want("p1", ONE_POD), want("p2", ONE_POD)],
        calls=MAP,
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[
            failed(
                "MapVolume.SetUpDevice : volume uses the ReadWriteOncePod access mode and is "
                "already in use by another pod"
            )
        ],
    ),
}


@pytest.mark.parametrize("story", LOUD.values(), ids=LOUD)
async def test_with_a_device(story: Story, tmp_path: Path) -> None:
    end = await play(story, tmp_path)
    assert (end.calls, end.left) == (story.end.calls, story.end.left)
    assert end.events == (*shown(tmp_path), *story.events)


async def test_what_a_pod_sees_of_a_block_volume(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", BLOCK)
        world.want("p2", BLOCK)
        await world.once()
        node = tmp_path / "node"
        once = node / "plugins/example.com/disk/volumeDevices/block"
        link = node / "pods/p1/volumeDevices/example.com~disk/block"
        assert set(world.mounts.mounted()) == {once / "p1", once / "p2"}
        assert world.locks.held == {once / "p1", once / "p2"}
        assert link.readlink() == node / "device"
        assert world.here().device_path == str(node / "device")
        world.drop("p1")
        world.drop("p2")
        await world.once()
        assert world.mounts.mounted() == ()
        assert world.locks.held == set()
        assert not link.is_symlink()
        assert not once.exists()


@pytest.mark.parametrize("is_gone", [False, True], ids=["its bind fails", "its device is gone"])
async def test_a_device_that_cannot_be_shown_is_taken_away_again(
    is_gone: bool,  # noqa: FBT001  a column of the table
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        device = world.context.host.layout.root / "device"
        if is_gone:
            device.unlink()
            step, text = "EvalHostSymlinks", f"cannot evaluate device path {device}: "
        else:
            world.mounts.fail_at(1, HostError("no room"))
            step, text = "MapBlockVolume", "no room"
        world.want("p1", BLOCK)
        await world.once()
        ((reason, message),) = world.events()
        assert reason == "FailedMapVolume"
        assert message.startswith(f'MapVolume.{step} failed for volume "block" : {text}')
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})
        world.drop("p1")
        await world.once()
        assert world.backend.calls == [*MAP, *UNMAP]
        assert world.picture() is None


async def test_a_mapping_that_was_made_is_not_gone_because_the_next_try_is_refused(
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.mounts.fail_at(1)
        world.backend.script("map_pod_device", Outcome.DONE, Outcome.FINAL)
        world.want("p1", BLOCK)
        await world.once()
        await later(world)
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})


async def test_a_device_that_another_pod_has_is_not_let_go(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", BLOCK)
        await world.once()
        stranger = tmp_path / "node/plugins/example.com/disk/volumeDevices/block/p9"
        stranger.touch()
        world.mounts.bind(world.context.host.layout.root / "device", stranger)
        world.drop("p1")
        await world.once()
        assert world.backend.calls == [*MAP, "unmap_pod_device block p1"]
        assert world.here().device is DeviceState.MOUNTED
        world.mounts.unmount(stranger)
        await world.settle()
        assert world.backend.there == {}
        assert world.picture() is None
