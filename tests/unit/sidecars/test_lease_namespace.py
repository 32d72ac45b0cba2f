"""Leases are where those of upstream's sidecars are."""

from pathlib import Path

import pytest

from mooring.client.kubeconfig import Surroundings
from mooring.sidecars.lease_namespace import find_lease_namespace
from tests.fakes.clock import VirtualClock

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: here, context: {cluster: c, user: "", namespace: %s}}]
"""
PLACES = {
    "the flag wins": ("asked", "by-env", "by-account", "by-context", "asked"),
    "then the pod, by its environment": ("", "by-env", "by-account", "by-context", "by-env"),
    "then the pod, by its account": ("", "", "by-account", "by-context", "by-account"),
    "then the context": ("", "", "", "by-context", "by-context"),
    "else the default": ("", "", "", '""', "default"),
}


@pytest.mark.parametrize(
    ("flag", "env", "account", "context", "expected"), PLACES.values(), ids=PLACES
)
def test_the_namespace_of_leases(
    tmp_path: Path, flag: str, env: str, account: str, context: str, expected: str
) -> None:
    config = tmp_path / "config"
    config.write_text(KUBECONFIG % context)
    directory = tmp_path / "account"
    directory.mkdir()
    if account:
        (directory / "namespace").write_text(f"{account}\n")
    around = Surroundings({"POD_NAMESPACE": env}, VirtualClock(), directory)
    assert find_lease_namespace(flag, config, around) == expected
