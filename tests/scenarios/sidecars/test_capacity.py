"""How much room there is, told for classes that bind late in every place that nodes are in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code
from mooring.sidecars.provisioner.caches import Caches
from mooring.sidecars.provisioner.capacity import run as capacity
from mooring.sidecars.provisioner.capacity.run import CapacityController
from tests.fakes.objects import CAPACITIES, CLASSES, DRIVERS, NODES, a_driver
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import NAME, Fails

LATE: dict[str, Any] = {"volumeBindingMode": "WaitForFirstConsumer"}
GI = 1 << 30


@asynccontextmanager
async def telling(cluster: Cluster) -> AsyncIterator[CapacityController]:
    loops = cluster.loops(cluster.client_of_sidecar())
    options = cluster.sidecar_options()
    caches = Caches(loops, options.node)
    controller = capacity.build(loops, cluster.driver.driver, caches, options)
    async with cluster.running(loops):
        yield controller


async def told(cluster: Cluster) -> dict[tuple[str, str], str]:
    """Room by class and zone."""
    items = (await cluster.api.get(CAPACITIES)).doc["items"]
    return {
        (
            item["storageClassName"],
            (item["nodeTopology"].get("matchLabels") or {}).get("zone", ""),
        ): item["capacity"]
        for item in items
    }


@pytest.fixture
async def zones(cluster: Cluster) -> Cluster:
    cluster.driver.with_topology()
    cluster.driver.room = {"z1": 10 * GI, "z2": 20 * GI}
    await cluster.create(DRIVERS, a_driver(NAME, storageCapacity=True))
    for number in (1, 2, 3):
        await cluster.node(f"n{number}", zone=f"z{min(number, 2)}")
    await cluster.storage_class(**LATE)
    await cluster.storage_class("at-once")
    return cluster


async def test_one_object_per_late_class_and_place(zones: Cluster) -> None:
    async with telling(zones):
        assert await told(zones) == {("fast", "z1"): "10Gi", ("fast", "z2"): "20Gi"}
    (item, _) = (await zones.api.get(CAPACITIES)).doc["items"]
    assert item["metadata"]["name"].startswith("csisc-")
    assert item["metadata"]["labels"] == {
        "csi.storage.k8s.io/drivername": NAME,
        "csi.storage.k8s.io/managed-by": "external-provisioner",
    }
    assert item["metadata"]["ownerReferences"][0]["kind"] == "CSIDriver"


async def test_what_changed_is_found_within_a_minute(zones: Cluster) -> None:
    async with telling(zones):
        zones.driver.room["z1"] = 5 * GI
        before = len(zones.driver.calls)
        await zones.passes(59)
        assert len(zones.driver.calls) == before
        await zones.passes(1)
        assert await told(zones) == {("fast", "z1"): "5Gi", ("fast", "z2"): "20Gi"}


async def test_volumes_that_come_have_the_room_asked_for_soon_and_once(zones: Cluster) -> None:
    async with telling(zones) as controller:
        asked = zones.driver.count("capacity")
        for _ in range(50):
            controller.volumes_changed()
        zones.driver.room["z2"] = 19 * GI
        await zones.passes(1)
        assert zones.driver.count("capacity") == asked + 2
        assert (await told(zones))["fast", "z2"] == "19Gi"


async def test_classes_and_places_come_and_go(zones: Cluster) -> None:
    async with telling(zones):
        await zones.storage_class("slow", **LATE)
        assert len(await told(zones)) == 4
        await zones.delete(f"{CLASSES}/fast")
        assert set(await told(zones)) == {("slow", "z1"), ("slow", "z2")}
        await zones.patch(f"{NODES}/n1", {"metadata": {"labels": {"zone": "z3"}}})
        assert set(await told(zones)) == {("slow", "z2"), ("slow", "z3")}


async def test_a_restart_adopts_what_is_there_and_removes_the_rest(zones: Cluster) -> None:
    async with telling(zones):
        pass
    first = (await zones.api.get(CAPACITIES)).doc["items"]
    await zones.patch(f"{NODES}/n1", {"metadata": {"labels": {"zone": "z2"}}})
    async with telling(zones):
        assert await told(zones) == {("fast", "z2"): "20Gi"}
    (kept,) = (await zones.api.get(CAPACITIES)).doc["items"]
    assert kept in first


async def test_a_driver_that_does_not_answer_leaves_what_was_told(zones: Cluster) -> None:
    async with telling(zones):
        zones.driver.next("capacity", *[Fails(Code.UNAVAILABLE)] * 2)
        zones.driver.room = {"z1": GI, "z2": GI}
        await zones.passes(60)
        assert set((await told(zones)).values()) == {"10Gi", "20Gi"}
        await zones.passes(1)
        assert set((await told(zones)).values()) == {"1Gi"}


async def test_a_driver_without_places_has_one_object(cluster: Cluster) -> None:
    cluster.driver.room = {"": GI}
    await cluster.create(DRIVERS, a_driver(NAME, storageCapacity=True))
    await cluster.storage_class(**LATE)
    async with telling(cluster):
        assert await told(cluster) == {("fast", ""): "1Gi"}


@pytest.mark.parametrize("why", ["its object does not ask for it", "it cannot"])
async def test_nothing_is_told_or_asked_when(zones: Cluster, why: str) -> None:
    if why == "it cannot":
        zones.driver.without(ControllerCapability.GET_CAPACITY)
    else:
        await zones.patch(f"{DRIVERS}/{NAME}", {"spec": {"storageCapacity": False}})
    async with telling(zones):
        await zones.passes(600)
    assert not await told(zones)
    assert not zones.driver.calls
