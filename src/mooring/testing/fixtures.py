"""Fixtures of `pytest --mooring`: one cluster for a session, a namespace for each test.

With pytest-xdist each worker has a cluster of its own. The report of a test that failed has the
objects and events of its namespace.
"""

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from mooring.testing.cluster import Cluster
from mooring.testing.errors import ClusterError
from mooring.testing.kube import Kube
from mooring.testing.reports import report_namespace


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    """Arguments of `Cluster`: override it in a conftest.py, as in `{"controllers": False}`."""
    return {}


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, cluster_options: dict[str, Any]) -> Iterator[Cluster]:
    """A running cluster, shared by all tests of this process: work in your own namespace."""
    with _cluster(request, cluster_options) as running:
        yield running


@pytest.fixture
def own_cluster(
    request: pytest.FixtureRequest, cluster_options: dict[str, Any]
) -> Iterator[Cluster]:
    """A running cluster for one test, which may move its clock on, or take its nodes away."""
    with _cluster(request, cluster_options) as running:
        yield running


@pytest.fixture
def kube(cluster: Cluster) -> Iterator[Kube]:
    """The verbs of `Cluster` in a namespace that only this test has; deleted afterwards."""
    with cluster.namespace() as made:
        yield made


@pytest.fixture
def namespace(kube: Kube) -> str:
    """The name of that namespace."""
    return kube.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and report.when != "teardown":
        used = getattr(item, "funcargs", {}).values()
        shown = {value.name: value for value in used if isinstance(value, Kube)}
        report.sections += [
            (f"Kubernetes namespace {name}", _shown(kube)) for name, kube in shown.items()
        ]
    return report


def _cluster(request: pytest.FixtureRequest, options: dict[str, Any]) -> Cluster:
    return Cluster(**{"process": request.config.getoption("--mooring-process"), **options})


def _shown(kube: Kube) -> str:
    try:
        return report_namespace(kube.name, kube.objects(), kube.events())
    except ClusterError as error:
        return str(error)
