"""local volumes on played mounts: what is shared, whom it belongs to, what is refused."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attributes,
    DeviceRequest,
    GrowthRequest,
    OwnershipPolicy,
    VolumeError,
)
from mooring.plugins.local import NAME, Local
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.world import (
    POD_UID,
    Told,
    a_host,
    a_local_use,
    a_pod,
    a_request,
)

OWN_GROUP = os.getegid()
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: groups are changed")


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts) -> Host:
    return a_host(tmp_path, mounts)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.mkdir()
    (path / "file").touch()
    return path


def bound_at(host: Host, uid: str = POD_UID) -> Path:
    return host.layout.volume(uid, NAME, "pv1")


def group_of(path: Path) -> int:
    return path.lstat().st_gid


def give_root_to(path: Path, gid: int) -> None:
    os.chown(path, -1, gid)
    path.chmod(0o2770)


async def set_up(
    plugin: Local,
    use: VolumeUse,
    uid: str = POD_UID,
    fs_group: int | None = None,
    told: Told | None = None,
) -> None:
    await plugin.mounter(use, a_pod(uid=uid)).set_up(a_request(told, fs_group))


@pytest.mark.parametrize(
    ("options", "read_only", "given"),
    [
        ((), False, ()),
        ((), True, ("ro",)),
        (("noexec", "noatime", "noexec"), True, ("noatime", "noexec", "ro")),
    ],
    ids=["as it is", "read-only", "with options, each once and in order"],
)
async def test_a_directory_is_bound_into_the_pod(
    host: Host,
    mounts: FakeMounts,
    disk: Path,
    options: tuple[str, ...],
    read_only: bool,  # noqa: FBT001  a column of the table
    given: tuple[str, ...],
) -> None:
    use = a_local_use(disk, read_only=read_only, mount_options=options)
    await set_up(Local(host), use)
    (call,) = mounts.calls
    assert (call.verb, call.source, call.target) == ("bind", str(disk), bound_at(host))
    assert call.options == given


def _missing(path: Path) -> str:
    return f'path "{path}" does not exist'


def _file(path: Path) -> str:
    path.touch()
    return "only directory and block device are supported"


def _socket(path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))
    return "only directory and block device are supported"


def _link_to_nothing(path: Path) -> str:
    path.symlink_to("nothing")
    return _missing(path)


@pytest.mark.parametrize("make", [_missing, _file, _socket, _link_to_nothing])
def test_paths_that_are_no_volumes(host: Host, tmp_path: Path, make: Callable[[Path], str]) -> None:
    text = make(tmp_path / "it")
    with pytest.raises(VolumeError) as refused:
        Local(host).mounter(a_local_use(tmp_path / "it"), a_pod())
    assert str(refused.value) == text


def test_a_volume_without_a_path_is_none(host: Host) -> None:
    with pytest.raises(VolumeError) as refused:
        Local(host).mounter(a_local_use(""), a_pod())
    assert str(refused.value) == "local volume source is nil or local path is not set"


async def test_a_way_up_is_refused(host: Host, disk: Path, mounts: FakeMounts) -> None:
    path = f"{disk}/../disk"
    with pytest.raises(VolumeError) as refused:
        await set_up(Local(host), a_local_use(path))
    assert str(refused.value) == f"invalid path: {path} must not contain '..'"
    assert mounts.mounted() == ()


async def test_a_link_to_a_directory_is_one(host: Host, disk: Path, mounts: FakeMounts) -> None:
    link = disk.with_name("link")
    link.symlink_to(disk)
    await set_up(Local(host), a_local_use(link))
    assert mounts.mounted() == (bound_at(host),)


@needs_root
async def test_the_first_pod_decides_whom_the_files_belong_to(host: Host, disk: Path) -> None:
    told, plugin = Told(), Local(host)
    await set_up(plugin, a_local_use(disk), "u1", fs_group=1111)
    assert group_of(disk / "file") == 1111
    await set_up(plugin, a_local_use(disk), "u2", fs_group=2222, told=told)
    assert group_of(disk / "file") == 1111
    assert told.events == [
        (
            "Warning",
            "AlreadyMountedVolume",
            "The requested fsGroup is 2222, but the volume pv1 has GID 1111. "
            "The volume may not be shareable.",
        )
    ]
    for uid in ("u1", "u2"):
        await plugin.unmounter("pv1", uid).tear_down()
    await set_up(plugin, a_local_use(disk), "u3", fs_group=2222)
    assert group_of(disk / "file") == 2222


async def test_a_second_pod_with_the_same_group_is_told_nothing(host: Host, disk: Path) -> None:
    told, plugin = Told(), Local(host)
    await set_up(plugin, a_local_use(disk), "u1", fs_group=OWN_GROUP, told=told)
    await set_up(plugin, a_local_use(disk), "u2", fs_group=OWN_GROUP, told=told)
    assert told.events == []


@needs_root
async def test_a_read_only_volume_keeps_its_group(host: Host, disk: Path) -> None:
    await set_up(Local(host), a_local_use(disk, read_only=True), fs_group=1111)
    assert group_of(disk) == OWN_GROUP


@needs_root
async def test_a_root_that_is_right_spares_the_walk_if_the_pod_says_so(
    host: Host, disk: Path
) -> None:
    give_root_to(disk, 1111)
    plugin = Local(host)
    request = a_request(fs_group=1111)
    spared = type(request)(
        tell=request.tell, fs_group=1111, ownership=OwnershipPolicy.ON_ROOT_MISMATCH
    )
    await plugin.mounter(a_local_use(disk), a_pod(uid="u1")).set_up(spared)
    assert group_of(disk / "file") == OWN_GROUP
    await plugin.unmounter("pv1", "u1").tear_down()
    await plugin.mounter(a_local_use(disk), a_pod(uid="u2")).set_up(request)
    assert group_of(disk / "file") == 1111


@needs_root
async def test_a_link_is_followed_to_the_files_that_get_the_group(host: Host, disk: Path) -> None:
    link = disk.with_name("link")
    link.symlink_to(disk)
    await set_up(Local(host), a_local_use(link), fs_group=1111)
    assert group_of(disk / "file") == 1111
    assert group_of(link) == OWN_GROUP


@needs_root
async def test_the_group_is_given_before_the_mount_that_says_so(
    host: Host, mounts: FakeMounts, disk: Path
) -> None:
    mounts.fail_at(1)
    with pytest.raises(HostError):
        await set_up(Local(host), a_local_use(disk), fs_group=1111)
    assert group_of(disk / "file") == 1111
    assert not bound_at(host).exists()


async def test_tear_down_never_removes_what_is_in_the_pods_directory(host: Host) -> None:
    (bound_at(host) / "data").mkdir(parents=True)
    with pytest.raises(HostError):
        await Local(host).unmounter("pv1", POD_UID).tear_down()
    assert (bound_at(host) / "data").is_dir()


async def test_a_directory_is_its_own_device(host: Host, disk: Path, mounts: FakeMounts) -> None:
    devices = Local(host).device_mounter()
    assert devices.device_mount_path(a_local_use(disk)) == disk
    await devices.mount_device(a_local_use(disk), "", disk, DeviceRequest())
    await Local(host).device_unmounter().unmount_device(disk)
    assert mounts.calls == []
    assert (disk / "file").exists()


def a_block_device() -> Path:
    for path in Path("/dev").iterdir():
        if stat.S_ISBLK(path.lstat().st_mode):
            return path
    pytest.skip("there is no block device below /dev")


def test_a_block_device_is_mounted_once_below_the_plugin(host: Host) -> None:
    path = Local(host).device_mounter().device_mount_path(a_local_use(a_block_device()))
    assert path == host.layout.root / "plugins/kubernetes.io/local-volume/mounts/pv1"


async def test_without_its_device_mounted_a_pod_gets_nothing(
    host: Host, mounts: FakeMounts
) -> None:
    once = host.layout.global_mount(NAME, "pv1")
    once.mkdir(parents=True)
    with pytest.raises(VolumeError) as refused:
        await set_up(Local(host), a_local_use(a_block_device()))
    assert str(refused.value) == f"no device is mounted at {once}"
    assert mounts.mounted() == ()
    assert not bound_at(host).exists()


def test_the_mount_of_a_device_that_is_gone_is_still_known(host: Host, tmp_path: Path) -> None:
    gone = a_local_use(tmp_path / "gone")
    devices = Local(host).device_mounter()
    with pytest.raises(VolumeError, match="does not exist"):
        devices.device_mount_path(gone)
    once = host.layout.global_mount(NAME, "pv1")
    once.mkdir(parents=True)
    assert devices.device_mount_path(gone) == once
    with pytest.raises(VolumeError, match="does not exist"):
        Local(host).mounter(gone, a_pod())


async def test_a_rebuilt_directory_has_no_device_to_unmount(
    host: Host, disk: Path, mounts: FakeMounts
) -> None:
    await set_up(Local(host), a_local_use(disk))
    await Local(host).unmounter("pv1", POD_UID).tear_down()
    path = Local(host).device_mounter().device_mount_path(Local(host).rebuild("pv1", POD_UID))
    assert path == Path(".")
    await Local(host).device_unmounter().unmount_device(path)
    assert mounts.mounted() == ()


async def test_a_mounted_device_is_left_and_found_again(host: Host, mounts: FakeMounts) -> None:
    plugin, device = Local(host), a_block_device()
    use = a_local_use(device)
    once = plugin.device_mounter().device_mount_path(use)
    once.mkdir(parents=True)
    mounts.mount(str(device), once, "ext4")
    await plugin.device_mounter().mount_device(use, "", once, DeviceRequest())
    await set_up(plugin, use)
    assert [call.verb for call in mounts.calls] == ["mount", "bind"]
    rebuilt = Local(host).rebuild("pv1", POD_UID)
    assert rebuilt.volume is not None
    assert rebuilt.volume.spec.local == a_local_use(device).source[1]  # type: ignore[index]  # it has one
    await plugin.unmounter("pv1", POD_UID).tear_down()
    await plugin.device_unmounter().unmount_device(once)
    assert mounts.mounted() == ()
    assert not once.exists()


async def test_a_directory_leaves_no_trace_of_its_path(host: Host, disk: Path) -> None:
    await set_up(Local(host), a_local_use(disk))
    rebuilt = Local(host).rebuild("pv1", POD_UID)
    assert rebuilt.volume is not None
    assert rebuilt.volume.spec.local is not None
    assert rebuilt.volume.spec.local.path == ""
    assert rebuilt.mode is VolumeMode.FILESYSTEM


def test_a_block_volume_has_an_escaped_plugin_in_its_path(host: Host) -> None:
    mapper = Local(host).block_mapper(a_local_use("/dev/sdx"), a_pod())
    unmapper = Local(host).block_unmapper("pv1", POD_UID)
    path = host.layout.root / "plugins/kubernetes.io~local-volume/volumeDevices/pv1"
    assert mapper.global_map_path() == path
    assert unmapper.global_map_path(a_local_use("")) == path
    link = host.layout.pod(POD_UID) / "volumeDevices/kubernetes.io~local-volume/pv1"
    assert mapper.pod_device_link() == unmapper.pod_device_link() == link


async def test_a_block_volume_is_its_device(host: Host) -> None:
    mapper = Local(host).block_mapper(a_local_use("/dev//sdx"), a_pod())
    assert await mapper.set_up_device() == ""
    assert await mapper.map_pod_device() == "/dev/sdx"
    rebuilt = Local(host).rebuild_block("pv1", POD_UID)
    assert rebuilt.mode is VolumeMode.BLOCK
    assert Local(host).supports(rebuilt)


def a_growth(use: VolumeUse) -> GrowthRequest:
    return GrowthRequest(use, 2, 1, "", Path("/pod"), Path("/device"))


async def test_directories_and_bare_devices_grow_by_themselves(host: Host, disk: Path) -> None:
    plugin = Local(host)
    block = a_local_use("/dev/sdx", volume_mode=VolumeMode.BLOCK)
    assert await plugin.grow_on_node(a_growth(a_local_use(disk)))
    assert await plugin.grow_on_node(a_growth(block))
    with pytest.raises(VolumeError, match="does not exist"):
        await plugin.grow_on_node(a_growth(a_local_use(disk / "missing")))


async def test_usage_is_that_of_the_file_system(host: Host, disk: Path) -> None:
    mounter = Local(host).mounter(a_local_use(disk), a_pod())
    await mounter.set_up(a_request())
    usage = await mounter.usage()
    told = os.statvfs(mounter.path)
    assert usage is not None
    assert usage.capacity == told.f_blocks * told.f_frsize
    assert usage.inodes == told.f_files


@pytest.mark.parametrize(
    ("read_only", "attributes"),
    [
        (False, Attributes(is_managed=True, wants_relabel=True)),
        (True, Attributes(read_only=True, wants_relabel=True)),
    ],
)
def test_attributes(
    host: Host,
    disk: Path,
    read_only: bool,  # noqa: FBT001  a column of the table
    attributes: Attributes,
) -> None:
    use = a_local_use(disk, read_only=read_only)
    assert Local(host).mounter(use, a_pod()).attributes == attributes
