"""Stateful sets and daemon sets, on `mooring up` with a real kubectl and the bundled driver."""

from collections.abc import Iterator

import pytest

from mooring.driver.objects import CLASS
from tests.clients.csi import server_with_driver
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import STAYS, WITHIN, Pods, a_container, mounting

ROLLED_OUT = ("rollout", "status", WITHIN)


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    return Pods(kubectl)


def a_workload(kind: str, name: str, container: Doc, **spec: object) -> Doc:
    labels = {"app": name}
    inner = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1}
    template = {"metadata": {"labels": labels}, "spec": {**inner, "containers": [container]}}
    said = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"kind": kind, "apiVersion": "apps/v1", "metadata": {"name": name}, "spec": said}


def a_set(replicas: int) -> Doc:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "32Mi"}},
        },
    }
    container = a_container("main", STAYS, **mounting(data="/data"))
    return a_workload(
        "StatefulSet",
        "db",
        container,
        replicas=replicas,
        serviceName="db",
        volumeClaimTemplates=[claim],
    )


def grown(size: str) -> Doc:
    doc = a_set(2)
    doc["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] = size
    return doc


def test_data_stays_with_its_number_whatever_becomes_of_pods_and_claims_grow(pods: Pods) -> None:
    kubectl = pods.kubectl
    kubectl("apply", "-f-", given=[a_set(2)])
    kubectl(*ROLLED_OUT, "sts/db")
    for name in ("db-0", "db-1"):
        pods.sh(name, f"echo {name} >/data/who; sync")

    before = pods.uid("db-0")
    kubectl("delete", "pod", "db-0", WITHIN)
    kubectl("wait", "--for=create", "pod/db-0", WITHIN)
    kubectl("wait", "--for=condition=Ready", "pod/db-0", WITHIN)
    assert pods.uid("db-0") != before
    assert pods.sh("db-0", "cat /data/who") == "db-0"

    kubectl("scale", "sts/db", "--replicas=1")
    kubectl("wait", "--for=delete", "pod/db-1", WITHIN)
    kubectl("scale", "sts/db", "--replicas=2")
    kubectl(*ROLLED_OUT, "sts/db")
    assert pods.sh("db-1", "cat /data/who") == "db-1"

    said = kubectl.refused("apply", "-f-", given=[grown("64Mi")])
    assert "mooring.dev/grow-claims" in said
    kubectl("annotate", "sts/db", "mooring.dev/grow-claims=true")
    kubectl("apply", "-f-", given=[grown("64Mi")])
    kubectl("rollout", "restart", "sts/db")  # not every kernel lets a mounted ext4 grow here
    kubectl(*ROLLED_OUT, "sts/db")
    kubectl("wait", "--for=condition=ClaimsGrown", "sts/db", WITHIN)
    for number in range(2):
        assert kubectl.field(".status.capacity.storage", "pvc", f"data-db-{number}") == "64Mi"
    assert pods.sh("db-1", "cat /data/who") == "db-1"


def test_a_daemon_runs_on_the_node_and_is_rolled_out_and_back(pods: Pods) -> None:
    kubectl = pods.kubectl
    kubectl("apply", "-f-", given=[a_workload("DaemonSet", "agent", a_container("main", STAYS))])
    kubectl(*ROLLED_OUT, "ds/agent")
    assert kubectl.field(".items[*].spec.nodeName", "pods", "-l", "app=agent") == NODE
    kubectl("rollout", "restart", "ds/agent")
    kubectl(*ROLLED_OUT, "ds/agent")
    history = kubectl("rollout", "history", "ds/agent").split()
    assert history[-4:] == ["1", "<none>", "2", "<none>"], history
    kubectl("rollout", "undo", "ds/agent")
    kubectl(*ROLLED_OUT, "ds/agent")
    assert not kubectl.field(".spec.template.metadata.annotations", "ds", "agent")
    assert kubectl.field(".metadata.generation", "ds", "agent") == "3"
    kubectl("delete", "ds", "agent", WITHIN)
    kubectl("wait", "--for=delete", "pod", "-l", "app=agent", WITHIN)
