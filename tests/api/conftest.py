"""An API per test, in this process; the keys are made once, they are slow to make."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.loop_time import LoopTime
from tests.fakes.real_server import own_api_server, own_server, real_server  # noqa: F401  fixtures


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(pki: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(pki, tmp_path) as running:
        yield running


@pytest.fixture
async def loop_time(monkeypatch: pytest.MonkeyPatch) -> LoopTime:
    """Timers of the event loop take no time in this test."""
    return LoopTime(asyncio.get_running_loop(), monkeypatch)
