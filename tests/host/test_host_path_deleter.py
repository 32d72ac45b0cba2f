"""Deleting hostPath volumes that something is mounted in."""

from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountTable
from mooring.model.volume import Volume
from mooring.model.volume_source import HostPathSource
from mooring.plugins.contract import PluginError
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from tests.unit.controllers.binding.things import a_volume

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def volume(place: Path) -> Path:
    path = place / "hostpath_pv" / "u"
    (path / "deep" / "mounted").mkdir(parents=True)
    (path / "own").touch()
    return path


@pytest.fixture
def precious(place: Path) -> Path:
    path = place / "precious"
    path.mkdir()
    (path / "file").touch()
    return path


def at(path: Path) -> Volume:
    return a_volume(host_path=HostPathSource(path=str(path)))


async def test_a_volume_with_a_mount_inside_is_not_deleted_and_the_mount_is_named(
    place: Path, volume: Path, precious: Path, mounts: Mounts
) -> None:
    plugin = HostPathPlugin(place, HostPathProvisioning.ON)
    mounted = volume / "deep" / "mounted"
    mounts.bind(precious, mounted)
    with pytest.raises(PluginError, match=f"something is mounted at {mounted}"):
        await plugin.delete(at(volume))
    assert (precious / "file").exists()
    assert (volume / "own").exists()
    mounts.unmount(mounted)
    await plugin.delete(at(volume))
    assert list((place / "hostpath_pv").iterdir()) == []
    assert (precious / "file").exists()


async def test_a_volume_that_is_a_mount_point_is_not_deleted(
    place: Path, volume: Path, precious: Path, mounts: Mounts
) -> None:
    mounts.bind(precious, volume)
    with pytest.raises(PluginError, match=f"something is mounted at {volume}"):
        await HostPathPlugin(place, HostPathProvisioning.ON).delete(at(volume))
    assert (precious / "file").exists()


async def test_a_mount_that_was_made_after_the_look_is_not_entered(
    place: Path,
    volume: Path,
    precious: Path,
    mounts: Mounts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mounts.bind(precious, volume / "deep" / "mounted")
    monkeypatch.setattr(MountTable, "below", lambda table, path: ())
    with pytest.raises(PluginError, match="busy"):
        await HostPathPlugin(place, HostPathProvisioning.ON).delete(at(volume))
    monkeypatch.undo()
    assert (precious / "file").exists()
