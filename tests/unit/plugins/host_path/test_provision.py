"""Directories as volumes: never outside the temporary directory, not by any detour."""

from pathlib import Path

import pytest

from mooring.model.claim import Claim
from mooring.model.storage_terms import VolumeMode
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from tests.unit.controllers.binding.things import RWO, RWX, a_claim, a_class


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inner = tmp_path / "tmp"
    inner.mkdir()
    return inner


@pytest.fixture
def plugin(root: Path) -> HostPathPlugin:
    return HostPathPlugin(root, HostPathProvisioning.ON)


def order(claim: Claim) -> Order:
    return Order(f"pvc-{claim.uid}", claim, a_class())


async def test_a_volume_is_a_directory_of_the_size_and_modes_that_were_asked_for(
    plugin: HostPathPlugin, root: Path
) -> None:
    made = await plugin.provision(order(a_claim("3Gi", RWO, RWX)))
    folder = root / "hostpath_pv" / "u"
    assert made["spec"] == {
        "capacity": {"storage": "3Gi"},
        "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
        "hostPath": {"path": str(folder)},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/createdby": "hostpath-dynamic-provisioner"
    }
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o777 == 0o750


async def test_the_same_order_again_gives_the_same_volume_and_keeps_its_files(
    plugin: HostPathPlugin, root: Path
) -> None:
    first = await plugin.provision(order(a_claim()))
    (root / "hostpath_pv" / "u" / "file").touch()
    assert await plugin.provision(order(a_claim())) == first
    assert (root / "hostpath_pv" / "u" / "file").exists()


async def test_block_volumes_are_refused(plugin: HostPathPlugin) -> None:
    why = "kubernetes.io/host-path does not support block volume provisioning"
    with pytest.raises(PluginError, match=why):
        await plugin.provision(order(a_claim(volume_mode=VolumeMode.BLOCK)))


async def test_volumes_of_a_mode_nobody_knows_are_refused(plugin: HostPathPlugin) -> None:
    with pytest.raises(PluginError, match="knows no volumeMode Tape"):
        await plugin.provision(order(a_claim(volume_mode=VolumeMode("Tape"))))


def test_it_makes_nothing_unless_it_was_enabled(root: Path) -> None:
    why = 'provisioning in volume plugin "kubernetes.io/host-path" is disabled'
    with pytest.raises(PluginError, match=why):
        HostPathPlugin(root, HostPathProvisioning.OFF).check()


@pytest.mark.parametrize("uid", ["", "..", "../x", "a/b"])
async def test_a_uid_that_is_no_name_is_refused(plugin: HostPathPlugin, uid: str) -> None:
    with pytest.raises(PluginError, match="not the name of a directory"):
        await plugin.provision(order(a_claim(uid=uid)))


async def test_a_link_in_place_of_its_folder_is_not_followed(
    plugin: HostPathPlugin, root: Path, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (root / "hostpath_pv").symlink_to(target)
    with pytest.raises(PluginError):
        await plugin.provision(order(a_claim()))
    assert list(target.iterdir()) == []


async def test_a_link_in_place_of_the_volume_is_not_taken_for_it(
    plugin: HostPathPlugin, root: Path, tmp_path: Path
) -> None:
    (root / "hostpath_pv").mkdir()
    (root / "hostpath_pv" / "u").symlink_to(tmp_path)
    with pytest.raises(PluginError):
        await plugin.provision(order(a_claim()))
