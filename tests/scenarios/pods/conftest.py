"""Every scenario of pods has a whole API and a directory of its own; threads take no time."""

import asyncio
from pathlib import Path

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.fakes.inline_threads import InlineThreads
from tests.scenarios.pods.cluster import Cluster


@pytest.fixture
async def cluster(api: ApiUnderTest, tmp_path: Path) -> Cluster:  # noqa: F811  the fixture
    asyncio.get_running_loop().set_default_executor(InlineThreads(1))
    cluster = Cluster(api, tmp_path / "node")
    await cluster.a_node()
    return cluster
