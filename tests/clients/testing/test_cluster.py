"""`mooring.testing.Cluster`, as a stranger uses it: real sockets, real controllers, real time."""

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing import AsyncCluster, Cluster, ClusterError, NotYet, Refused
from mooring.testing.cluster import Process
from tests.clients.find_kubectl import Age, Missing, find_kubectl

PATIENCE = 60.0  # seconds, on a machine with better things to do
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bt]}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: harbour.example.com/v1
kind: Boat
metadata: {name: dinghy}
spec: {oars: 2}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


def _pod(name: str, policy: str = "Always", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "none"}]},
    }


@pytest.mark.parametrize("process", ["thread", "child"])
def test_one_line_and_a_claim_binds(process: Process) -> None:
    with Cluster(process=process) as c:
        home = c.kubeconfig.parent.parent
        assert stat.S_IMODE(c.kubeconfig.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        c.apply(CLAIM)
        assert c.wait("pvc/data", "Bound", timeout=PATIENCE)["spec"]["volumeName"]
        c.add_node("n1")
        c.clock.advance(1)
        c.apply(_pod("web"))
        c.wait("pod/web", "condition=Ready", timeout=PATIENCE)
    assert not home.exists()
    with pytest.raises(ClusterError, match="does not run"):
        c.get("pvc/data")


async def test_async_tests_await_the_same() -> None:
    async with AsyncCluster() as c, c.namespace() as ns:
        await c.apply(CLAIM, ns.name)
        await c.wait("pvc/data", "Bound", ns.name, timeout=PATIENCE)
        await c.add_node("n1")
        await c.advance(1)
        await c.delete("pvc/data", ns.name, timeout=PATIENCE)
        with pytest.raises(Refused) as refused:
            await c.get("pvc/data", ns.name)
        assert refused.value.code == 404


def test_a_refusal_says_what_the_server_said(cluster: Cluster) -> None:
    with pytest.raises(Refused, match="must be greater than zero") as refused:
        cluster.apply(CLAIM.replace("1Gi", "0"))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")


def test_what_does_not_come_in_time_is_shown_with_its_events(cluster: Cluster) -> None:
    with cluster.namespace() as ns:
        ns.apply(CLAIM.replace("spec:", "spec:\n  storageClassName: missing"))
        ns.wait_event("data", "ProvisioningFailed", timeout=PATIENCE)
        with pytest.raises(NotYet, match="no event of data says 'hooray' after 0"):
            ns.wait_event("data", "hooray", timeout=0.1)
        with pytest.raises(NotYet) as late:
            ns.wait("pvc/data", "Bound", timeout=0.2)
    said = str(late.value)
    assert f"persistentvolumeclaims/data in {ns.name} is not Bound after 0.2 s" in said
    assert "its phase is Pending" in said
    assert "storageClassName: missing" in said
    assert "ProvisioningFailed PersistentVolumeClaim/data" in said


def test_what_was_never_made_is_not_waited_for_in_silence(cluster: Cluster) -> None:
    with pytest.raises(NotYet, match=r"is not Bound after 0\.1 s: it does not exist"):
        cluster.wait("pvc/nothing", "Bound", timeout=0.1)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("data", "'data' names no object: write KIND/NAME"),
        ("ship/data", "serves nothing that is called 'ship'"),
    ],
)
def test_references_that_name_nothing_are_refused(
    cluster: Cluster, reference: str, said: str
) -> None:
    with pytest.raises(ClusterError, match=said):
        cluster.get(reference)


def test_a_custom_kind_and_its_objects_are_one_manifest(cluster: Cluster) -> None:
    with cluster.namespace() as ns:
        _, boat = ns.apply(DEFINITION)
        assert boat["spec"] == {"oars": 2}
        assert ns.get("bt/dinghy") == ns.get("boats.harbour.example.com/dinghy")
        assert [one["metadata"]["name"] for one in ns.list("boats")] == ["dinghy"]
        ns.patch("boat/dinghy", {"spec": {"oars": 4}})
        ns.wait("boat/dinghy", "spec.oars=4", timeout=PATIENCE)
        assert ns.find("boat/liner") is None


def test_a_namespace_goes_with_its_block(cluster: Cluster) -> None:
    with cluster.namespace() as ns:
        ns.apply(_pod("web"))  # at once: its service account is there
        assert "Pod/web" in [f"{one['kind']}/{one['metadata']['name']}" for one in ns.objects()]
    cluster.wait(f"namespace/{ns}", "deleted", timeout=PATIENCE)


def test_tokens_have_the_rights_of_their_roles(cluster: Cluster) -> None:
    from mooring.testing.requests import Requests

    authority = (cluster.kubeconfig.parent / "pki" / "ca.crt").read_text()
    reading = Requests(cluster.url, authority, cluster.token("read-only"))
    assert reading.send("GET", "/api/v1/namespaces")["items"]
    with pytest.raises(Refused) as refused:
        reading.send("DELETE", "/api/v1/namespaces/default")
    assert refused.value.code == 403
    reading.close()
    with pytest.raises(ClusterError, match="there is no role 'captain'; choose one of admin"):
        cluster.token("captain")


def test_kubectl_uses_its_kubeconfig(cluster: Cluster) -> None:
    try:
        kubectl = find_kubectl(Age.USUAL).path
    except Missing as reason:
        pytest.skip(str(reason))
    with cluster.namespace() as ns:
        ns.apply(CLAIM)
        path = cluster.kubeconfig_of("read-only", ns.name)
        asked = [str(kubectl), "--kubeconfig", str(path), "get", "pvc", "-o", "name"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout == "persistentvolumeclaim/data\n", done.stderr


def test_without_controllers_nothing_changes_what_a_test_wrote() -> None:
    with Cluster(controllers=False) as c:
        c.apply(CLAIM)
        claim = c.wait("pvc/data", "Pending", timeout=PATIENCE)
        assert "volumeName" not in claim["spec"]
        assert c.list("leases", "kube-system") == []


def test_controllers_can_be_chosen() -> None:
    with Cluster(controllers=["replicaset", "deployment"]) as c:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": _pod("")["spec"]}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        name = {"metadata": {"name": "web"}, "apiVersion": "apps/v1", "kind": "Deployment"}
        c.apply({**name, "spec": spec})
        c.wait("deploy/web", "status.unavailableReplicas=1", timeout=PATIENCE)
        c.apply(CLAIM)
        assert c.wait("pvc/data", "Pending", timeout=PATIENCE)
    with pytest.raises(ClusterError, match="there is no controller 'captain'; there are binding"):
        Cluster(controllers=["captain"])


def test_a_cluster_can_be_started_again_and_is_empty() -> None:
    c = Cluster(controllers=False)
    with c:
        c.apply(CLAIM)
        with pytest.raises(ClusterError, match="runs already"):
            c.start()
    with c:
        assert c.list("pvc") == []
    c.stop()


def test_a_process_of_another_kind_is_refused() -> None:
    with pytest.raises(ClusterError, match="'thread' or 'child'"):
        Cluster(process="docker")  # type: ignore[arg-type]


def test_manifests_may_be_files(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM)
    with cluster.namespace() as ns:
        assert ns.apply(tmp_path)[0]["metadata"]["name"] == "data"
        assert ns.apply(str(tmp_path / "claim.yaml"))
