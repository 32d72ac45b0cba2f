"""A device for a pod, with mounts and loop devices that are only played."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.plugins.block_mapping import (
    DeviceMap,
    check_unused,
    map_device,
    remove_map,
    unmap_device,
)
from mooring.plugins.contract import VolumeError
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.contract_suite import steps
from tests.unit.plugins.cuts import Crash, CutMounts, file_cuts
from tests.unit.plugins.world import picture_of


class FakeLocks:
    """Loop devices in memory."""

    def __init__(self) -> None:
        self.held: set[Path] = set()
        self.fails = False

    def find_or_attach(self, backing: Path) -> Path:
        if self.fails:
            raise HostError("no loop device")
        self.held.add(backing)
        return Path("/dev/loop7")

    def detach_backing(self, backing: Path) -> None:
        self.held.discard(backing)


class Node:
    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.device = root / "sdx"
        self.device.touch()
        self.played = FakeMounts()
        self.mounts = CutMounts(self.played)
        self.locks = FakeLocks()
        self.directory = root / "plugins" / "volumeDevices" / "pv1"

    def place(self, uid: str = "u1") -> DeviceMap:
        return DeviceMap(self.directory, self.root / "pods" / uid / "volumeDevices" / "pv1", uid)

    async def map(self, uid: str = "u1") -> None:
        await map_device(self.mounts, self.device, self.place(uid), self.locks)

    async def unmap(self, uid: str = "u1") -> None:
        await unmap_device(self.mounts, self.place(uid), self.locks)

    def is_clean(self) -> bool:
        files = [row for row in picture_of(self.root) if not row[1].startswith("d")]
        return files == [("sdx", "-rw-r--r--", "")] and self.is_free()

    def is_free(self) -> bool:
        return not self.played.mounted() and not self.locks.held


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "node")


async def test_a_device_is_bound_linked_and_held(node: Node) -> None:
    place = node.place()
    for _ in range(2):
        await node.map()
        assert node.played.mounted() == (place.bound,)
        assert place.link.readlink() == node.device
        assert node.locks.held == {place.bound}


async def test_nothing_is_left_of_a_device_unmapped_twice(node: Node) -> None:
    await node.map()
    for _ in range(2):
        await node.unmap()
        assert node.is_clean()


async def test_after_a_restart_of_the_machine_all_is_made_anew_in_the_same_place(
    node: Node,
) -> None:
    await node.map()
    node.played.unmount(node.place().bound)  # with the machine go its mounts and loop devices
    node.locks.held.clear()
    node.device = node.root / "sdy"  # and names of devices change
    node.device.touch()
    await node.map()
    assert node.played.mounted() == (node.place().bound,)
    assert node.place().link.readlink() == node.device
    assert node.locks.held == {node.place().bound}


async def test_a_volume_is_in_use_until_the_last_pod_is_gone(node: Node) -> None:
    await node.map("u1")
    await node.map("u2")
    await node.unmap("u1")
    with pytest.raises(VolumeError) as refused:
        await check_unused(node.mounts, node.directory)
    assert str(refused.value) == (
        f'the device "{node.directory}" is still referenced from other Pods [{node.directory}/u2]'
    )
    await node.unmap("u2")
    await check_unused(node.mounts, node.directory)
    for _ in range(2):
        await remove_map(node.directory)
    assert not node.directory.exists()


async def test_a_file_left_from_before_is_no_user(node: Node) -> None:
    node.directory.mkdir(parents=True)
    (node.directory / "u1").touch()
    await check_unused(node.mounts, node.directory)


async def test_a_volume_that_was_never_mapped_is_not_in_use(node: Node) -> None:
    await check_unused(node.mounts, node.directory)
    await remove_map(node.directory)


@pytest.mark.parametrize(
    ("device", "directory", "text"),
    [
        ("", "/map", "failed to map device to map path. devicePath is empty"),
        ("/dev/sdx", "map", "the map path should be absolute: map path: map"),
    ],
)
async def test_places_that_are_none(node: Node, device: str, directory: str, text: str) -> None:
    place = DeviceMap(Path(directory), Path("/link"), "u1")
    with pytest.raises(VolumeError) as refused:
        await map_device(node.mounts, Path(device), place, node.locks)
    assert str(refused.value) == text


async def test_a_device_that_cannot_be_held_is_taken_away_by_unmapping(node: Node) -> None:
    node.locks.fails = True
    with pytest.raises(HostError, match="no loop device"):
        await node.map()
    await node.unmap()
    assert node.is_clean()


ACTS: dict[str, Callable[[Node], Awaitable[None]]] = {
    "mapping": lambda node: node.map(),
    "unmapping": lambda node: node.unmap(),
}


@pytest.mark.parametrize("again", [True, False], ids=["and mapped again", "and unmapped"])
@pytest.mark.parametrize("act", ACTS.values(), ids=[*ACTS])
@pytest.mark.parametrize("cut", ["mount", "file"])
async def test_killed_anywhere(
    tmp_path: Path,
    act: Callable[[Node], Awaitable[None]],
    cut: str,
    again: bool,  # noqa: FBT001  a column of the table
) -> None:
    for number in steps():
        node = Node(tmp_path / str(number))
        if act is ACTS["unmapping"]:
            await node.map()
        was_killed = False
        if cut == "mount":
            node.mounts.crash_after(number)
        try:
            with file_cuts.crash_before(number if cut == "file" else 0):
                await act(node)
        except Crash:
            was_killed = True
        node.mounts.crash_after(None)
        if again:
            await node.map()
            assert node.played.mounted() == (node.place().bound,)
            assert node.place().link.readlink() == node.device
        await node.unmap()
        assert node.is_clean()
        if not was_killed:
            return
