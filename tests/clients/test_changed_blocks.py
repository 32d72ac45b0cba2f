"""`mooring snapshot changed-blocks` on `mooring up`: what a pod wrote between two snapshots."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from mooring.driver.settings import NAME
from tests.clients.csi import bare_claim, server_with_driver
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.mooring_command import done, refused
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim

MIB = 1 << 20


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    kubectl("wait", "--for=create", f"volumesnapshotclass/{CLASS}", WITHIN)
    kubectl("wait", "--for=create", f"sms/{NAME}", WITHIN)
    return Pods(kubectl)


def take(kubectl: Kubectl, name: str) -> None:
    snapshot: Doc = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name},
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
    }
    kubectl("create", "-f-", given=snapshot)
    kubectl("wait", f"vs/{name}", "--for=jsonpath={.status.readyToUse}=true", WITHIN)


def test_what_a_pod_wrote_between_two_snapshots(pods: Pods, server: ServerWithNode) -> None:
    kubectl, namespace = pods.kubectl, pods.kubectl.namespace
    pods.create(bare_claim("data"))
    pods.ready(a_script("writer", volumes=[of_claim("v", "data")], container=mounting(v="/data")))
    pods.sh("writer", "dd if=/dev/urandom of=/data/first bs=1M count=5 && sync")
    take(kubectl, "monday")
    pods.sh("writer", "dd if=/dev/urandom of=/data/second bs=1M count=3 && sync")
    take(kubectl, "tuesday")

    flags = ("-n", namespace, "--kubeconfig", server.data_dir / "kubeconfig")
    told = refused("snapshot", "changed-blocks", "--base", "monday", "tuesday", *flags)
    assert "user does not have permissions to perform the operation" in told
    assert f"let {namespace}/default get volumesnapshots in {namespace}" in told

    kubectl("create", "sa", "backup")
    role = ("--verb=get", "--resource=volumesnapshots.snapshot.storage.k8s.io")
    kubectl("create", "role", "backup", *role)
    kubectl(
        "create", "rolebinding", "backup", "--role=backup", f"--serviceaccount={namespace}:backup"
    )
    flags = (*flags, "--service-account", "backup")

    found = json.loads(
        done("snapshot", "changed-blocks", "--base", "monday", "tuesday", "-o", "json", *flags)
    )
    assert found["volumeBytes"] == 64 * MIB
    assert 3 * MIB <= found["totalBytes"] < 5 * MIB
    assert sum(each["size"] for each in found["ranges"]) == found["totalBytes"]

    table = done("snapshot", "allocated-blocks", "tuesday", *flags).splitlines()
    assert table[0].split() == ["OFFSET", "SIZE"]
    total = int(table[-1].split()[0])
    assert 8 * MIB <= total < 64 * MIB
    assert table[-1].endswith(f"bytes with data, in {len(table) - 2} ranges")


def test_what_is_refused(pods: Pods, server: ServerWithNode) -> None:
    flags = ("--kubeconfig", server.data_dir / "kubeconfig")
    told = refused("snapshot", "changed-blocks", "--base", "x", "nowhere", *flags)
    assert told.endswith("kubectl get volumesnapshots -n default lists those that exist")
    told = refused("snapshot", "changed-blocks", "nowhere", *flags)
    assert told.startswith("changed since when? Give --base")


def test_the_service_shows_how_to_trust_it(pods: Pods, server: ServerWithNode) -> None:
    spec = json.loads(pods.kubectl.field(".spec", "sms", NAME))
    assert base64.b64decode(spec["caCert"]) == Path(server.data_dir, "pki", "ca.crt").read_bytes()
    assert spec["address"].startswith("127.0.0.1:")
