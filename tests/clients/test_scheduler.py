"""`mooring scheduler` in a process of its own, seen through a real kubectl."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim, a_class, a_node, a_pod, a_volume
from tests.fakes.real_server import RealServer, command

PROMPTLY = 20  # seconds for kill and wait
HOSTNAME = "kubernetes.io/hostname"


@contextmanager
def role(name: str, server: RealServer, directory: Path) -> Iterator[None]:
    """A role beside its server, with the rights of that role and no others; it leads by then."""
    kubeconfig = directory / f"{name}.kubeconfig"
    data_dir = str(server.data_dir)
    made = command("kubeconfig", "--data-dir", data_dir, "--role", name, "-o", str(kubeconfig))
    subprocess.run(made, check=True, timeout=PROMPTLY)  # noqa: S603  our own command
    run = command(name, "--kubeconfig", str(kubeconfig), "--log-level", "warning")
    process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own command
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"mooring {name}")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PROMPTLY)
    assert process.returncode == 0


@pytest.fixture
def mine(kubectl: Kubectl, own_api_server: RealServer, tmp_path: Path) -> Iterator[Kubectl]:
    """A kubectl of a cluster with controllers and a scheduler, each a process of its own."""
    with ExitStack() as stack:
        for name in ("controllers", "scheduler"):
            stack.enter_context(role(name, own_api_server, tmp_path))
        yield kubectl.as_user(own_api_server.kubeconfig).in_namespace("default")


def a_local_volume(name: str, node: str) -> Doc:
    doc = a_volume(name, storageClassName="local-storage")
    del doc["spec"]["csi"]
    wanted = {"key": HOSTNAME, "operator": "In", "values": [node]}
    terms = [{"matchExpressions": [wanted]}]
    doc["spec"]["local"] = {"path": f"/mnt/{name}"}
    doc["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return doc


def a_ready_node(name: str) -> Doc:
    doc = a_node(name)
    doc["metadata"]["labels"] = {HOSTNAME: name}
    doc["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return doc


def using(name: str, claim: str) -> Doc:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return a_pod(name, volumes=volumes)


def test_a_claim_waits_for_its_first_consumer_and_is_bound_with_it(mine: Kubectl) -> None:
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    by_hand = a_class("local-storage", **waits) | {"provisioner": "kubernetes.io/no-provisioner"}
    mine("create", "-f-", given=[a_ready_node("n1"), a_ready_node("n2"), by_hand])
    mine("create", "-f-", given=[a_local_volume("disk", "n2")])
    mine("wait", "pv/disk", "--for=jsonpath={.status.phase}=Available", "--timeout=15s")
    mine("create", "-f-", given=a_claim(storageClassName="local-storage"))
    told = "involvedObject.kind=PersistentVolumeClaim"
    with mine.running("get", "events", "--watch", "--field-selector", told) as events:
        events.line("waiting for first consumer to be created before binding")
    assert mine.field(".status.phase", "pvc/data") == "Pending"

    mine("create", "-f-", given=using("web", "data"))
    mine("wait", "pod/web", "--for=condition=PodScheduled", "--timeout=15s")
    assert mine.field(".spec.nodeName", "pod/web") == "n2"
    row = mine("get", "pvc", "data", "--no-headers").split()
    assert row[:3] == ["data", "Bound", "disk"]
    assert "Successfully assigned default/web to n2" in mine("describe", "pod", "web")


def test_kubectl_describe_tells_why_a_pod_has_no_node(mine: Kubectl) -> None:
    mine("create", "-f-", given=[a_ready_node("n1")])
    mine("create", "-f-", given=using("web", "missing"))
    unschedulable = "--for=jsonpath={.status.conditions[0].reason}=Unschedulable"
    mine("wait", "pod/web", unschedulable, "--timeout=15s")
    with mine.running("get", "events", "--watch") as events:
        line = events.line("FailedScheduling")
    assert '0/1 nodes are available: persistentvolumeclaim "missing" not found.' in line
    shown = mine("describe", "pod", "web")
    assert "default-scheduler" in shown
    assert "preemption: 0/1 nodes are available: 1 Preemption is not helpful" in shown
