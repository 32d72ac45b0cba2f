"""Where `mooring up` makes hostPath volumes, and which ones it deletes."""

from pathlib import Path

import pytest

from mooring.model.claim import Claim, ClaimSpec
from mooring.model.meta import ObjectMeta
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import HostPathSource
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.host_path.volumes import DataDirectoryVolumes


class Machine:
    def __init__(self, root: Path) -> None:
        self.temporary = root / "tmp"
        self.data_dir = root / "tmp" / "data"  # of all places
        self.volumes = self.data_dir / "volumes"
        self.volumes.mkdir(parents=True)
        (self.data_dir / "mooring.db").write_text("everything")
        self.node = root / "tmp" / "node"
        (self.node / "pods").mkdir(parents=True)
        ours = (self.data_dir, self.node)
        self.plugin = DataDirectoryVolumes(self.volumes, ours, self.temporary)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def a_volume(path: Path | str) -> Volume:
    return Volume(
        metadata=ObjectMeta(name="v"), spec=VolumeSpec(host_path=HostPathSource(path=str(path)))
    )


async def test_volumes_are_made_in_the_data_directory_and_deleted_again(machine: Machine) -> None:
    claim = Claim(metadata=ObjectMeta(name="c", namespace="n", uid="u-1"), spec=ClaimSpec())
    made = await machine.plugin.provision(Order("pvc-u-1", claim, StorageClass(provisioner="p")))

    path = machine.volumes / "hostpath_pv" / "u-1"
    assert made["spec"]["hostPath"] == {"path": str(path)}
    (path / "file").write_text("data")

    await machine.plugin.delete(a_volume(path))

    assert list(path.parent.iterdir()) == []


async def test_volumes_in_the_temporary_directory_are_deleted_as_upstream_does(
    machine: Machine,
) -> None:
    elsewhere = machine.temporary / "by-hand"
    elsewhere.mkdir()

    await machine.plugin.delete(a_volume(elsewhere))

    assert not elsewhere.exists()


KEPT = {
    "the database": "data/mooring.db",
    "the data directory": "data",
    "all volumes at once": "data/volumes",
    "what the data directory is in": ".",
    "a way out of the volumes": "data/volumes/../mooring.db",
    "a way round by the temporary directory": "x/../data/mooring.db",
    "what is mounted for pods": "node/pods",
}


@pytest.mark.parametrize("path", KEPT.values(), ids=KEPT)
async def test_the_data_directory_itself_is_never_deleted(machine: Machine, path: str) -> None:
    volume = a_volume(f"{machine.temporary}/{path}")

    with pytest.raises(PluginError, match="host_path deleter only supports"):
        await machine.plugin.delete(volume)

    assert (machine.data_dir / "mooring.db").read_text() == "everything"
    assert machine.volumes.is_dir()
    assert (machine.node / "pods").is_dir()


async def test_what_is_neither_ours_nor_temporary_is_refused_in_upstream_s_words(
    machine: Machine, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()

    with pytest.raises(PluginError) as refused:
        await machine.plugin.delete(a_volume(precious))

    assert str(refused.value) == (
        f"host_path deleter only supports {machine.temporary}/.+ but received provided {precious}"
    )
    assert precious.is_dir()
