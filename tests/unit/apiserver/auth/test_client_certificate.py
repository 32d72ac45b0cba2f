"""Who the API server is to nodes."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mooring.apiserver.auth.client_certificate import NodeCallers
from mooring.apiserver.auth.pki import Pki, open_pki, server_context
from mooring.clock import RealClock


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return open_pki(
        tmp_path_factory.mktemp("pki"),
        now=RealClock().now(),
        host_name="test",
    )


async def subject_seen_by_a_node(pki: Pki, context: ssl.SSLContext) -> dict[str, Any]:
    seen: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    tls = server_context(pki)
    tls.load_verify_locations(pki.ca_file)
    tls.verify_mode = ssl.CERT_REQUIRED

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(writer.get_extra_info("ssl_object").getpeercert())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    certificate = await seen
    writer.close()
    await writer.wait_closed()
    server.close()
    return {name: value for part in certificate["subject"] for name, value in part}


async def test_a_node_that_trusts_the_authority_knows_who_calls(pki: Pki) -> None:
    callers = NodeCallers(pki.authority, RealClock().now)
    assert await subject_seen_by_a_node(pki, callers.context()) == {
        "organizationName": "system:masters",
        "commonName": "system:kube-apiserver",
    }


def test_the_certificate_is_made_anew_long_before_it_ends(pki: Pki) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    callers = NodeCallers(pki.authority, lambda: now)
    first = callers.context()
    now += timedelta(days=29)
    assert callers.context() is first
    now += timedelta(days=2)
    second = callers.context()
    assert second is not first
    now -= timedelta(days=60)  # a clock that was set right
    assert callers.context() is not second
