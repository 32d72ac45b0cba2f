"""Two laws of all tests: nothing meets a bug unseen, and a busy machine fails no property.

An example that takes long says something of the machine's load, and nothing of the code. What has
to be fast is measured by `make bench`; what hangs is ended by pytest's own limit.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from mooring.reconcile.poison import POISONED

settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


@pytest.fixture(autouse=True)
def nothing_is_poisoned(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is set aside in this process fails the test, unless it says that it poisons something:
    loops survive their bugs, and so would the assertions of handlers in tests."""
    before = POISONED.total()
    yield
    if request.node.get_closest_marker("poisons") is None:
        assert POISONED.total() == before, "an exception was set aside: see the captured log"
