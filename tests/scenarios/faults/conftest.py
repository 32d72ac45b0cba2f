"""Every fault has a whole API, and controllers of its own to happen to."""

import pytest

from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.scenarios.faults.world import World


@pytest.fixture
def world(api: ApiUnderTest) -> World:  # noqa: F811  the fixture
    return World(api)
