"""Pods that no node will ever end."""

import pytest
from msgspec.structs import replace

from tests.fakes.objects import PODS, a_pod
from tests.scenarios.neighbours import NO_OPTIONS
from tests.scenarios.node_lifecycle.cluster import OUT_OF_SERVICE, Cluster

HOLD = "example.com/hold"


async def two_nodes(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.node("n2")


async def test_pods_of_a_deleted_node_are_collected_after_40_s(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    doc = a_pod("held", "n1")
    doc["metadata"]["finalizers"] = [HOLD]
    await cluster.write("post", PODS, doc)
    await cluster.pod("other", "n2")
    async with cluster.controllers() as client:
        await cluster.remove("n1")
        await cluster.passes(39)
        assert not await cluster.is_deleted("web")
        assert client.reads == []
        await cluster.passes(2)
        assert client.reads == ["Node n1"]
        assert await cluster.find_pod("web") is None
        held = await cluster.get(f"{PODS}/held")
        assert held["status"]["phase"] == "Failed"
        assert held["metadata"]["deletionGracePeriodSeconds"] == 0
        target = await cluster.pod_condition("held", "DisruptionTarget")
        assert (target["status"], target["reason"], target["message"]) == (
            "True",
            "DeletionByPodGC",
            "PodGC: node no longer exists",
        )
        assert not await cluster.is_deleted("other")
        assert [told[:3] for told in await cluster.told("RemovingNode")] == [
            ("n1", "Normal", "RemovingNode")
        ]


async def test_a_node_that_registers_again_in_time_keeps_its_pods(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await cluster.remove("n1")
        await cluster.write(
            "delete", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
        )
        await cluster.passes(30)
        await cluster.node("n1")
        await cluster.passes(120)
        assert not await cluster.is_deleted("web")
        await cluster.remove("n1")
        await cluster.passes(30)
        assert not await cluster.is_deleted("web")
        await cluster.passes(11)
        assert await cluster.is_deleted("web")


async def test_a_pod_for_a_node_that_never_was_is_collected(cluster: Cluster) -> None:
    await two_nodes(cluster)
    async with cluster.controllers():
        await cluster.pod("web", "nowhere")
        await cluster.passes(39)
        assert await cluster.find_pod("web") is not None
        await cluster.passes(2)
        assert await cluster.find_pod("web") is None
        await cluster.pod("late", "nowhere")
        await cluster.passes(39)
        assert await cluster.find_pod("late") is not None  # its node may be about to register
        await cluster.passes(2)
        assert await cluster.find_pod("late") is None


async def test_a_deleted_pod_stays_while_its_silent_node_may_come_back(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        cluster.living.discard("n1")
        await cluster.passes(60)
        await cluster.terminate("web")
        await cluster.passes(1200)
        assert await cluster.find_pod("web") is not None
        ((name, kind, _, text),) = await cluster.told("WaitingForNode")
        assert (name, kind) == ("web", "Warning")
        assert text == (
            "Deleted, but node n1 is not heard of: the pod stays until the node ends it, is "
            f"deleted, or has the taint {OUT_OF_SERVICE}, which says that its machine is off"
        )
        await cluster.taint("n1", OUT_OF_SERVICE)
        assert await cluster.find_pod("web") is None


async def test_out_of_service_moves_all_at_once(cluster: Cluster) -> None:
    await two_nodes(cluster)
    for number in range(20):
        await cluster.pod(f"web{number}")
    async with cluster.controllers():
        cluster.living.discard("n1")
        await cluster.passes(60)
        began = cluster.clock.monotonic()
        await cluster.taint("n1", OUT_OF_SERVICE)
        await cluster.passes(1)
        assert cluster.clock.monotonic() - began <= 1.0
        assert (await cluster.get(PODS))["items"] == []


async def test_the_word_of_a_living_node_is_better_than_the_taint(cluster: Cluster) -> None:
    """Somebody taints the wrong node: its pods are asked to go, and it ends them in its time."""
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await cluster.taint("n1", OUT_OF_SERVICE)
        await cluster.passes(300)
        assert await cluster.is_deleted("web")
        assert await cluster.find_pod("web") is not None
        assert await cluster.ready("n1") == "True"


async def test_tainted_before_its_silence_was_noticed_it_gets_15_s(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await cluster.passes(20)
        cluster.living.discard("n1")
        await cluster.taint("n1", OUT_OF_SERVICE)
        await cluster.passes(16)
        assert await cluster.ready("n1") == "Unknown"
        assert await cluster.find_pod("web") is None


async def test_deleted_before_it_had_a_node(cluster: Cluster) -> None:
    await two_nodes(cluster)
    doc = a_pod("lone")
    doc["metadata"]["finalizers"] = [HOLD]
    async with cluster.controllers():
        await cluster.write("post", PODS, doc)
        await cluster.terminate("lone")
        await cluster.passes(1)
        lone = await cluster.get(f"{PODS}/lone")
        assert lone["status"]["phase"] == "Failed"
        await cluster.patch(f"{PODS}/lone", {"metadata": {"finalizers": None}})
        assert await cluster.find_pod("lone") is None


async def test_too_many_finished_pods(cluster: Cluster) -> None:
    await two_nodes(cluster)
    for number in range(6):
        await cluster.pod(f"done{number}")
        reason = {"reason": "Evicted"} if number == 4 else {}
        status = {"phase": "Failed" if reason else "Succeeded", **reason}
        await cluster.patch(f"{PODS}/done{number}/status", {"status": status})
        await cluster.passes(1)
    await cluster.pod("running")
    async with cluster.controllers(options=replace(NO_OPTIONS, terminated_pods=4)):
        await cluster.passes(21)
        names = [item["metadata"]["name"] for item in (await cluster.get(PODS))["items"]]
        assert names == ["done1", "done2", "done3", "done5", "running"]


@pytest.mark.parametrize("writes", range(4))
async def test_killed_after_any_write_the_next_one_finishes(cluster: Cluster, writes: int) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    await cluster.remove("n1")
    async with cluster.controllers(writes=writes):
        await cluster.passes(60)
    async with cluster.controllers():
        await cluster.passes(60)
        assert await cluster.find_pod("web") is None
