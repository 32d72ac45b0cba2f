"""The DNS server of a node against a whole API, with a node's rights and without them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import dns.message
import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import SCHEDULER, User, node_user
from mooring.client.local import LocalClient
from mooring.node.names.options import DnsOptions
from mooring.node.names.run import ClusterNames, own_address
from mooring.node.pods.resolver import ClusterDns
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.objects import DEFAULT, ENDPOINT_SLICES, an_endpoint_slice

LOOPBACK = "127.0.0.1"
WAIT = 30.0  # seconds, on a busy machine
NOWHERE = DnsOptions(resolv_conf=Path("/nonexistent"))


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(pki: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(pki, tmp_path) as running:
        yield running


def cluster_names(
    api: ApiUnderTest, user: User, options: DnsOptions = NOWHERE, port: int = 0
) -> ClusterNames:
    in_process = InProcessApi(api.parts.backend, user, check=api.parts.access.check)
    rng = Random(1)  # noqa: S311  not for secrets
    return ClusterNames(LocalClient(in_process), api.clock, rng, options, LOOPBACK, port)


@asynccontextmanager
async def running(names: ClusterNames) -> AsyncIterator[None]:
    task = asyncio.create_task(names.run())
    yield
    task.cancel()
    await asyncio.wait({task})


async def ask(names: ClusterNames, name: str) -> dns.message.Message:
    question = dns.message.make_query(name, "A").to_wire()
    async with asyncio.timeout(WAIT):
        reader, writer = await asyncio.open_connection(*names.address)
        try:
            writer.write(len(question).to_bytes(2, "big") + question)
            length = int.from_bytes(await reader.readexactly(2), "big")
            return dns.message.from_wire(await reader.readexactly(length))
        finally:
            writer.close()
            await writer.wait_closed()


async def test_services_have_names_as_soon_as_they_are_there(api: ApiUnderTest) -> None:
    names = cluster_names(api, node_user("n1"))
    names.bind()
    assert names.find_dns() == ClusterDns((LOOPBACK,), "cluster.local")
    async with running(names):
        assert (await ask(names, "db.default.svc.cluster.local")).rcode() == 3
        await api.post(
            f"{DEFAULT}/services", {"metadata": {"name": "db"}, "spec": {"clusterIP": "None"}}
        )
        slice_ = an_endpoint_slice("db-1", endpoints=[{"addresses": ["10.0.0.7"]}])
        slice_["metadata"]["labels"] = {"kubernetes.io/service-name": "db"}
        assert (await api.post(ENDPOINT_SLICES, slice_)).code == 201
        await api.clock.advance(1)
        found = await ask(names, "db.default.svc.cluster.local")
    assert [item.to_text() for each in found.answer for item in each] == ["10.0.0.7"]


async def test_without_the_right_to_read_them_pods_ask_the_host(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    names = cluster_names(api, SCHEDULER)
    names.bind()
    async with running(names):
        assert (await ask(names, "db.default.svc.cluster.local")).rcode() == 2
        await api.clock.advance(60)
        assert names.find_dns() is None
    said = [record.getMessage() for record in caplog.records if "no names" in record.getMessage()]
    assert len(said) == 1
    assert "is forbidden" in said[0]


async def test_an_address_that_is_taken_is_told_once_and_pods_ask_the_host(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        names = cluster_names(api, node_user("n1"), port=port)
        names.bind()
        await names.run()  # there is nothing to run
    assert names.find_dns() is None
    (line,) = [record.getMessage() for record in caplog.records]
    assert f"Address already in use at 127.0.0.1:{port}" in line


async def test_where_somebody_else_answers_nothing_listens(api: ApiUnderTest) -> None:
    options = DnsOptions(("10.96.0.10",), "example.org")
    names = cluster_names(api, node_user("n1"), options)
    names.bind()
    await names.run()
    assert names.find_dns() == ClusterDns(("10.96.0.10",), "example.org")
    assert names.address == (LOOPBACK, 0)


def test_each_root_directory_has_an_address_of_its_own_on_loopback() -> None:
    here, there = own_address(Path("/var/lib/a")), own_address(Path("/var/lib/b"))
    assert here.startswith("127.53.")
    assert here != there
    assert here == own_address(Path("/var/lib/a"))
