"""Every scenario of the scheduler has a whole API, a binder and a scheduler of its own."""

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.scheduling.cluster import Cluster


@pytest.fixture
def cluster(api: ApiUnderTest) -> Cluster:  # noqa: F811  the fixture
    return Cluster(api)
