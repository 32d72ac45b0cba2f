"""From a kubeconfig to a client: over a proxy, with a token that is rotated."""

import socket
from pathlib import Path

import pytest

from mooring.client.connect import connect, connect_to
from mooring.client.connections import kept_alive
from mooring.client.credentials import Given, Held
from mooring.client.endpoint import Endpoint
from mooring.clock import RealClock
from mooring.errors import ConnectionLost, Forbidden, Unauthorized, UsageError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.secret_value import SecretValue
from mooring.model.volume import Volume
from tests.fakes.clock import VirtualClock
from tests.fakes.objects import a_volume
from tests.fakes.real_server import RealServer
from tests.unit.client.kubeconfigs import a_kubeconfig, encoded, written
from tests.unit.client.scripted_server import Script, a_stored


async def test_the_kubeconfig_of_mooring_leads_to_it(real_server: RealServer) -> None:
    async with connect(real_server.kubeconfig, RealClock()) as client:
        assert int((await client.list(Claim)).version) > 0


async def test_the_environment_names_the_kubeconfig(
    real_server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(real_server.kubeconfig))
    async with connect(None, RealClock()) as client:
        assert int((await client.list(Claim)).version) > 0


async def test_a_token_that_is_rotated_on_the_disk_is_shown_at_once(
    real_server: RealServer, tmp_path: Path
) -> None:
    authority = (real_server.data_dir / "pki" / "ca.crt").read_text()
    cluster = {"server": real_server.url, "certificate-authority-data": encoded(authority)}
    token = tmp_path / "token"
    token.write_text(real_server.token("read-only"))
    path = written(tmp_path / "config", a_kubeconfig(cluster, {"tokenFile": "token"}))
    async with connect(path, RealClock()) as client:
        with pytest.raises(Forbidden):
            await client.create(Volume, a_volume())
        token.write_text("no token at all")
        with pytest.raises(Unauthorized):
            await client.list(Volume)
        token.write_text(real_server.token("admin"))
        await client.delete(await client.create(Volume, a_volume("rotated")))


async def test_a_proxy_is_asked_for_the_server(script: Script) -> None:
    script.answer(a_stored())
    endpoint = Endpoint("http://api.invalid:8080", proxy=script.url)
    async with connect_to(endpoint, VirtualClock()) as client:
        await client.get(Claim, Key("default", "data"))
    assert script.asked[0].headers["Host"] == "api.invalid:8080"


async def test_a_server_below_a_path_is_asked_there(script: Script) -> None:
    script.answer(a_stored())
    async with connect_to(Endpoint(f"{script.url}/k8s/c-1"), VirtualClock()) as client:
        await client.get(Claim, Key("default", "data"))
    assert script.asked[0].path.startswith("/k8s/c-1/api/v1/")


async def test_without_a_kubeconfig_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="give --kubeconfig"):
        async with connect(None, RealClock()):
            pass


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_every_connection_notices_a_server_that_is_gone(family: socket.AddressFamily) -> None:
    with kept_alive((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ())) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30


ODD_TOKENS = {"with a line break": b"a\r\nb", "not ASCII": "\u00e4".encode(), "no text": b"\xff"}


@pytest.mark.parametrize("token", ODD_TOKENS.values(), ids=ODD_TOKENS)
async def test_an_odd_token_is_not_sent_and_ends_nothing(script: Script, token: bytes) -> None:
    source = Held(Given(SecretValue(token)))
    async with connect_to(Endpoint(script.url, source=source), VirtualClock()) as client:
        with pytest.raises(ConnectionLost, match="characters that cannot be sent"):
            await client.get(Claim, Key("default", "data"))
    assert script.asked == []
