"""A whole API per test, and the controller on it."""

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.attachment.cluster import Cluster


@pytest.fixture
async def cluster(api: ApiUnderTest) -> Cluster:  # noqa: F811  the fixture
    return Cluster(api)
