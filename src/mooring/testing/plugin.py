"""The pytest plugin: `pytest --mooring` gives tests the fixtures of `fixtures.py`.

pytest loads this in every run of an environment that has Mooring: without the option it does, and
costs, nothing.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mooring", "Kubernetes clusters (mooring.testing)")
    group.addoption(
        "--mooring",
        action="store_true",
        help="give tests a Kubernetes cluster: the fixtures cluster, namespace, kube, own_cluster",
    )
    group.addoption(
        "--mooring-process",
        choices=("thread", "child"),
        default="thread",
        help="where the cluster runs: on a thread of pytest's process (default), or in a child",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--mooring"):
        from mooring.testing import fixtures

        config.pluginmanager.register(fixtures, "mooring-fixtures")
