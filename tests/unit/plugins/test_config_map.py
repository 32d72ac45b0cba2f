"""configMap: text and bytes as files."""

import pytest

from mooring.model.pod_volume import KeyToPath
from mooring.model.volume_use import VolumeUse
from mooring.plugins.config_map import ConfigMapPlugin
from mooring.plugins.payload import Incomplete
from mooring.plugins.volume_host import Host
from mooring.plugins.written import WrittenMounter
from tests.unit.plugins.objects import PlayedApi, a_config_map_use
from tests.unit.plugins.world import a_pod, a_request


def a_mounter(host: Host, use: VolumeUse) -> WrittenMounter:
    return ConfigMapPlugin(host).mounter(use, a_pod())


def files_in(mounter: WrittenMounter) -> dict[str, bytes]:
    """What is to be seen at the top."""
    return {
        path.name: path.read_bytes() for path in mounter.path.iterdir() if path.name[:2] != ".."
    }


async def test_texts_and_bytes_become_files(host: Host) -> None:
    mounter = a_mounter(host, a_config_map_use(mode=0o640))
    await mounter.set_up(a_request())
    assert files_in(mounter) == {"color": b"blue", "size": b"9", "logo": b"\x89PNG"}
    assert (mounter.path / "logo").stat().st_mode & 0o777 == 0o640


async def test_texts_are_utf_8(host: Host, api: PlayedApi) -> None:
    api.config_maps["settings"] = {"greeting": "grüß 😀\n"}
    mounter = a_mounter(host, a_config_map_use())
    await mounter.set_up(a_request())
    assert (mounter.path / "greeting").read_bytes() == "grüß 😀\n".encode()


async def test_items_choose_and_rename(host: Host) -> None:
    items = (KeyToPath("color", "etc/color", 0o400), KeyToPath("logo", "logo.png"))
    mounter = a_mounter(host, a_config_map_use(items=items))
    await mounter.set_up(a_request())
    assert (mounter.path / "etc" / "color").read_bytes() == b"blue"
    assert (mounter.path / "etc" / "color").stat().st_mode & 0o777 == 0o400
    assert (mounter.path / "logo.png").read_bytes() == b"\x89PNG"
    assert not (mounter.path / "size").exists()


async def test_a_missing_key_touches_nothing(host: Host) -> None:
    use = a_config_map_use(items=(KeyToPath("taste", "taste"),))
    with pytest.raises(Incomplete) as refused:
        await a_mounter(host, use).set_up(a_request())
    assert str(refused.value) == "configmap references non-existent config key: taste"
    assert not host.layout.root.exists()


async def test_a_missing_object_touches_nothing(host: Host) -> None:
    with pytest.raises(Incomplete) as refused:
        await a_mounter(host, a_config_map_use("nobody")).set_up(a_request())
    assert str(refused.value) == 'configmaps "nobody" not found'
    assert not host.layout.root.exists()


async def test_an_optional_object_that_goes_takes_its_files_along(
    host: Host, api: PlayedApi
) -> None:
    mounter = a_mounter(host, a_config_map_use(optional=True))
    await mounter.set_up(a_request())
    del api.config_maps["settings"]
    await mounter.set_up(a_request())
    assert files_in(mounter) == {}
