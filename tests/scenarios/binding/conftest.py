"""Every scenario of the binder has a whole API and a binder of its own."""

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.binding.cluster import Cluster


@pytest.fixture
def cluster(api: ApiUnderTest) -> Cluster:  # noqa: F811  the fixture
    return Cluster(api)
