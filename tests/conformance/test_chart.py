"""The Helm chart: rendered and installed by helm, taken by Mooring's API server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mooring import __version__
from release import chart
from tests.conformance.helm import Helm
from tests.conformance.obtain import HELM, Missing, Say
from tests.conformance.peers import Find
from tests.fakes.real_server import RealServer

SOURCE = Path(__file__).parents[2] / "deploy/helm/mooring"
KUBERNETES = "--kube-version=1.35.0"
DRIVER = {
    "name": "hostpath",
    "containers": [{"name": "driver", "image": "example.com/driver:1"}],
}
VALUES = {
    "as it comes": {},
    "one driver with all sidecars": {"drivers": [DRIVER]},
    "two drivers, two sidecars each, and no controllers": {
        "controllers": {"enabled": False},
        "drivers": [
            {**DRIVER, "name": name, "sidecars": ["provisioner", "attacher"]}
            for name in ("one", "two")
        ],
    },
    "a namespace of its own for the lease": {
        "controllers": {"snapshotLeaseNamespace": "default", "replicas": 1}
    },
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    running = RealServer(tmp_path / "data").start()
    yield running
    running.stop()


@pytest.fixture
def helm(find: Find, say: Say, server: RealServer, tmp_path: Path) -> Helm:
    try:
        return Helm(find(HELM), tmp_path, server.kubeconfig)
    except Missing as reason:
        say(f"no helm to render the chart with: {reason}")
        pytest.skip(f"no helm to render the chart with: {reason}")


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    return chart.write(SOURCE, tmp_path, __version__, 0)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_what_the_chart_renders_is_installed_and_removed(
    values: object, helm: Helm, packaged: Path, server: RealServer, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    assert "1 chart(s) linted, 0 chart(s) failed" in helm("lint", SOURCE, "-f", file)
    text = helm("template", "moor", packaged, KUBERNETES, "-n", "storage", "-f", file)
    documents = [document for document in yaml.safe_load_all(text) if document]
    assert documents
    for document in documents:
        if document["kind"] == "Deployment":
            check_pod(document["spec"]["template"]["spec"])
    helm("install", "moor", packaged, "-n", "storage", "--create-namespace", "-f", file)
    for document in documents:
        reply = server.ask("GET", path_of(document))
        assert reply.code == 200, (document, reply)
    helm("uninstall", "moor", "-n", "storage")
    for document in documents:
        if document["kind"] != "Deployment":  # those end in the background
            assert server.ask("GET", path_of(document)).code == 404, document


def check_pod(spec: dict[str, object]) -> None:
    containers = spec["containers"]
    assert isinstance(containers, list)
    (own,) = (one for one in containers if one["image"] == f"mooring:{__version__}")
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= own.keys()
    security = own["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False


RESOURCES = {
    "Deployment": ("/apis/apps/v1", "deployments"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
}


def path_of(document: dict[str, dict[str, str]]) -> str:
    base, resource = RESOURCES[str(document["kind"])]
    meta = document["metadata"]
    place = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
    return f"{base}{place}/{resource}/{meta['name']}"


@pytest.mark.parametrize(
    "wrong",
    [
        "controllers.replica=2",
        "drivers[0].name=x",
        "image.pullPolicy=Sometimes",
        "sidecars.socket=/x",
    ],
)
def test_a_wrong_value_is_refused(wrong: str, helm: Helm, packaged: Path) -> None:
    ran = helm.run("template", "moor", packaged, KUBERNETES, "--set", wrong)
    assert ran.returncode != 0, ran.stdout
    assert "schema" in ran.stderr, ran.stderr
