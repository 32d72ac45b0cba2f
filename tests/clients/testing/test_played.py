"""The played part of a test cluster: nodes, CSI drivers, the clock."""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.testing import Cluster, ClusterError, NotYet
from mooring.testing.kube import Kube

PATIENCE = 60.0
CLASS = {"apiVersion": "snapshot.storage.k8s.io/v1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        running.add_node("n1")
        yield running


@pytest.fixture
def ns(cluster: Cluster) -> Iterator[Kube]:
    with cluster.namespace() as made:
        yield made


def _claim(name: str, storage_class: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _pod(name: str, claim: str = "") -> dict[str, Any]:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    containers = [{"name": "c", "image": "none"}]
    spec = {"containers": containers, "volumes": [volume] if claim else []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_claim_of_its_class_goes_its_whole_way_and_the_driver_tells(
    cluster: Cluster, ns: Kube
) -> None:
    driver = cluster.add_csi_driver("way.example.com", storage_class="way")
    ns.apply(_claim("data", "way"))
    ns.apply(_pod("web", "data"))
    ns.wait("pod/web", "Running", timeout=PATIENCE)
    ns.delete("pod/web", timeout=PATIENCE)
    volume = ns.get("pvc/data")["spec"]["volumeName"]
    ns.delete("pvc/data", timeout=PATIENCE)
    cluster.wait(f"pv/{volume}", "deleted", timeout=PATIENCE)
    rpcs = [call.rpc for call in driver.calls()]
    assert rpcs[0] == "CreateVolume"
    assert rpcs[-1] == "DeleteVolume"
    assert "ControllerPublishVolume" in rpcs
    assert driver.calls()[0].request["name"] == volume


def test_failures_are_scripted_and_seen_by_the_claim(cluster: Cluster, ns: Kube) -> None:
    driver = cluster.add_csi_driver("failing.example.com", storage_class="failing")
    driver.fail("CreateVolume", "RESOURCE_EXHAUSTED", "the shelf is full", times=None)
    ns.apply(_claim("data", "failing"))

    ns.wait_event("data", "the shelf is full", timeout=PATIENCE)
    driver.reset()
    cluster.clock.advance(120)  # it is tried again after a pause
    ns.wait("pvc/data", "Bound", timeout=PATIENCE)
    assert {call.code for call in driver.calls()} == {"RESOURCE_EXHAUSTED", "OK"}


def test_an_answer_that_is_lost_leaves_one_volume(cluster: Cluster, ns: Kube) -> None:
    driver = cluster.add_csi_driver("lossy.example.com", storage_class="lossy")
    driver.fail("CreateVolume", "DEADLINE_EXCEEDED", after=True)
    ns.apply(_claim("data", "lossy"))
    ns.wait("pvc/data", "Bound", timeout=PATIENCE)
    names = {call.request["name"] for call in driver.calls() if call.rpc == "CreateVolume"}
    assert len(names) == 1


def test_a_slow_driver_is_slow_on_the_clusters_clock(cluster: Cluster, ns: Kube) -> None:
    driver = cluster.add_csi_driver("slow.example.com", storage_class="slow")
    driver.delay("CreateVolume", 8.0)
    ns.apply(_claim("data", "slow"))
    driver.wait("CreateVolume", timeout=PATIENCE)
    assert driver.calls()[0].code == "UNANSWERED"
    cluster.clock.advance(8)
    ns.wait("pvc/data", "Bound", timeout=PATIENCE)
    assert [call.code for call in driver.calls()] == ["OK"]


def test_claims_grow_and_snapshots_are_taken(cluster: Cluster, ns: Kube) -> None:
    cluster.add_csi_driver("able.example.com", storage_class="able")
    ns.apply(_claim("data", "able"))
    ns.wait("pvc/data", "Bound", timeout=PATIENCE)
    ns.patch("pvc/data", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    ns.wait("pvc/data", "status.capacity.storage=2Gi", timeout=PATIENCE)
    spec = {
        "volumeSnapshotClassName": "able",
        "source": {"persistentVolumeClaimName": "data"},
    }
    ns.apply({**CLASS, "kind": "VolumeSnapshot", "metadata": {"name": "snap"}, "spec": spec})
    ns.wait("volumesnapshot/snap", "status.readyToUse=true", timeout=PATIENCE)


@pytest.mark.parametrize(
    ("rpc", "code", "said"),
    [("MakeVolume", "INTERNAL", "no RPC 'MakeVolume'"), ("CreateVolume", "BAD", "no code 'BAD'")],
)
def test_scripts_that_mean_nothing_are_refused(
    cluster: Cluster, rpc: str, code: str, said: str
) -> None:
    name = f"refused-{code.lower()}.example.com"
    driver = cluster.add_csi_driver(name, storage_class="")
    with pytest.raises(ClusterError, match=said):
        driver.fail(rpc, code)
    with pytest.raises(NotYet, match="called 0 times, not 1"):
        driver.wait("CreateVolume", timeout=0.05)
    with pytest.raises(ClusterError, match="already"):
        cluster.add_csi_driver(name, storage_class="")


def test_jobs_complete_and_fail_as_their_pods_say(ns: Kube) -> None:
    container = {"name": "c", "image": "none"}
    for name, code in (("good", "0"), ("bad", "1")):
        marks = {"annotations": {"testing.mooring.dev/exit-code": code}}
        spec = {"restartPolicy": "Never", "containers": [container]}
        job = {"backoffLimit": 0, "template": {"metadata": marks, "spec": spec}}
        head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
        ns.apply({**head, "spec": job})
    ns.wait("job/good", "condition=Complete", timeout=PATIENCE)
    ns.wait("job/bad", "condition=Failed", timeout=PATIENCE)


def test_a_silent_node_is_lost_and_its_pods_are_evicted() -> None:
    """The clock makes five minutes of waiting a moment."""
    with Cluster() as c:
        node = c.add_node("n1", labels={"zone": "a"}, capacity={"cpu": "1"})
        c.add_node("n2")  # when all are lost, nothing is evicted
        pod = _pod("web")
        c.apply({**pod, "spec": {**pod["spec"], "nodeSelector": {"zone": "a"}}})
        c.wait("pod/web", "Running", timeout=PATIENCE)
        node.silence()
        c.clock.advance(60)
        c.wait("node/n1", "condition=Ready=Unknown", timeout=PATIENCE)
        before = c.clock.now()
        c.clock.advance(400)
        assert (c.clock.now() - before).total_seconds() >= 400
        c.wait("pod/web", lambda pod: "deletionTimestamp" in pod["metadata"], timeout=PATIENCE)
        assert c.get("node/n1")["metadata"]["labels"]["zone"] == "a"
        with pytest.raises(ClusterError, match="no fake node 'n1'"):
            node.silence()


def test_a_node_is_added_once(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="a node 'n1' already"):
        cluster.add_node("n1")
