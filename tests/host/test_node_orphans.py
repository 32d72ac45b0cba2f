"""What gone pods have left, among real mounts: nothing that is mounted is ever entered."""

from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.node.orphans import Orphans
from mooring.node.reconstruct import Reconstructed
from tests.host.node_life import UID, Kind, Life, Scene

PLUGIN = "example.com/disk"


@pytest.fixture
def life(place: Path, mounts: Mounts) -> Life:
    return Life(Scene(str(place), Kind.FILES), mounts)


def orphans(life: Life) -> Orphans:
    return Orphans(life.volumes, Reconstructed(frozenset(), ()), lambda uid: False)


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(f"volumes/{PLUGIN.replace('/', '~')}/pv", id="a mounted volume"),
        pytest.param("volumes/kubernetes.io~csi/pv/mount", id="a volume of a CSI driver"),
        pytest.param("volume-subpaths/pv/main/0", id="a part of a volume"),
        pytest.param("containers/main/scratch", id="a mount where none should be"),
    ],
)
async def test_a_mount_keeps_the_directory_and_what_is_mounted(
    life: Life, mounts: Mounts, place: Path, inside: str
) -> None:
    data = place / "data"
    data.mkdir()
    (data / "file").write_text("precious")
    target = life.layout.pod(UID) / inside
    target.mkdir(parents=True)
    mounts.bind(data, target)
    swept = await orphans(life).sweep()
    assert len(swept.errors) == 1
    assert mounts.is_mount_point(target)
    assert (data / "file").read_text() == "precious"
    mounts.unmount(target)
    assert (await orphans(life).sweep()).errors == ()
    assert not life.layout.pod(UID).exists()


async def test_files_below_a_volume_stay(life: Life) -> None:
    path = life.layout.volume(UID, PLUGIN, "pv")
    path.mkdir(parents=True)
    (path / "file").write_text("precious")
    assert len((await orphans(life).sweep()).errors) == 1
    assert (path / "file").read_text() == "precious"
