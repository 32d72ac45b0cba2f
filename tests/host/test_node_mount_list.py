"""Parts of volumes, bound for containers on real mounts."""

from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.model.container import Container
from mooring.model.pod_volume import VolumeMount
from mooring.node.mount_list import ContainerMount, Sight, list_volumes
from tests.host.node_life import UID, Kind, Life, Scene

PART = VolumeMount("data", "/part", sub_path="a/b")


@pytest.fixture
def life(place: Path, mounts: Mounts) -> Life:
    return Life(Scene(str(place), Kind.FILES), mounts)


async def part_of(life: Life, mounts: Mounts) -> ContainerMount:
    container = Container("main", volume_mounts=(VolumeMount("data", "/data"), PART))
    sight = Sight(life.pod, container, life.volumes.reach(UID), {})
    return (await list_volumes(life.layout, mounts, sight)).mounts[1]


async def test_a_part_is_bound_once_and_goes_with_its_volume(life: Life, mounts: Mounts) -> None:
    async with life.running(has_pod=True):
        files = await life.bring()
        assert files is not None
        files.chmod(0o2770)
        shown = await part_of(life, mounts)
        assert shown.host_path == life.layout.subpath(UID, "data", "main", 1)
        assert (files / "a/b").stat().st_mode & 0o7777 == 0o2770
        (shown.host_path / "file").write_text("seen")
        assert (files / "a/b/file").read_text() == "seen"
        before = mounts.table().below(life.layout.root)
        assert await part_of(life, mounts) == shown
        assert mounts.table().below(life.layout.root) == before
        await life.put_away()


async def test_parts_of_a_gone_pods_volume_go_after_a_restart(life: Life, mounts: Mounts) -> None:
    async with life.running(has_pod=True):
        await life.bring()
        await part_of(life, mounts)
    after = Life(life.scene, mounts)
    async with after.running(has_pod=False):
        await after.cleared()


async def test_a_restart_leaves_what_is_mounted_alone(life: Life, mounts: Mounts) -> None:
    async with life.running(has_pod=True):
        files = await life.bring()
        assert files is not None
        (files / "file").write_text("kept")
        shown = await part_of(life, mounts)
    before = mounts.table().below(life.layout.root)
    after = Life(life.scene, mounts)
    async with after.running(has_pod=True):
        assert await after.bring() == files
        assert (files / "file").read_text() == "kept"
        assert await part_of(after, mounts) == shown
        assert mounts.table().below(life.layout.root) == before
        await after.put_away()
