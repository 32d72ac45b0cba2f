"""Two laws of all tests: nothing meets a bug unseen, and a busy machine fails no property.

An example that takes long says something of the machine's load, and nothing of the code. What has
to be fast is measured by `make bench`; what hangs is ended by pytest's own limit.

Properties (tests with `@given`, and state machines) are bounded by a number of examples, and hardly
by time: hypothesis sets no deadline, and pytest's limit for them is far above what they take.
`make test` tries `USUAL` examples, `make conformance` tries `LONG`. Properties that play a world in
every example take a share of that, `max_examples=settings().max_examples // 4`, so that none takes
longer than a few seconds in `make test`; a plain `max_examples=300` is for those that are cheap.

`make test` draws the same examples each time: a change is judged by what it changes, and what was
green for its author is green for all. `make conformance` draws new ones.
"""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from mooring import log
from mooring.reconcile.poison import POISONED

USUAL, LONG = 100, 1000  # examples
USUAL_LIMIT, LONG_LIMIT = 300, 1800  # seconds; other tests have what pyproject.toml says
IS_LONG = bool(os.environ.get("MOORING_CONFORMANCE"))

settings.register_profile(
    "any load",
    max_examples=LONG if IS_LONG else USUAL,
    derandomize=not IS_LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any load")


@pytest.hookimpl(trylast=True)  # hypothesis marks its tests before
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    limit = pytest.mark.timeout(LONG_LIMIT if IS_LONG else USUAL_LIMIT)
    for item in items:
        if item.get_closest_marker("hypothesis") and not item.get_closest_marker("timeout"):
            item.add_marker(limit)


@pytest.fixture(autouse=True)
def nothing_is_poisoned(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is set aside in this process fails the test, unless it says that it poisons something:
    loops survive their bugs, and so would the assertions of handlers in tests."""
    before = POISONED.total()
    yield
    if request.node.get_closest_marker("poisons") is None:
        assert POISONED.total() == before, "an exception was set aside: see the captured log"


@pytest.fixture(autouse=True)
def log_lines_go_where_they_went() -> Iterator[None]:
    """A command that runs in the test's process sends them to a standard error that closes."""
    loggers = [logging.getLogger(name) for name in ("mooring", *log.OF_OTHERS)]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    yield
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)
