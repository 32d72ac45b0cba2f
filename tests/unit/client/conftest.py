"""A server per transport; the keys are made once, they are slow to make."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.client.http import HttpClient
from tests.fakes.api import make_pki
from tests.fakes.real_server import own_api_server, real_server  # noqa: F401  fixtures
from tests.unit.client.scripted_server import Script, scripted, talking_to
from tests.unit.client.transports import Transport, http_transport, local_transport

TRANSPORTS = ["local", "http"]


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(params=TRANSPORTS)
async def transport(
    request: pytest.FixtureRequest, pki: Pki, tmp_path: Path
) -> AsyncIterator[Transport]:
    """A client of a server that other tests may share: keep to its namespace."""
    if request.param == "local":
        async with local_transport(pki, tmp_path) as local:
            yield local
    else:
        async with http_transport(request.getfixturevalue("real_server")) as http:
            yield http


@pytest.fixture(params=TRANSPORTS)
async def own_transport(
    request: pytest.FixtureRequest, pki: Pki, tmp_path: Path
) -> AsyncIterator[Transport]:
    """A client of a server that belongs to the test."""
    if request.param == "local":
        async with local_transport(pki, tmp_path / "keys") as local:
            yield local
    else:
        async with http_transport(request.getfixturevalue("own_api_server")) as http:
            yield http


@pytest.fixture
async def script() -> AsyncIterator[Script]:
    async with scripted() as running:
        yield running


@pytest.fixture
async def client(script: Script) -> AsyncIterator[HttpClient]:
    async with talking_to(script) as talking:
        yield talking
