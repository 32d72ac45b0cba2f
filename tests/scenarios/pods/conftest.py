"""Every scenario of pods has a whole API and a directory of its own; threads take no time."""

from pathlib import Path

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.fakes.inline_threads import install_inline_threads
from tests.scenarios.pods.cluster import Cluster


@pytest.fixture
async def cluster(api: ApiUnderTest, tmp_path: Path) -> Cluster:  # noqa: F811  the fixture
    install_inline_threads()
    cluster = Cluster(api, tmp_path / "node")
    await cluster.a_node()
    return cluster
