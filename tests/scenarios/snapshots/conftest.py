"""A whole API per test, and the controllers on it."""

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.snapshots.cluster import Cluster


@pytest.fixture
def cluster(api: ApiUnderTest) -> Cluster:  # noqa: F811  the fixture
    return Cluster(api)
