"""Upstream's suite for drivers, "External Storage", on the bundled driver within `mooring up`."""

import os
from pathlib import Path

import pytest

from tests.conformance.e2e.conftest import Run
from tests.conformance.e2e.suite import Selection

HERE = Path(__file__).parent / "external"
SPECS = 75  # of release 1.35, that the suite does not skip for what the driver does not claim

# Not tried: they restart a kubelet by ssh; they need preemption by PriorityClass, and a volume
# populator with its CustomResourceDefinition, neither of which Mooring has.
BEYOND = r"\[Disruptive\]|preempt lower priority|any volume data source"
CHOSEN = Selection(
    r"External.Storage",
    BEYOND,
    (f"--storage.testdriver={HERE / 'driver.yaml'}", f"--repo-root={HERE}"),
)


@pytest.mark.skipif(
    os.environ.get("MOORING_E2E") != "wide", reason="takes 20 minutes: MOORING_E2E=wide runs it"
)
@pytest.mark.timeout(2 * 3600)
def test_the_suite_for_drivers_passes_on_the_bundled_one(run: Run) -> None:
    verdict = run(CHOSEN)
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS
