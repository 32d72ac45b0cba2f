"""A store of each engine, each test with its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.store.contract import Store
from tests.fakes.clock import VirtualClock
from tests.unit.apiserver.store.engines import ENGINES


@pytest.fixture(params=list(ENGINES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await ENGINES[request.param](tmp_path, VirtualClock())
    yield opened
    await opened.close()
