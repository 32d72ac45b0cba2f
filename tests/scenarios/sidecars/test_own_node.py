"""Sidecars on each node, for a driver that reaches no other node's volumes."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest

from mooring.csi.outcome import Code
from mooring.csi.requests import CreateVolume
from mooring.csi.topology import Topology, TopologyRequirement
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.provisioner.capacity.effects import manager_of
from mooring.sidecars.provisioner.options import Delays
from tests.fakes.objects import (
    CAPACITIES,
    CLAIMS,
    CSI_NODES,
    DRIVERS,
    SNAPSHOTS,
    VOLUMES,
    a_driver,
)
from tests.scenarios.sidecars.cluster import FINALIZER, SELECTED, Cluster
from tests.scenarios.sidecars.driver import NAME, After, Dies, Fails, FakeDriver
from tests.scenarios.sidecars.snapshot_world import SnapshotWorld

GI = 1 << 30
LATE: dict[str, Any] = {"volumeBindingMode": "WaitForFirstConsumer"}
AT_ONCE: dict[str, Any] = {"volumeBindingMode": "Immediate"}
NODES = ("n1", "n2")


def a_driver_on(node: str) -> FakeDriver:
    place = Topology({"host": node})
    driver = FakeDriver(own_node=OwnNode(node, place), topologies=(place,), room={node: 100 * GI})
    driver.with_topology()
    return driver


class Nodes:
    """Two nodes, the driver on each, and one sidecar of each kind beside it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.drivers = {node: a_driver_on(node) for node in NODES}

    @asynccontextmanager
    async def run(self, sidecar: str, *nodes: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for node in nodes or NODES:
                self.cluster.driver = self.drivers[node]
                await stack.enter_async_context(getattr(self.cluster, sidecar)())
            yield

    def made(self) -> dict[str, int]:
        return {node: driver.count("create") for node, driver in self.drivers.items()}

    async def selected(self, claim: str = "data") -> str:
        found = await self.cluster.get(f"{CLAIMS}/{claim}")
        return str(found["metadata"].get("annotations", {}).get(SELECTED, ""))


@pytest.fixture
async def nodes(cluster: Cluster) -> Nodes:
    made = Nodes(cluster)
    for node in NODES:
        await cluster.node(node, host=node)
    return made


async def test_the_selected_node_makes_the_volume_and_no_other(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**LATE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.passes(600)
        assert nodes.made() == {"n1": 0, "n2": 0}
        await cluster.select("n2")
        assert await cluster.phase() == "Bound"
    assert nodes.made() == {"n1": 0, "n2": 1}
    volume = await cluster.volume_of()
    identity = volume["spec"]["csi"]["volumeAttributes"][
        "storage.kubernetes.io/csiProvisionerIdentity"
    ]
    assert identity.endswith(f"-{NAME}-n2")
    (request,) = nodes.drivers["n2"].requests
    assert isinstance(request, CreateVolume)
    place = Topology({"host": "n2"})
    assert request.topology == TopologyRequirement((place,), (place,))


async def test_only_the_node_of_a_volume_protects_and_deletes_it(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**LATE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.select("n2")
        name = (await cluster.volume_of())["metadata"]["name"]
    await cluster.delete(f"{CLAIMS}/data")
    async with nodes.run("provisioner", "n1"):
        await cluster.passes(600)
        assert FINALIZER in await cluster.finalizers(f"{VOLUMES}/{name}")
    async with nodes.run("provisioner"):
        assert await cluster.volumes() == []
    assert nodes.drivers["n1"].calls == []
    assert nodes.drivers["n2"].volumes == {}


async def test_a_volume_that_names_no_place_is_no_nodes(nodes: Nodes) -> None:
    """Each node's driver would say that it is gone."""
    cluster = nodes.cluster
    await cluster.static_volume(
        "pv1",
        persistentVolumeReclaimPolicy="Delete",
        claimRef={"namespace": "default", "name": "gone", "uid": "u-1"},
    )
    async with nodes.run("provisioner"):
        await cluster.passes(600)
        assert (await cluster.get(f"{VOLUMES}/pv1"))["status"]["phase"] == "Released"
    assert [driver.calls for driver in nodes.drivers.values()] == [[], []]


async def test_without_a_pod_one_node_chooses_itself_in_its_turn(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        assert nodes.made() == {"n1": 0, "n2": 0}
        await cluster.passes(20)
        assert await cluster.phase() == "Bound"
    assert sorted(nodes.made().values()) == [0, 1]
    (owner,) = (node for node, made in nodes.made().items() if made)
    assert await nodes.selected() == owner
    assert await cluster.told("ProvisioningFailed") == []


async def test_nodes_that_try_at_once_make_one_volume(nodes: Nodes) -> None:
    cluster = nodes.cluster
    cluster.options = msgspec.structs.replace(cluster.options, turns=Delays(base=0.0, most=0.0))
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        for number in range(20):
            await cluster.claim(f"data-{number}")
        await cluster.passes(60)
        assert [await cluster.phase(f"data-{number}") for number in range(20)] == ["Bound"] * 20
    assert sum(nodes.made().values()) == 20


async def test_a_node_without_room_leaves_a_claim_to_others(nodes: Nodes) -> None:
    cluster = nodes.cluster
    nodes.drivers["n1"].room = {"n1": GI // 2}
    nodes.drivers["n2"].room = {"n2": GI // 2}
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        await cluster.claim(resources={"requests": {"storage": "1Gi"}})
        await cluster.passes(300)
        assert await nodes.selected() == ""
        assert nodes.made() == {"n1": 0, "n2": 0}
        nodes.drivers["n2"].room = {"n2": 2 * GI}
        await cluster.passes(60)  # as long as a turn takes at most
        assert await cluster.phase() == "Bound"
    assert nodes.made() == {"n1": 0, "n2": 1}


async def test_a_node_that_is_full_after_all_gives_the_claim_back(nodes: Nodes) -> None:
    cluster = nodes.cluster
    for driver in nodes.drivers.values():
        driver.next("create", Fails(Code.RESOURCE_EXHAUSTED))
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        for _ in range(6):
            await cluster.passes(20)
        assert await cluster.phase() == "Bound"
    assert sum(nodes.made().values()) in (2, 3)
    assert len(await cluster.volumes()) == 1


async def test_a_class_that_allows_one_place_is_served_there(nodes: Nodes) -> None:
    cluster = nodes.cluster
    allowed = [{"matchLabelExpressions": [{"key": "host", "values": ["n2"]}]}]
    await cluster.storage_class(**AT_ONCE, allowedTopologies=allowed)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.passes(60)
    assert nodes.made() == {"n1": 0, "n2": 1}


async def test_a_clone_is_made_where_its_source_is(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.select("n2")
        source = {"kind": "PersistentVolumeClaim", "name": "data"}
        for number in range(4):
            await cluster.claim(f"copy-{number}", dataSource=source)
        await cluster.passes(60)
        assert [await cluster.phase(f"copy-{number}") for number in range(4)] == ["Bound"] * 4
    assert nodes.made() == {"n1": 0, "n2": 5}


async def test_a_snapshot_is_restored_on_the_node_that_it_is_labelled_with(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**AT_ONCE)
    world = SnapshotWorld(cluster)
    await world.snapshot_class()
    await world.snapshot("monday")
    await world.label("monday", "n2")
    bound = {"status": {"boundVolumeSnapshotContentName": "content-monday"}}
    await cluster.patch(f"{SNAPSHOTS}/monday/status", bound)
    async with nodes.run("provisioner"):
        source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "monday"}
        for number in range(4):
            await cluster.claim(f"copy-{number}", dataSource=source)
        await cluster.passes(60)
        selected = {await nodes.selected(f"copy-{number}") for number in range(4)}
    assert selected == {"n2"}


async def test_where_somebody_else_chooses_nodes_none_chooses_itself(nodes: Nodes) -> None:
    cluster = nodes.cluster
    cluster.options = msgspec.structs.replace(cluster.options, takes_immediate=False)
    await cluster.storage_class(**AT_ONCE)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.passes(600)
        assert await nodes.selected() == ""
        await cluster.select("n1")
        assert await cluster.phase() == "Bound"
    assert nodes.made() == {"n1": 1, "n2": 0}


async def test_what_a_node_may_have_made_that_node_settles(nodes: Nodes) -> None:
    """The sidecar died in CreateVolume, the pod goes elsewhere, the claim is deleted."""
    cluster = nodes.cluster
    await cluster.storage_class(**LATE)
    nodes.drivers["n1"].next("create", After(Dies()))
    async with nodes.run("provisioner", "n1"):
        await cluster.claim()
        await cluster.select("n1")
    assert len(nodes.drivers["n1"].volumes) == 1
    async with nodes.run("provisioner", "n2"):
        await cluster.select("n2")
        await cluster.passes(60)
        assert nodes.made()["n2"] == 0
        (why,) = set(await cluster.told("ProvisioningFailed"))
        assert why == (
            f"driver {NAME} on node n1 may have made a volume for this claim:"
            " its provisioner has to settle that"
        )
        await cluster.delete(f"{CLAIMS}/data")
        await cluster.passes(60)
        assert await cluster.phase() == "Pending"
    async with nodes.run("provisioner"):
        await cluster.passes(10)
        assert await cluster.phase() == "gone"
    assert nodes.drivers["n1"].volumes == {}
    assert nodes.drivers["n2"].calls == []


async def test_each_node_tells_its_own_room_and_takes_it_along(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.create(DRIVERS, a_driver(NAME, storageCapacity=True))
    await cluster.storage_class(**LATE)
    async with nodes.run("provisioner"):
        pass
    items = (await cluster.api.get(CAPACITIES)).doc["items"]
    told = {
        item["metadata"]["labels"]["csi.storage.k8s.io/managed-by"]: (
            item["nodeTopology"]["matchLabels"],
            item["capacity"],
            [(each["kind"], each["name"]) for each in item["metadata"]["ownerReferences"]],
        )
        for item in items
    }
    assert told == {
        f"external-provisioner-{node}": ({"host": node}, "100Gi", [("CSINode", node)])
        for node in NODES
    }


async def test_room_is_told_when_the_node_is_registered(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.delete(f"{CSI_NODES}/n1")
    await cluster.create(DRIVERS, a_driver(NAME, storageCapacity=True))
    await cluster.storage_class(**LATE)
    async with nodes.run("provisioner", "n1"):
        assert (await cluster.api.get(CAPACITIES)).doc["items"] == []
        await cluster.csi_node("n1", "host")
        await cluster.passes(2)
        assert len((await cluster.api.get(CAPACITIES)).doc["items"]) == 1


async def test_each_node_attaches_and_grows_its_own_volumes(nodes: Nodes) -> None:
    cluster = nodes.cluster
    await cluster.storage_class(**LATE, allowVolumeExpansion=True)
    async with nodes.run("provisioner"):
        await cluster.claim()
        await cluster.select("n2")
    volume = (await cluster.volume_of())["metadata"]["name"]
    async with nodes.run("attacher"), nodes.run("resizer"):
        await cluster.attachment(volume, "n2")
        assert (await cluster.status())["attached"] is True
        grown = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
        await cluster.patch(f"{CLAIMS}/data", grown)
        await cluster.passes(60)
    assert nodes.drivers["n1"].calls == []
    calls = [call.split()[0] for call in nodes.drivers["n2"].calls]
    assert [call for call in calls if call != "list"] == ["create", "attach", "expand"]


LABELS = {
    "a short name": ("n1", "external-provisioner-n1"),
    "the longest that fits": ("n" * 42, f"external-provisioner-{'n' * 42}"),
    "one that leaves half of the rest": ("n" * 43, f"external-p-53f40b57-{'n' * 43}"),
    "one that leaves nothing": ("n" * 53, "external-provisioner-698d23b8"),
}


@pytest.mark.parametrize(("node", "label"), LABELS.values(), ids=LABELS)
def test_the_label_of_what_a_node_tells(node: str, label: str) -> None:
    assert manager_of(node) == label
    assert len(label) <= 63
