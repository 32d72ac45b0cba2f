"""emptyDir on played mounts: what is mounted, marked and removed."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.errors import HostError
from mooring.host.mountinfo import MountTable
from mooring.model import quantity
from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource, PodVolume
from mooring.plugins.contract import Attributes, Uncertain, VolumeError
from mooring.plugins.empty_dir import EmptyDir, ScratchDirectory, wrapped_scratch
from mooring.plugins.medium import (
    ON_DISK,
    InHugePages,
    InMemory,
    Swap,
    swap_rule_here,
    tmpfs_options,
)
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.cuts import Crash, CutMounts
from tests.unit.plugins.world import POD_UID, a_container, a_host, a_pod, a_request, inline

MI = 1 << 20


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts) -> Host:
    return a_host(tmp_path, mounts, {"memory": "8Gi"})


@pytest.fixture
def umask_077() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def volume_at(host: Host, name: str = "cache") -> Path:
    return host.layout.volume(POD_UID, "kubernetes.io/empty-dir", name)


def ready_at(host: Host, name: str = "cache") -> Path:
    return host.layout.pod_plugin(POD_UID, "kubernetes.io/empty-dir", name) / "ready"


async def set_up(host: Host, medium: str = "", pod: Pod | None = None, **source: str) -> None:
    use = inline(PodVolume(name="cache", empty_dir=EmptyDirSource(medium=medium, **source)))
    await EmptyDir(host).mounter(use, pod or a_pod()).set_up(a_request())


@pytest.mark.usefixtures("umask_077")
async def test_a_directory_on_disk_is_open_to_all_despite_the_umask(host: Host) -> None:
    await set_up(host)
    assert volume_at(host).stat().st_mode & 0o7777 == 0o777
    assert ready_at(host).is_file()


async def test_what_a_pod_wrote_survives_another_set_up(host: Host) -> None:
    await set_up(host)
    volume_at(host).chmod(0o700)
    (volume_at(host) / "work").touch()
    await set_up(host)
    assert (volume_at(host) / "work").exists()
    assert volume_at(host).stat().st_mode & 0o777 == 0o700


async def test_a_ready_directory_that_was_removed_by_hand_comes_back(host: Host) -> None:
    await set_up(host)
    volume_at(host).rmdir()
    await set_up(host)
    assert volume_at(host).is_dir()
    assert ready_at(host).is_file()


async def test_memory_is_as_large_as_the_smallest_limit(host: Host, mounts: FakeMounts) -> None:
    limited = a_pod(a_container(limits={"memory": "512Mi"}))
    await set_up(host, "Memory", limited, size_limit="1Gi")
    options = tmpfs_options(InMemory(512 * MI), noswap=swap_rule_here() is not Swap.MAY_GO_OUT)
    assert mounts.calls == [MountCall("mount", volume_at(host), "tmpfs", "tmpfs", options)]


async def test_memory_that_is_ready_is_not_mounted_again(host: Host, mounts: FakeMounts) -> None:
    await set_up(host, "Memory")
    await set_up(host, "Memory")
    assert mounts.mounted() == (volume_at(host),)


async def test_memory_lost_with_a_restart_of_the_machine_is_mounted_anew(
    host: Host, mounts: FakeMounts
) -> None:
    await set_up(host, "Memory")
    mounts.unmount(volume_at(host))
    await set_up(host, "Memory")
    assert mounts.mounted() == (volume_at(host),)


async def test_memory_mounted_anew_is_not_ready_until_all_is_done(tmp_path: Path) -> None:
    mounts = CutMounts(FakeMounts())
    host = a_host(tmp_path, mounts)
    await set_up(host, "Memory")
    mounts.unmount(volume_at(host))  # as a restart of the machine does
    mounts.crash_after(1)
    with pytest.raises(Crash):
        await set_up(host, "Memory")
    assert not ready_at(host).exists()  # so that the next set-up sees to the group


async def test_huge_pages_have_the_size_that_containers_ask_for(
    host: Host, mounts: FakeMounts
) -> None:
    await set_up(host, "HugePages", a_pod(a_container(requests={"hugepages-2Mi": "4Mi"})))
    option = ("pagesize=2Mi",)
    assert mounts.calls == [MountCall("mount", volume_at(host), "nodev", "hugetlbfs", option)]


class SizedPages(FakeMounts):
    """Shows the size of huge pages as the kernel does."""

    def __init__(self, option: str) -> None:
        super().__init__()
        self._option = option

    def table(self) -> MountTable:
        shown = ("rw", self._option)
        return MountTable(
            tuple(
                msgspec.structs.replace(entry, super_options=shown)
                if entry.fs_type == "hugetlbfs"
                else entry
                for entry in super().table().entries
            )
        )


def two_mega_pages(tmp_path: Path, option: str) -> ScratchDirectory:
    scratch = ScratchDirectory(SizedPages(option), tmp_path / "it", tmp_path / "marks")
    scratch.path.mkdir()
    return scratch


TWO_MI = InHugePages(quantity.parse("2Mi"), takes_any=False)


@pytest.mark.parametrize(
    ("medium", "option", "text"),
    [
        (TWO_MI, "pagesize=2M", ""),
        (InHugePages(quantity.parse("2Mi"), takes_any=True), "pagesize=1024M", ""),
        (TWO_MI, "pagesize=1024M", "pagesize '1Gi' and requested medium size '2Mi' differ"),
        (TWO_MI, "relatime", "pagesize is not determined"),
    ],
    ids=[
        "the same size is left",
        "any size will do",
        "another size is refused",
        "no size is refused",
    ],
)
async def test_huge_pages_that_are_mounted_already(
    tmp_path: Path, medium: InHugePages, option: str, text: str
) -> None:
    scratch = two_mega_pages(tmp_path, option)
    await scratch.set_up(a_request(), InHugePages(quantity.parse("2Mi"), takes_any=True))
    if not text:
        await scratch.set_up(a_request(), medium)
        return
    with pytest.raises(VolumeError, match=text):
        await scratch.set_up(a_request(), medium)


async def test_a_medium_that_there_is_none_of_leaves_nothing(host: Host) -> None:
    with pytest.raises(VolumeError, match='unknown storage medium "Tape"'):
        await set_up(host, "Tape")
    assert not volume_at(host).exists()


async def test_the_node_need_not_know_the_medium_to_tear_down(
    host: Host, mounts: FakeMounts
) -> None:
    await set_up(host, "Memory")
    rebuilt = EmptyDir(host).rebuild("cache", POD_UID)
    await EmptyDir(host).unmounter(rebuilt.name, POD_UID).tear_down()
    assert mounts.mounted() == ()
    assert not volume_at(host).exists()
    assert not ready_at(host).exists()


async def test_all_that_a_pod_wrote_goes_with_it(host: Host) -> None:
    await set_up(host)
    outside = host.layout.root / "precious"
    outside.touch()
    (volume_at(host) / "deep" / "er").mkdir(parents=True)
    (volume_at(host) / "deep" / "link").symlink_to(outside)
    (volume_at(host) / "deep" / "er" / "file").touch(0o000)
    await EmptyDir(host).unmounter("cache", POD_UID).tear_down()
    assert not volume_at(host).exists()
    assert outside.exists()


async def test_what_is_busy_is_kept_and_torn_down_later(host: Host, mounts: FakeMounts) -> None:
    await set_up(host, "Memory")
    mounts.keep_busy(volume_at(host))
    with pytest.raises(HostError, match="busy"):
        await EmptyDir(host).unmounter("cache", POD_UID).tear_down()
    assert volume_at(host).is_dir()


async def test_a_failure_that_cannot_be_undone_is_uncertain(host: Host, mounts: FakeMounts) -> None:
    ready_at(host).parent.parent.mkdir(parents=True)
    ready_at(host).parent.touch()  # where a directory for the ready file should come
    mounts.keep_busy(volume_at(host))
    with pytest.raises(Uncertain):
        await set_up(host, "Memory")


async def test_room_for_another_plugin_is_at_that_plugins_place(host: Host) -> None:
    scratch = wrapped_scratch(host, "kubernetes.io/configmap", "settings", POD_UID)
    await scratch.set_up(a_request(), ON_DISK)
    pod = host.layout.pod(POD_UID)
    assert scratch.path == pod / "volumes" / "kubernetes.io~configmap" / "settings"
    assert scratch.path.is_dir()
    marks = pod / "plugins" / "kubernetes.io~empty-dir" / "wrapped_settings"
    assert (marks / "ready").is_file()
    await scratch.tear_down()
    assert not scratch.path.exists()
    assert not marks.exists()


async def test_usage_is_that_of_its_files_in_the_room_of_the_disk(host: Host) -> None:
    use = inline(PodVolume(name="cache", empty_dir=EmptyDirSource()))
    mounter = EmptyDir(host).mounter(use, a_pod())
    await mounter.set_up(a_request())
    before = await mounter.usage()
    (mounter.path / "blob").write_bytes(os.urandom(MI))
    after = await mounter.usage()
    assert before is not None
    assert after is not None
    assert (after.used or 0) - (before.used or 0) >= MI
    assert after.inodes_used == 2
    assert after.capacity == os.statvfs(mounter.path).f_blocks * os.statvfs(mounter.path).f_frsize


def test_attributes(host: Host) -> None:
    use = inline(PodVolume(name="cache", empty_dir=EmptyDirSource()))
    mounter = EmptyDir(host).mounter(use, a_pod())
    assert mounter.attributes == Attributes(is_managed=True, wants_relabel=True)


def test_another_volume_is_no_empty_dir(host: Host) -> None:
    with pytest.raises(VolumeError, match="does not reference an emptyDir volume type"):
        EmptyDir(host).mounter(inline(PodVolume(name="x")), a_pod())
