"""Upstream's suite for drivers, "External Storage", on `mooring up`: two drivers."""

import os
from pathlib import Path

import pytest

from mooring.driver.backends.filesystem import grows_mounted
from tests.conformance.e2e.conftest import Run
from tests.conformance.e2e.suite import Selection

HERE = Path(__file__).parent / "external"
SPECS = 117  # of release 1.35, that the suite does not skip for what the driver does not claim
HOST_PATH_SPECS = 85
SPECS_AT_ONCE = 2

# Not tried: they restart a kubelet by ssh; they need preemption by PriorityClass, a Deployment with
# a CustomResourceDefinition, and a StatefulSet, none of which Mooring has.
BEYOND = (
    r"\[Disruptive\]|preempt lower priority|any volume data source"
    r"|create snapshots for StatefulSet volumes and verify data consistency"
)
WITHOUT_POD = r"should modify volumes with a different volumeAttributesClass"
IN_USE = (  # one spec each: they grow an ext4 that is mounted
    r"\(default fs\)\(allowExpansion\).*PVC is edited while pod is using it",
    r"Generic Ephemeral-volume \(default fs\).*expansion of pvcs created for ephemeral pvcs",
)

wide = pytest.mark.skipif(
    os.environ.get("MOORING_E2E") != "wide", reason="takes two hours: MOORING_E2E=wide runs it"
)


def _choose(manifest: str, focus: str, *beyond: str) -> Selection:
    flags = (f"--storage.testdriver={HERE / manifest}", f"--repo-root={HERE}")
    return Selection(rf"External.Storage.*{focus}", "|".join((BEYOND, *beyond)), flags)


@wide
@pytest.mark.timeout(2 * 3600)
def test_the_suite_for_drivers_passes_on_the_bundled_one(run: Run) -> None:
    refused = () if grows_mounted("ext4") else IN_USE  # by this machine, and the driver says so
    verdict = run(_choose("driver.yaml", "", WITHOUT_POD, *refused))
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS - len(refused)


@wide
@pytest.mark.timeout(2 * 3600)
@pytest.mark.usefixtures("host_path")
def test_the_suite_for_drivers_passes_on_csi_driver_host_path(run: Run) -> None:
    verdict = run(_choose("host_path.yaml", "", WITHOUT_POD))
    assert verdict.failed == {}
    assert len(verdict.passed) == HOST_PATH_SPECS


@wide
@pytest.mark.timeout(3600)
def test_volumes_that_no_pod_uses_are_modified(run: Run) -> None:
    """Those specs wait for volumes before there is a pod: the class has to bind at once."""
    verdict = run(_choose("at_once.yaml", WITHOUT_POD))
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS_AT_ONCE
