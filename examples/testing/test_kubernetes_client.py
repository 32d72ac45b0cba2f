"""Testing with the official client: install Mooring (docs/testing.md) and `pip install
kubernetes`, then `pytest --mooring test_kubernetes_client.py`."""

from collections.abc import Iterator

import pytest
from kubernetes import client, config, watch

from mooring.testing import Cluster


@pytest.fixture
def core(cluster: Cluster) -> Iterator[client.CoreV1Api]:
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        yield client.CoreV1Api(api)


def test_a_claim_binds(core: client.CoreV1Api, namespace: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": spec}
    core.create_namespaced_persistent_volume_claim(namespace, claim)
    following = watch.Watch()
    listing = core.list_namespaced_persistent_volume_claim
    phases = []
    for event in following.stream(listing, namespace, timeout_seconds=60):
        phases.append(event["object"].status.phase)
        if phases[-1] == "Bound":
            following.stop()
    assert phases[-1] == "Bound"


def test_a_driver_that_has_no_room_is_told_of(
    cluster: Cluster, core: client.CoreV1Api, namespace: str
) -> None:
    driver = cluster.add_csi_driver("full.example.com", storage_class="full")
    driver.fail("CreateVolume", "RESOURCE_EXHAUSTED", "no room", times=None)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "full",
    }
    claim = {"metadata": {"name": "data"}, "spec": spec}
    core.create_namespaced_persistent_volume_claim(namespace, claim)
    cluster.kube(namespace).wait_event("data", "no room", timeout=60)
    found = core.read_namespaced_persistent_volume_claim("data", namespace)
    assert found.status.phase == "Pending"
