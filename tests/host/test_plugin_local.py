"""local volumes on real devices: formatted once, shared by pods, grown, and given as they are."""

import os
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError, WrongFilesystem
from mooring.host import loop_device
from mooring.host.mount import Mounts
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.block_mapping import (
    DeviceMap,
    check_unused,
    map_device,
    remove_map,
    unmap_device,
)
from mooring.plugins.contract import DeviceRequest, GrowthRequest, VolumeError
from mooring.plugins.local import NAME, Local
from mooring.plugins.volume_host import Host
from tests.host.conftest import NeedsTool
from tests.host.disks import MIB, Disks, gpt, read, write
from tests.unit.plugins.world import Told, a_host, a_local_use, a_pod, a_request


@pytest.fixture
def host(place: Path, mounts: Mounts) -> Host:
    return a_host(place, mounts)


@pytest.fixture
def plugin(host: Host) -> Local:
    return Local(host)


async def mount_device(plugin: Local, use: VolumeUse) -> Path:
    devices = plugin.device_mounter()
    path = devices.device_mount_path(use)
    await devices.mount_device(use, "", path, DeviceRequest())
    return path


def group_of(path: Path) -> int:
    return path.stat().st_gid


async def test_an_empty_device_is_formatted_once_and_shared(
    plugin: Local, host: Host, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    use = a_local_use(disks.empty())
    once = await mount_device(plugin, use)
    paths = []
    for uid in ("u1", "u2"):
        mounter = plugin.mounter(use, a_pod(uid=uid))
        await mounter.set_up(a_request())
        paths.append(mounter.path)
    (paths[0] / "data").write_text("kept")
    assert (paths[1] / "data").read_text() == "kept"
    for uid in ("u1", "u2"):
        await plugin.unmounter("pv1", uid).tear_down()
    await plugin.device_unmounter().unmount_device(once)
    assert not once.exists()
    await mount_device(plugin, use)
    assert (once / "data").read_text() == "kept"


async def test_the_group_follows_the_first_pod_of_each_time(
    plugin: Local, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    use, told = a_local_use(disks.empty()), Told()
    once = await mount_device(plugin, use)
    (once / "data").touch()
    for uid, group in (("u1", 1111), ("u2", 2222)):
        await plugin.mounter(use, a_pod(uid=uid)).set_up(a_request(told, group))
    assert group_of(once / "data") == 1111
    assert [reason for _, reason, _ in told.events] == ["AlreadyMountedVolume"]
    for uid in ("u1", "u2"):
        await plugin.unmounter("pv1", uid).tear_down()
    await plugin.mounter(use, a_pod(uid="u3")).set_up(a_request(told, 2222))
    assert group_of(once / "data") == 2222


async def test_the_group_gets_what_the_pod_sees_and_nothing_that_is_mounted_below(
    plugin: Local, place: Path, mounts: Mounts
) -> None:
    disk, other = place / "disk", place / "other"
    for path in (disk / "other", other):
        path.mkdir(parents=True)
    (disk / "other" / "hidden").touch(0o600)
    (other / "key.pem").touch(0o600)
    mounts.bind(other, disk / "other")
    mounter = plugin.mounter(a_local_use(disk), a_pod())
    await mounter.set_up(a_request(Told(), 4321))
    assert (group_of(other), group_of(other / "key.pem")) == (0, 0)
    assert stat.S_IMODE((other / "key.pem").stat().st_mode) == 0o600
    assert os.listdir(mounter.path / "other") == ["hidden"]
    assert (group_of(mounter.path), group_of(mounter.path / "other" / "hidden")) == (4321, 4321)


async def test_the_device_is_found_again_after_a_restart(
    plugin: Local, host: Host, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    device = disks.empty()
    use = a_local_use(device)
    await mount_device(plugin, use)
    await plugin.mounter(use, a_pod()).set_up(a_request())
    rebuilt = Local(host).rebuild("pv1", a_pod().uid)
    assert rebuilt.volume is not None
    assert rebuilt.volume.spec.local is not None
    assert rebuilt.volume.spec.local.path == str(device)


async def test_a_device_with_partitions_is_left_alone(
    plugin: Local, host: Host, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    device = disks.empty(16)
    write(device, gpt(16))
    with pytest.raises(WrongFilesystem) as refused:
        await mount_device(plugin, a_local_use(device))
    target = host.layout.global_mount(NAME, "pv1")
    assert str(refused.value).startswith(
        f"local: failed to mount device {device} at {target} (fstype: ext4), error "
    )
    assert read(device, len(gpt(16))) == gpt(16)
    assert not target.exists()


async def test_a_read_only_claim_gets_a_read_only_mount(
    plugin: Local, host: Host, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    use = a_local_use(disks.formatted("ext4"), read_only=True)
    await mount_device(plugin, use)
    mounter = plugin.mounter(use, a_pod())
    await mounter.set_up(a_request())
    entry = host.mounts.table().find(mounter.path.resolve())
    assert entry is not None
    assert entry.is_read_only


async def test_a_file_system_grows_with_its_device(
    plugin: Local, disks: Disks, needs_tool: NeedsTool, needs_filesystem: NeedsTool
) -> None:
    needs_tool("mkfs.xfs")
    needs_tool("xfs_growfs")
    needs_filesystem("xfs")
    device = disks.empty(300)
    use = a_local_use(device, fs_type="xfs")
    once = await mount_device(plugin, use)
    before = os.statvfs(once).f_blocks
    os.truncate(disks.backing_of(device), 600 * MIB)
    loop_device.follow_size(device)
    request = GrowthRequest(use, 600 * MIB, 300 * MIB, str(device), once, once)
    for _ in range(2):
        assert await plugin.grow_on_node(request)
    assert os.statvfs(once).f_blocks > 1.5 * before


class TestBlock:
    """A block volume, mapped and unmapped for pods as a node does it."""

    @pytest.fixture
    def device(self, disks: Disks) -> Path:
        return disks.empty()

    def place(self, plugin: Local, device: Path, uid: str) -> DeviceMap:
        use = a_local_use(device, volume_mode=VolumeMode.BLOCK)
        mapper = plugin.block_mapper(use, a_pod(uid=uid))
        return DeviceMap(mapper.global_map_path(), mapper.pod_device_link(), uid)

    async def test_the_pod_gets_the_device_itself(
        self, plugin: Local, mounts: Mounts, device: Path
    ) -> None:
        place = self.place(plugin, device, "u1")
        for _ in range(2):
            await map_device(mounts, device, place)
            assert same_device(place.bound, device)
            assert same_device(place.link, device)
            assert len(loops_on(place.bound)) == 1
        write(place.link, b"hello")
        assert read(device, 5) == b"hello"
        for _ in range(2):
            await unmap_device(mounts, place)
            assert not is_there(place.bound)
            assert not is_there(place.link)
        assert loops_on(place.bound) == []

    async def test_its_size_is_its_usage(self, plugin: Local, mounts: Mounts, device: Path) -> None:
        place = self.place(plugin, device, "u1")
        await map_device(mounts, device, place)
        mapper = plugin.block_mapper(a_local_use(device), a_pod(uid="u1"))
        usage = await mapper.usage()
        assert usage is not None
        assert usage.capacity == 8 * MIB
        await unmap_device(mounts, place)

    async def test_after_a_restart_of_the_machine_it_is_mapped_anew(
        self, plugin: Local, mounts: Mounts, device: Path
    ) -> None:
        place = self.place(plugin, device, "u1")
        await map_device(mounts, device, place)
        loop_device.detach_backing(place.bound)
        mounts.unmount(place.bound)
        assert place.bound.is_file()
        await map_device(mounts, device, place)
        assert same_device(place.bound, device)
        assert len(loops_on(place.bound)) == 1
        await unmap_device(mounts, place)

    async def test_the_volume_stays_until_its_last_pod_is_gone(
        self, plugin: Local, mounts: Mounts, device: Path
    ) -> None:
        places = [self.place(plugin, device, uid) for uid in ("u1", "u2")]
        for place in places:
            await map_device(mounts, device, place)
        await unmap_device(mounts, places[0])
        with pytest.raises(VolumeError, match="still referenced from other Pods"):
            await check_unused(mounts, places[1].directory)
        await unmap_device(mounts, places[1])
        await check_unused(mounts, places[1].directory)
        await remove_map(places[1].directory)
        assert not places[1].directory.exists()

    async def test_another_device_than_the_mapped_one_is_refused(
        self, plugin: Local, mounts: Mounts, device: Path, disks: Disks
    ) -> None:
        place = self.place(plugin, device, "u1")
        await map_device(mounts, device, place)
        with pytest.raises(VolumeError, match="another device than"):
            await map_device(mounts, disks.empty(), place)
        assert same_device(place.link, device)
        await unmap_device(mounts, place)

    async def test_a_directory_cannot_be_a_device(
        self, plugin: Local, mounts: Mounts, place: Path
    ) -> None:
        directory = place / "directory"
        directory.mkdir()
        mapping = self.place(plugin, directory, "u1")
        with pytest.raises(HostError):
            await map_device(mounts, directory, mapping)
        await unmap_device(mounts, mapping)
        assert not is_there(mapping.bound)


def same_device(one: Path, other: Path) -> bool:
    seen = one.stat()
    return stat.S_ISBLK(seen.st_mode) and seen.st_rdev == other.stat().st_rdev


def is_there(path: Path) -> bool:
    return os.path.lexists(path)


def loops_on(path: Path) -> list[Path]:
    found = loop_device.find(path)
    return [found] if found is not None else []
