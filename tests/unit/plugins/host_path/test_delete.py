"""Deleting directories: never outside the temporary directory, not by any detour."""

from pathlib import Path

import pytest

from mooring.model.claim import Claim
from mooring.model.volume import Volume
from mooring.model.volume_source import HostPathSource
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from tests.unit.controllers.binding.things import CSI, a_claim, a_class, a_volume


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


def at(path: Path | str) -> Volume:
    return a_volume(host_path=HostPathSource(path=str(path)))


async def test_a_volume_is_deleted_with_everything_in_it(
    plugin: HostPathPlugin, root: Path
) -> None:
    await plugin.provision(order(a_claim()))
    folder = root / "hostpath_pv" / "u"
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("data")
    await plugin.delete(at(folder))
    assert not folder.exists()


async def test_what_is_gone_already_is_no_mistake(plugin: HostPathPlugin, root: Path) -> None:
    await plugin.delete(at(root / "never" / "there"))


async def test_a_volume_of_an_instance_that_was_moved_is_not_called_deleted(
    plugin: HostPathPlugin, root: Path
) -> None:
    before = root / "a" / "data" / "volumes"
    before.mkdir(parents=True)
    made = await HostPathPlugin(before, HostPathProvisioning.ON).provision(order(a_claim()))
    folder = Path(made["spec"]["hostPath"]["path"])
    volume = a_volume(
        annotations=made["metadata"]["annotations"], host_path=HostPathSource(path=str(folder))
    )
    (root / "a").rename(root / "b")
    with pytest.raises(PluginError, match="may have been moved"):
        await plugin.delete(volume)
    assert (root / "b" / "data" / "volumes" / "hostpath_pv" / "u").is_dir()
    (root / "b").rename(root / "a")
    await plugin.delete(volume)
    assert list((before / "hostpath_pv").iterdir()) == []
    await plugin.delete(volume)


async def test_what_a_reboot_emptied_is_gone(plugin: HostPathPlugin, root: Path) -> None:
    made = await plugin.provision(order(a_claim()))
    source = HostPathSource(path=made["spec"]["hostPath"]["path"])
    (root / "hostpath_pv" / "u").rmdir()
    (root / "hostpath_pv").rmdir()
    await plugin.delete(a_volume(annotations=made["metadata"]["annotations"], host_path=source))


async def test_links_inside_a_volume_go_and_what_they_point_at_stays(
    plugin: HostPathPlugin, root: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    await plugin.provision(order(a_claim()))
    folder = root / "hostpath_pv" / "u"
    (folder / "link").symlink_to(precious)
    await plugin.delete(at(folder))
    assert not folder.exists()
    assert (precious / "file").exists()


async def test_a_link_on_the_way_to_a_volume_is_not_followed(
    plugin: HostPathPlugin, root: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    (precious / "u").mkdir(parents=True)
    (root / "detour").symlink_to(precious)
    with pytest.raises(PluginError):
        await plugin.delete(at(root / "detour" / "u"))
    assert (precious / "u").exists()


@pytest.mark.parametrize(
    "path", ["/", "/etc", "{root}", "{root}/../precious", "relative", "{root}x"]
)
async def test_paths_outside_are_refused(plugin: HostPathPlugin, root: Path, path: str) -> None:
    path = path.format(root=root)
    with pytest.raises(PluginError, match="host_path deleter only supports"):
        await plugin.delete(at(path))
    assert list(root.parent.iterdir()) == [root]


async def test_a_volume_of_another_source_is_refused(plugin: HostPathPlugin) -> None:
    with pytest.raises(PluginError, match='failed to create deleter for volume "pv"'):
        await plugin.delete(a_volume(csi=CSI))
