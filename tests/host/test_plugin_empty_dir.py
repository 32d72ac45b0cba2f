"""emptyDir on real file systems."""

import os
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource, PodVolume
from mooring.plugins.empty_dir import EmptyDir, EmptyDirMounter
from mooring.plugins.medium import Swap, swap_rule_here
from mooring.plugins.volume_host import Host
from tests.host.conftest import NeedsTool
from tests.unit.plugins.world import a_container, a_host, a_pod, a_request, inline

MI = 1 << 20


@pytest.fixture
def host(place: Path, mounts: Mounts) -> Host:
    return a_host(place, mounts, {"memory": "8Gi"})


def a_mounter(host: Host, source: EmptyDirSource, pod: Pod | None = None) -> EmptyDirMounter:
    return EmptyDir(host).mounter(inline(PodVolume(name="cache", empty_dir=source)), pod or a_pod())


def mode_and_group(path: Path) -> tuple[int, int]:
    seen = path.stat()
    return seen.st_mode & 0o7777, seen.st_gid


@pytest.mark.parametrize(
    ("limit", "size_limit", "size"),
    [("512Mi", "1Gi", 512 * MI), ("", "256Mi", 256 * MI)],
    ids=["the pod's limit is smaller", "only the volume has a limit"],
)
async def test_memory_holds_no_more_than_its_size(
    host: Host, limit: str, size_limit: str, size: int
) -> None:
    pod = a_pod(a_container(limits={"memory": limit} if limit else {}))
    mounter = a_mounter(host, EmptyDirSource("Memory", size_limit), pod)
    await mounter.set_up(a_request())
    usage = await mounter.usage()
    assert usage is not None
    assert usage.capacity == size


async def test_memory_is_not_swapped_out_where_the_kernel_can_help_it(host: Host) -> None:
    mounter = a_mounter(host, EmptyDirSource("Memory"))
    await mounter.set_up(a_request())
    entry = host.mounts.table().find(mounter.path.resolve())
    assert entry is not None
    assert entry.fs_type == "tmpfs"
    if swap_rule_here() is not Swap.TRY:
        assert ("noswap" in entry.super_options) == (swap_rule_here() is Swap.NEVER_OUT)


@pytest.mark.parametrize(("medium", "mode"), [("", 0o2777), ("Memory", 0o3777)])
async def test_the_room_is_given_to_the_pods_group(host: Host, medium: str, mode: int) -> None:
    mounter = a_mounter(host, EmptyDirSource(medium))
    await mounter.set_up(a_request(fs_group=1234))
    assert mode_and_group(mounter.path) == (mode, 1234)


async def test_what_is_in_memory_survives_a_restart_of_the_node(host: Host) -> None:
    mounter = a_mounter(host, EmptyDirSource("Memory"))
    await mounter.set_up(a_request(fs_group=1234))
    (mounter.path / "work").write_text("half done")
    os.chown(mounter.path / "work", -1, 0)
    await a_mounter(host, EmptyDirSource("Memory")).set_up(a_request(fs_group=1234))
    assert (mounter.path / "work").read_text() == "half done"
    assert mode_and_group(mounter.path / "work")[1] == 0


async def test_huge_pages_of_another_size_than_mounted(
    host: Host, needs_filesystem: NeedsTool
) -> None:
    needs_filesystem("hugetlbfs")
    pod = a_pod(a_container(requests={"hugepages-2Mi": "4Mi"}))
    mounter = a_mounter(host, EmptyDirSource("HugePages-2Mi"), pod)
    for _ in range(2):  # the second finds the size in the mount table
        await mounter.set_up(a_request())
    entry = host.mounts.table().find(mounter.path.resolve())
    assert entry is not None
    assert (entry.fs_type, "pagesize=2M" in entry.super_options) == ("hugetlbfs", True)


async def test_a_mount_that_a_container_left_inside_keeps_what_is_in_it(
    host: Host, mounts: Mounts
) -> None:
    mounter = a_mounter(host, EmptyDirSource())
    await mounter.set_up(a_request())
    precious = host.layout.root / "precious"
    precious.mkdir()
    (precious / "data").touch()
    (mounter.path / "deep" / "mnt").mkdir(parents=True)
    mounts.bind(precious, mounter.path / "deep" / "mnt")
    unmounter = EmptyDir(host).unmounter("cache", a_pod().uid)
    with pytest.raises(HostError):
        await unmounter.tear_down()
    assert (precious / "data").exists()
    mounts.unmount(mounter.path / "deep" / "mnt")
    await unmounter.tear_down()
    assert not mounter.path.exists()
    assert (precious / "data").exists()


async def test_a_full_disk_is_an_error_and_leaves_nothing(place: Path, mounts: Mounts) -> None:
    small = place / "small"
    small.mkdir()
    mounts.mount("tmpfs", small, "tmpfs", ("size=1M", "nr_inodes=8"))
    host = a_host(small, mounts)
    host.layout.volumes(a_pod().uid).mkdir(parents=True)  # what a pod has before its volumes
    fill(small)
    with pytest.raises(HostError, match="no space left"):
        await a_mounter(host, EmptyDirSource()).set_up(a_request())
    assert not a_mounter(host, EmptyDirSource()).path.exists()


def fill(directory: Path) -> None:
    """Take all that is left of a file system's inodes."""
    number = 0
    while True:
        try:
            (directory / f"filler{number}").touch()
        except OSError:
            return
        number += 1
