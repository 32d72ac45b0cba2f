"""secret: bytes as files, and what happens when the object comes and goes."""

import pytest

from mooring.errors import ConnectionLost
from mooring.model.pod_volume import KeyToPath
from mooring.model.volume_use import VolumeUse
from mooring.plugins.payload import Incomplete
from mooring.plugins.secret import SecretPlugin
from mooring.plugins.volume_host import Host
from mooring.plugins.written import WrittenMounter
from tests.unit.plugins.objects import PlayedApi, a_secret_use
from tests.unit.plugins.world import a_pod, a_request


def a_mounter(host: Host, use: VolumeUse) -> WrittenMounter:
    return SecretPlugin(host).mounter(use, a_pod())


async def test_values_become_files_as_they_are(host: Host) -> None:
    mounter = a_mounter(host, a_secret_use(mode=0o400))
    await mounter.set_up(a_request())
    assert (mounter.path / "user").read_bytes() == b"me"
    assert (mounter.path / "password").read_bytes() == b"\x00\xff"
    assert (mounter.path / "password").stat().st_mode & 0o777 == 0o400


async def test_a_missing_key_touches_nothing(host: Host) -> None:
    use = a_secret_use(items=(KeyToPath("user", "user"), KeyToPath("pin", "pin")))
    with pytest.raises(Incomplete) as refused:
        await a_mounter(host, use).set_up(a_request())
    assert str(refused.value) == "references non-existent secret key: pin"
    assert not host.layout.root.exists()


async def test_one_secret_shown_a_thousand_times_does_not_fill_the_memory(
    host: Host, api: PlayedApi
) -> None:
    api.secrets["login"] = {"user": bytes(1_000_000)}
    use = a_secret_use(items=tuple(KeyToPath("user", f"u{number}") for number in range(1000)))
    with pytest.raises(Incomplete, match="more than"):
        await a_mounter(host, use).set_up(a_request())
    assert not host.layout.root.exists()


async def test_an_optional_secret_may_come_later(host: Host, api: PlayedApi) -> None:
    user = a_secret_use("later", (KeyToPath("user", "who"),), optional=True)
    mounter = a_mounter(host, user)
    await mounter.set_up(a_request())
    assert [path.name for path in mounter.path.iterdir() if path.name[:2] != ".."] == []
    api.secrets["later"] = {"user": b"you"}
    await mounter.set_up(a_request())
    assert (mounter.path / "who").read_bytes() == b"you"


async def test_a_secret_that_goes_leaves_its_files(host: Host, api: PlayedApi) -> None:
    mounter = a_mounter(host, a_secret_use())
    await mounter.set_up(a_request())
    del api.secrets["login"]
    for _ in range(2):  # every refresh tells of it
        with pytest.raises(Incomplete) as refused:
            await mounter.set_up(a_request())
        assert str(refused.value) == 'secrets "login" not found'
    assert (mounter.path / "user").read_bytes() == b"me"


async def test_an_api_server_out_of_reach_leaves_files_even_of_optional_secrets(
    host: Host, api: PlayedApi
) -> None:
    mounter = a_mounter(host, a_secret_use(optional=True))
    await mounter.set_up(a_request())
    api.trouble = ConnectionLost("connection refused")
    with pytest.raises(Incomplete, match="connection refused"):
        await mounter.set_up(a_request())
    assert (mounter.path / "user").read_bytes() == b"me"


async def test_no_value_is_told_in_an_error(host: Host, api: PlayedApi) -> None:
    api.secrets["login"] = {"..key": b"hunter2"}
    with pytest.raises(Exception, match="invalid path") as refused:
        await a_mounter(host, a_secret_use()).set_up(a_request())
    told = [str(refused.value), *(repr(entry.locals) for entry in refused.traceback)]
    assert not [text for text in told if "hunter2" in text]
