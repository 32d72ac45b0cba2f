"""`mooring snapshot changed-blocks` on `mooring up`: what a pod wrote between two snapshots."""

import base64
import json
import socket as socket_of_the_system
import subprocess
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
from tests.fakes.real_server import command
from tests.fakes.waiting import until

MIB = 1 << 20
READS_SNAPSHOTS = ("--verb=get", "--resource=volumesnapshots.snapshot.storage.k8s.io")


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

    flags: tuple[object, ...] = ("-n", namespace, "--kubeconfig", server.data_dir / "kubeconfig")
    told = refused("snapshot", "changed-blocks", "--base", "monday", "tuesday", *flags)
    assert "user does not have permissions to perform the operation; let" in told
    assert f"let {namespace}/default get volumesnapshots in {namespace}" in told

    kubectl("create", "sa", "backup")
    kubectl("create", "role", "backup", *READS_SNAPSHOTS)
    kubectl(
        "create", "rolebinding", "backup", "--role=backup", f"--serviceaccount={namespace}:backup"
    )
    flags += ("--service-account", "backup")

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


async def test_the_sidecar_in_a_process_of_its_own(
    pods: Pods, server: ServerWithNode, tmp_path: Path
) -> None:
    """With the rights of the role `sidecars` alone; the object of `up` is led to it."""
    kubectl, namespace = pods.kubectl, pods.kubectl.namespace
    pods.create(bare_claim("data"))
    pods.ready(a_script("writer", volumes=[of_claim("v", "data")], container=mounting(v="/data")))
    take(kubectl, "monday")
    rights = tmp_path / "sidecars.conf"
    done("kubeconfig", "--data-dir", server.data_dir, "--role", "sidecars", "-o", rights)
    pem, port = server.data_dir / "pki" / "server.pem", a_free_port()
    asked = (
        "sidecar",
        "snapshot-metadata",
        "--csi-address",
        socket_of(server),
        "--port",
        str(port),
    )
    trust = ("--tls-cert", str(pem), "--tls-key", str(pem), "--kubeconfig", str(rights))
    before = kubectl.field(".spec.address", "sms", NAME)
    log = tmp_path / "log"
    process = started(log, *asked, *trust)
    try:
        await until(lambda: "serving snapshot metadata" in log.read_text())
        lead(kubectl, f"127.0.0.1:{port}")
        kubectl("create", "clusterrole", f"read-{namespace}", *READS_SNAPSHOTS)
        bound = (f"--clusterrole=read-{namespace}", f"--serviceaccount={namespace}:default")
        kubectl("create", "rolebinding", "reads", *bound)
        flags = ("-n", namespace, "--kubeconfig", server.data_dir / "kubeconfig")
        told = done("snapshot", "allocated-blocks", "monday", *flags)
        assert "bytes with data" in told
        process.terminate()
        assert process.wait(timeout=20) == 0
        told = refused("snapshot", "allocated-blocks", "monday", *flags)
        assert f"check that the service of {NAME} runs at 127.0.0.1:{port}" in told
    finally:
        lead(kubectl, before)
        process.kill()
        process.wait()


def socket_of(server: ServerWithNode) -> str:
    (found,) = Path(server.data_dir, "node").resolve().glob(f"**/plugins/{NAME}/csi.sock")
    return str(found)


def started(log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    with log.open("w") as told:
        return subprocess.Popen(  # noqa: S603  our own program
            command(*arguments), stdout=told, stderr=told
        )


def lead(kubectl: Kubectl, address: str) -> None:
    patch = json.dumps({"spec": {"address": address}})
    kubectl("patch", "sms", NAME, "--type=merge", "-p", patch)


def a_free_port() -> int:
    with socket_of_the_system.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


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
