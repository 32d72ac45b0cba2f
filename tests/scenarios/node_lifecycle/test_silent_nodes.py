"""Nodes that fall silent, and come back."""

import pytest
from msgspec.structs import replace

from mooring.controllers.node_lifecycle.view import Monitoring
from tests.fakes.objects import NODES
from tests.scenarios.neighbours import NO_OPTIONS
from tests.scenarios.node_lifecycle.cluster import LEASES, Cluster

BOTH_UNREACHABLE = {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
KEPT_TYPES = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


async def two_nodes(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.node("n2")
    await cluster.pod("web")


async def test_a_silent_node_is_unknown_after_40_s_and_all_is_taken_back(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.passes(20)
        cluster.living.discard("n1")
        await cluster.passes(39)
        assert await cluster.ready("n1") == "True"
        await cluster.passes(2)
        said = await cluster.conditions("n1")
        for kind in KEPT_TYPES:
            assert said[kind]["status"] == "Unknown"
            assert said[kind]["reason"] == "NodeStatusUnknown"
            assert said[kind]["message"] == "Kubelet stopped posting node status."
            assert said[kind]["lastTransitionTime"] == "2026-01-02T03:05:05Z"
            assert said[kind]["lastHeartbeatTime"] == "2026-01-02T03:04:05Z"
        assert await cluster.taints("n1") == BOTH_UNREACHABLE
        assert (await cluster.pod_condition("web", "Ready"))["status"] == "False"
        assert await cluster.ready("n2") == "True"
        assert await cluster.taints("n2") == set()
        assert set(await cluster.told("NodeNotReady")) == {
            ("n1", "Normal", "NodeNotReady", "Node n1 status is now: NodeNotReady"),
            ("web", "Warning", "NodeNotReady", "Node is not ready"),
        }
        assert ("n1", "Normal", "RegisteredNode") in {
            told[:3] for told in await cluster.told("RegisteredNode")
        }
        await cluster.posts("n1")
        cluster.living.add("n1")
        assert await cluster.taints("n1") == set()
        await cluster.passes(400)
        assert not await cluster.is_deleted("web")


async def test_heartbeats_by_status_alone_count_too(cluster: Cluster) -> None:
    await two_nodes(cluster)
    cluster.living.discard("n1")
    async with cluster.controllers():
        for _ in range(10):
            await cluster.passes(30)
            await cluster.posts("n1")
        assert await cluster.ready("n1") == "True"


async def test_what_the_clock_of_a_node_says_does_not_matter(cluster: Cluster) -> None:
    """Heartbeats count because they change."""
    await two_nodes(cluster)
    cluster.living.discard("n1")
    async with cluster.controllers():
        for year in range(1990, 2000):
            lease = {"spec": {"renewTime": f"{year}-01-01T00:00:00.000000Z"}}
            await cluster.patch(f"{LEASES}/n1", lease)
            await cluster.passes(30)
        assert await cluster.ready("n1") == "True"


async def test_a_node_that_never_spoke_gets_a_minute(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.write("post", NODES, {"metadata": {"name": "n3"}})
        await cluster.passes(59)
        assert "conditions" not in (await cluster.get(f"{NODES}/n3")).get("status", {})
        await cluster.passes(2)
        said = await cluster.conditions("n3")
        assert {said[kind]["reason"] for kind in KEPT_TYPES} == {"NodeStatusNeverUpdated"}
        assert said["Ready"]["message"] == "Kubelet never posted node status."


async def test_the_grace_can_be_chosen(cluster: Cluster) -> None:
    options = replace(NO_OPTIONS, monitoring=Monitoring(grace=100.0))
    await two_nodes(cluster)
    cluster.living.discard("n1")
    async with cluster.controllers(options=options):
        await cluster.passes(99)
        assert await cluster.ready("n1") == "True"
        await cluster.passes(2)
        assert await cluster.ready("n1") == "Unknown"


async def test_a_restart_gives_a_fresh_grace(cluster: Cluster) -> None:
    await two_nodes(cluster)
    cluster.living.discard("n1")
    async with cluster.controllers():
        await cluster.passes(35)
    await cluster.passes(30)
    async with cluster.controllers():
        await cluster.passes(38)
        assert await cluster.ready("n1") == "True"
        await cluster.passes(4)
        assert await cluster.ready("n1") == "Unknown"


async def test_its_lease_is_read_before_a_node_is_condemned(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers() as client:
        await cluster.passes(100)
        assert client.reads == []
        cluster.living.discard("n1")
        await cluster.passes(45)
        assert client.reads == ["Lease n1", "Lease n1"]


@pytest.mark.parametrize("away", [20, 33, 38, 60, 300], ids=lambda away: f"{away} s")
async def test_an_outage_of_the_api_condemns_nobody(cluster: Cluster, away: int) -> None:
    """No node can renew its Lease meanwhile; they do within ten seconds of its end."""
    await two_nodes(cluster)
    async with cluster.controllers() as client:
        await cluster.passes(20)
        cluster.living.clear()
        client.is_cut_off = True
        await cluster.passes(away)
        client.is_cut_off = False
        await cluster.passes(9)
        cluster.living |= {"n1", "n2"}
        await cluster.passes(60)
        assert await cluster.told("NodeNotReady") == []


async def test_one_that_flaps_every_30_s_is_never_lost(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        for _ in range(10):
            cluster.living.discard("n1")
            await cluster.passes(30)
            await cluster.beats("n1")
            cluster.living.add("n1")
            await cluster.passes(30)
        assert await cluster.told("NodeNotReady") == []


async def test_one_node_alone_is_marked_and_never_emptied(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.pod("web", tolerations=[])
    async with cluster.controllers():
        cluster.living.discard("n1")
        await cluster.passes(3600)
        assert await cluster.ready("n1") == "Unknown"
        assert await cluster.taints("n1") == {("unreachable", "NoSchedule")}
        assert not await cluster.is_deleted("web")


async def test_when_the_last_ready_node_goes_nobody_is_emptied(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        cluster.living.discard("n1")
        await cluster.passes(60)
        assert await cluster.taints("n1") == BOTH_UNREACHABLE
        cluster.living.discard("n2")
        await cluster.passes(60)
        for node in ("n1", "n2"):
            assert await cluster.taints(node) == {("unreachable", "NoSchedule")}
        await cluster.passes(600)
        assert not await cluster.is_deleted("web")
        await cluster.posts("n2")
        cluster.living.add("n2")
        await cluster.passes(11)
        assert await cluster.taints("n2") == set()
        assert await cluster.taints("n1") == BOTH_UNREACHABLE


async def test_a_node_that_says_it_is_not_ready_is_tainted_and_swapped_when_it_is_lost(
    cluster: Cluster,
) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.posts("n1", ready="False")
        await cluster.passes(1)
        both = {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
        assert await cluster.taints("n1") == both
        cluster.living.discard("n1")
        await cluster.passes(45)
        assert await cluster.taints("n1") == BOTH_UNREACHABLE


async def test_pressure_and_cordon_keep_new_pods_away(cluster: Cluster) -> None:
    await cluster.node("n1")
    async with cluster.controllers():
        await cluster.passes(1)
        pressures = {"MemoryPressure": "True", "DiskPressure": "True", "PIDPressure": "True"}
        await cluster.posts("n1", **pressures, NetworkUnavailable="True")
        await cluster.patch(f"{NODES}/n1", {"spec": {"unschedulable": True}})
        keys = ("memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
        assert await cluster.taints("n1") == {
            (key, "NoSchedule") for key in (*keys, "unschedulable")
        }
        await cluster.taint("n1", "team.example.com/own", "NoSchedule")
        await cluster.posts("n1")
        await cluster.patch(f"{NODES}/n1", {"spec": {"unschedulable": None}})
        assert await cluster.taints("n1") == {("own", "NoSchedule")}


async def test_a_node_that_registers_has_a_second_to_get_ready(cluster: Cluster) -> None:
    """Its own writes meet no conflict, and no pod waits for a taint to be taken back."""
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.passes(5)
        await cluster.write("post", NODES, {"metadata": {"name": "n3"}})
        await cluster.posts("n3", ready="False")
        assert await cluster.taints("n3") == set()
        await cluster.passes(1)
        assert ("not-ready", "NoSchedule") in await cluster.taints("n3")
        await cluster.posts("n3")
        assert await cluster.taints("n3") == set()


async def test_a_zone_is_emptied_one_node_every_ten_seconds(cluster: Cluster) -> None:
    for number in range(1, 9):
        await cluster.node(f"n{number}")
    async with cluster.controllers():
        cluster.living -= {"n1", "n2", "n3", "n4"}

        async def emptied() -> int:
            found = [await cluster.taints(f"n{number}") for number in range(1, 9)]
            return sum(("unreachable", "NoExecute") in taints for taints in found)

        await cluster.passes(41)
        counts = [await emptied()]
        for _ in range(4):
            await cluster.passes(10)
            counts.append(await emptied())
        assert counts == [1, 2, 3, 4, 4]


async def test_a_zone_that_is_mostly_gone_is_not_emptied(cluster: Cluster) -> None:
    for number in range(1, 6):
        await cluster.node(f"n{number}")
    async with cluster.controllers():
        cluster.living -= {"n1", "n2", "n3"}
        await cluster.passes(300)
        found = [await cluster.taints(f"n{number}") for number in range(1, 4)]
        assert sum(("unreachable", "NoExecute") in taints for taints in found) <= 1
        assert all(("unreachable", "NoSchedule") in taints for taints in found)


@pytest.mark.parametrize("writes", range(7))
async def test_killed_after_any_write_the_next_one_finishes(cluster: Cluster, writes: int) -> None:
    await two_nodes(cluster)
    cluster.living.discard("n1")
    async with cluster.controllers(writes=writes):
        await cluster.passes(60)
    async with cluster.controllers():
        await cluster.passes(60)
        assert await cluster.ready("n1") == "Unknown"
        assert await cluster.taints("n1") == BOTH_UNREACHABLE
        assert (await cluster.pod_condition("web", "Ready"))["status"] == "False"


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["back", "forward"])
async def test_setting_the_clock_condemns_nobody_and_saves_nobody(
    cluster: Cluster, ahead: float
) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.passes(60)
        cluster.clock.set_wall(ahead)
        await cluster.passes(600)
        assert await cluster.told("NodeNotReady") == []
        assert not await cluster.is_deleted("web")
        cluster.living.discard("n1")
        await cluster.passes(20)
        cluster.clock.set_wall(ahead)
        await cluster.passes(15)
        assert await cluster.ready("n1") == "True"
        await cluster.passes(20)
        assert await cluster.ready("n1") == "Unknown"


async def test_one_that_is_gone_for_a_minute_and_back_for_half_a_one_keeps_its_pods(
    cluster: Cluster,
) -> None:
    """Lost and found, over and over: never five minutes at a time."""
    await two_nodes(cluster)
    async with cluster.controllers():
        for _ in range(10):
            cluster.living.discard("n1")
            await cluster.passes(60)
            assert await cluster.ready("n1") == "Unknown"
            await cluster.posts("n1")
            await cluster.beats("n1")
            cluster.living.add("n1")
            await cluster.passes(30)
            assert await cluster.ready("n1") == "True"
            assert await cluster.taints("n1") == set()
        assert not await cluster.is_deleted("web")
