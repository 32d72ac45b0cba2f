"""The specs of Kubernetes that are marked [sig-apps] or [sig-api-machinery], and [Conformance].

`MOORING_E2E=wide` runs them; they take most of an hour. What is left out is named with its reason.
"""

import os

import pytest

from tests.conformance.e2e.conftest import Run
from tests.conformance.e2e.suite import Selection

# Why specs fail, and which: parts of their names.
BEYOND = {
    "there are no aggregated API servers: apiregistration.k8s.io is not served": (
        "Aggregator Should be able to support",
        "AggregatedDiscovery should support aggregated discovery interface \\[Conformance",
        "AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers",
        "Discovery should locate the groupVersion and a resource within each APIGroup",
    ),
    "there is no API priority and fairness: flowcontrol.apiserver.k8s.io is not served": (
        "API priority and fairness should support",
    ),
    "pods share the network of their node, where one of them listens on port 80": (
        "Burst scaling should run to completion",
        "Scaling should happen in predictable order",
        "should list, patch and delete a collection of StatefulSets",
        "should perform canary updates and phased rolling updates",
        "should perform rolling updates and roll backs of template modifications",
    ),
    "the node warns of a host port that is taken, and does not refuse the pod": (
        "Should recreate evicted statefulset",
    ),
    "it needs two nodes": ("should rollback without unnecessary restarts",),
    "it compares sentences of upstream's documentation": (
        "CustomResourcePublishOpenAPI .* works for CRD with validation schema",
    ),
}
LEFT_OUT = "|".join(part for parts in BEYOND.values() for part in parts)
GROUPS = {
    "workloads": r"\[sig-apps\]",
    "machinery": r"\[sig-api-machinery\]",
}
SPECS = {"workloads": 53, "machinery": 88}  # of release 1.35: of 60 and 95


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """A spec has an image that nobody has: its pods may not run on this machine's programs."""
    return ("--no-pull-images", "--no-host-rootfs")


@pytest.mark.skipif(
    os.environ.get("MOORING_E2E") != "wide", reason="takes an hour: MOORING_E2E=wide runs it"
)
@pytest.mark.timeout(2 * 3600)
@pytest.mark.parametrize("group", GROUPS)
def test_kubernetes_own_conformance_tests_of_workloads_and_the_api_pass(
    run: Run, group: str
) -> None:
    verdict = run(Selection(rf"{GROUPS[group]}.*\[Conformance\]", LEFT_OUT))
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS[group]
