"""Pods on nodes with NoExecute taints."""

from typing import Any

import pytest

from tests.fakes.objects import PODS
from tests.scenarios.node_lifecycle.cluster import OUT_OF_SERVICE, UNREACHABLE, Cluster

FOR_EVER = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
ANY = {"operator": "Exists"}
TEAM = "team.example.com/maintenance"


def for_seconds(seconds: int, key: str = UNREACHABLE) -> dict[str, Any]:
    tolerated = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return {**tolerated, "tolerationSeconds": seconds}


async def two_nodes(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.node("n2")


async def lose(cluster: Cluster) -> None:
    """The node n1: at the end of this it was marked a moment ago."""
    cluster.living.discard("n1")

    async def is_lost() -> bool:
        return await cluster.ready("n1") == "Unknown"

    await cluster.until(is_lost, 60)


async def test_pods_of_a_lost_node_go_after_five_minutes(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    await cluster.pod("quick", tolerations=[for_seconds(5)])
    await cluster.pod("daemon", tolerations=[FOR_EVER])
    await cluster.pod("other", "n2")
    async with cluster.controllers():
        await lose(cluster)
        await cluster.passes(4)
        assert not await cluster.is_deleted("quick")
        await cluster.passes(2)
        assert await cluster.is_deleted("quick")
        await cluster.passes(292)
        assert not await cluster.is_deleted("web")
        await cluster.passes(3)
        found = await cluster.get(f"{PODS}/web")
        assert found["metadata"]["deletionGracePeriodSeconds"] == 30
        assert found["status"]["phase"] == "Running"
        target = await cluster.pod_condition("web", "DisruptionTarget")
        assert (target["status"], target["reason"], target["message"]) == (
            "True",
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        told = await cluster.told("TaintManagerEviction")
        assert (
            "web",
            "Normal",
            "TaintManagerEviction",
            "Marking for deletion Pod default/web",
        ) in told
        await cluster.passes(3600)
        assert not await cluster.is_deleted("daemon")
        assert not await cluster.is_deleted("other")
        assert await cluster.find_pod("web") is not None  # nobody has said that it has ended


async def test_it_is_told_what_is_waited_for_and_until_when(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await cluster.taint("n1", UNREACHABLE)
        ((name, kind, _, text),) = await cluster.told("EvictionScheduled")
        assert (name, kind) == ("web", "Normal")
        assert text == (
            f"Node n1 has the taint {UNREACHABLE}: the pod is deleted at 2026-01-02T03:09:05Z "
            f"unless the taint goes; if the machine is certainly off, the taint {OUT_OF_SERVICE} "
            "on the node moves pods and volumes at once"
        )


async def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await lose(cluster)
        await cluster.passes(200)
        await cluster.posts("n1")
        cluster.living.add("n1")
        told = await cluster.told("TaintManagerEviction")
        words = "Cancelling deletion of Pod default/web"
        assert told == [("web", "Normal", "TaintManagerEviction", words)]
        await cluster.passes(600)
        assert not await cluster.is_deleted("web")


async def test_a_toleration_that_is_added_while_the_timer_runs_counts(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web", tolerations=[for_seconds(60, TEAM)])
    async with cluster.controllers():
        await cluster.taint("n1", TEAM)
        await cluster.passes(30)
        spec = (await cluster.get(f"{PODS}/web"))["spec"]
        tolerations = [*spec["tolerations"], ANY]
        await cluster.patch(f"{PODS}/web", {"spec": {"tolerations": tolerations}})
        await cluster.passes(31)
        assert await cluster.is_deleted("web")  # the limited one still matches


@pytest.mark.parametrize(
    ("tolerations", "is_gone"),
    [
        ([], True),
        ([ANY], False),
        ([for_seconds(0, TEAM)], True),
        ([for_seconds(-5, TEAM)], True),
        ([{"key": TEAM, "operator": "Equal", "value": "nodeshutdown"}], False),
        ([{"key": TEAM, "operator": "Equal", "value": "other"}], True),
        ([{"key": TEAM, "operator": "Exists", "effect": "NoSchedule"}], True),
    ],
)
async def test_who_stays_on_a_tainted_node(
    cluster: Cluster,
    tolerations: list[dict[str, Any]],
    is_gone: bool,  # noqa: FBT001  a column of the table
) -> None:
    await two_nodes(cluster)
    await cluster.pod("web", tolerations=tolerations)
    async with cluster.controllers():
        await cluster.taint("n1", TEAM)
        await cluster.passes(1)
        assert await cluster.is_deleted("web") is is_gone


async def test_a_pod_that_comes_to_a_tainted_node_goes(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.taint("n1", TEAM)
    async with cluster.controllers():
        await cluster.pod("web")
        await cluster.passes(1)
        assert await cluster.is_deleted("web")


async def test_other_effects_evict_nobody(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await cluster.taint("n1", TEAM, "NoSchedule")
        await cluster.passes(600)
        assert not await cluster.is_deleted("web")


async def test_a_restart_begins_the_timer_anew(cluster: Cluster) -> None:
    await two_nodes(cluster)
    await cluster.pod("web", tolerations=[for_seconds(100, TEAM)])
    await cluster.taint("n1", TEAM)
    async with cluster.controllers():
        await cluster.passes(60)
    async with cluster.controllers():
        await cluster.passes(99)
        assert not await cluster.is_deleted("web")
        await cluster.passes(2)
        assert await cluster.is_deleted("web")


@pytest.mark.parametrize("writes", range(4))
async def test_killed_after_any_write_the_next_one_finishes(cluster: Cluster, writes: int) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers(writes=writes):
        await cluster.taint("n1", TEAM)
        await cluster.passes(1)
    async with cluster.controllers():
        await cluster.passes(1)
        assert await cluster.is_deleted("web")
        assert (await cluster.pod_condition("web", "DisruptionTarget"))["status"] == "True"


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["back", "forward"])
async def test_setting_the_clock_moves_no_eviction(cluster: Cluster, ahead: float) -> None:
    await two_nodes(cluster)
    await cluster.pod("web")
    async with cluster.controllers():
        await lose(cluster)
        await cluster.passes(100)
        cluster.clock.set_wall(ahead)
        await cluster.passes(195)
        assert not await cluster.is_deleted("web")
        await cluster.passes(10)
        assert await cluster.is_deleted("web")
