"""A whole API per test, and one driver's sidecars on it."""

from collections.abc import AsyncIterator

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.sidecars.cluster import Cluster


@pytest.fixture
async def cluster(api: ApiUnderTest) -> AsyncIterator[Cluster]:  # noqa: F811  the fixture
    made = Cluster(api)
    async with made.neighbours():
        yield made
