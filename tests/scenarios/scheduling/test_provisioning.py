"""Claims that wait for their first pod, and volumes made to order."""

import pytest

from mooring.plugins.contract import PluginError
from tests.fakes.objects import (
    CAPACITIES,
    CLAIMS,
    CLASSES,
    DRIVERS,
    NODES,
    PODS,
    VOLUMES,
    Doc,
    a_capacity,
    a_claim,
    a_driver,
    a_volume,
)
from tests.scenarios.binding.cluster import FAKE
from tests.scenarios.scheduling.cluster import Cluster, a_pod_with, a_waiting_class

DRIVER = "d.example.com"
PREFIX = 'running PreBind plugin "VolumeBinding": binding volumes: '


def fast(name: str = "data", storage: str = "1Gi") -> Doc:
    return a_claim(name, storage, storageClassName="fast")


async def made(cluster: Cluster, claim: str = "data") -> None:
    """An external provisioner makes a volume for the claim."""
    doc = await cluster.find(CLAIMS, claim)
    assert doc is not None
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": claim,
        "uid": doc["metadata"]["uid"],
    }
    volume = a_volume(f"pvc-{claim}", "1Gi", storageClassName="fast", claimRef=reference)
    await cluster.create(VOLUMES, volume)


async def test_a_plugin_makes_the_volume_when_a_pod_has_a_node(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(CLASSES, a_waiting_class("fast", FAKE))
        await cluster.create(CLAIMS, fast())
        await cluster.passes(1)
        assert not cluster.plugin.provisioned
        await cluster.create(PODS, a_pod_with("data"))
        assert await cluster.pod() == "n1"
        assert (await cluster.claim()).startswith("Bound pvc-")
        assert await cluster.selected_node() == "n1"


async def test_an_external_provisioner_is_waited_for(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(60)
        assert (await cluster.pod(), await cluster.selected_node()) == ("", "n1")
        await made(cluster)
        await cluster.passes(1)
        assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound pvc-data 1Gi")


async def test_a_plugin_that_fails_has_the_pod_looked_at_anew(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        cluster.plugin.failures = [PluginError("no room here")]
        await cluster.create(CLASSES, a_waiting_class("fast", FAKE))
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        why = f'{PREFIX}provisioning failed for PVC "data"'
        assert await cluster.pod() == f"SchedulerError: {why}"
        assert await cluster.said() == [("Warning", "FailedScheduling", why)]
        assert await cluster.selected_node() == ""
        await cluster.passes(2)
        assert await cluster.pod() == "n1"
        assert len(cluster.plugin.provisioned) == 2


async def test_a_provisioner_that_gives_up_sends_the_pod_elsewhere(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(1)
        assert await cluster.selected_node() == "n1"
        await cluster.patch(NODES, "n1", {"spec": {"unschedulable": True}})
        gone = {"volume.kubernetes.io/selected-node": None}
        await cluster.patch(CLAIMS, "data", {"metadata": {"annotations": gone}})
        await cluster.passes(2)
        assert await cluster.selected_node() == "n2"
        await made(cluster)
        await cluster.passes(1)
        assert await cluster.pod() == "n2"


async def test_a_pod_follows_the_node_that_was_chosen_for_its_claim(cluster: Cluster) -> None:
    """After a crash of the scheduler, or when two pods share the claim."""
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        await cluster.create(CLAIMS, fast())
        chosen = {"volume.kubernetes.io/selected-node": "n2"}
        await cluster.patch(CLAIMS, "data", {"metadata": {"annotations": chosen}})
        await cluster.create(PODS, a_pod_with("data"))
        await made(cluster)
        await cluster.passes(1)
        assert await cluster.pod() == "n2"


async def test_two_pods_share_a_claim_that_is_being_made(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        await cluster.create(CLAIMS, fast())
        for name in ("one", "two"):
            assert (await cluster.api.post(PODS, a_pod_with("data", name=name))).code == 201
        await cluster.passes(3)
        await made(cluster)
        await cluster.passes(3)
        nodes = {await cluster.pod("one"), await cluster.pod("two")}
        assert nodes == {await cluster.selected_node()}


async def test_a_topology_that_the_class_allows(cluster: Cluster) -> None:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]
    async with cluster.both():
        await cluster.nodes("n1", zone="a")
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER, allowedTopologies=terms))
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        assert "didn't find available persistent volumes to bind" in await cluster.pod()
        await cluster.nodes("n2", zone="b")
        await cluster.passes(2)
        assert await cluster.selected_node() == "n2"


def room(**body: object) -> Doc:
    return a_capacity() | {"nodeTopology": {}} | body


CAPACITY: dict[str, tuple[Doc | None, bool]] = {
    "no capacity is published": (None, False),
    "too little capacity": (room(capacity="512Mi"), False),
    "a capacity without an amount": (room(capacity=None), False),
    "capacity on no node": (a_capacity(), False),
    "enough capacity": (room(), True),
}


@pytest.mark.parametrize(("told", "fits"), CAPACITY.values(), ids=CAPACITY)
async def test_a_driver_that_tells_its_capacity(
    cluster: Cluster,
    told: Doc | None,
    fits: bool,  # noqa: FBT001 - a column
) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(DRIVERS, a_driver(storageCapacity=True))
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        if told is not None:
            await cluster.create(CAPACITIES, {k: v for k, v in told.items() if v is not None})
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        if fits:
            assert await cluster.selected_node() == "n1"
            return
        assert await cluster.selected_node() == ""
        assert "1 node(s) did not have enough free storage." in await cluster.pod()


async def test_room_that_grows_wakes_the_pod(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(DRIVERS, a_driver(storageCapacity=True))
        await cluster.create(CLASSES, a_waiting_class("fast", DRIVER))
        await cluster.create(CAPACITIES, room(capacity="512Mi"))
        await cluster.create(CLAIMS, fast())
        await cluster.create(PODS, a_pod_with("data"))
        assert "enough free storage" in await cluster.pod()
        await cluster.patch(CAPACITIES, "room", {"capacity": "2Gi"})
        await cluster.passes(2)
        assert await cluster.selected_node() == "n1"
