"""Pods of higher priority take the place of others, as the scheduler is built for production."""

from typing import Any

import pytest

from tests.fakes.objects import (
    BUDGETS,
    CLAIMS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    VOLUMES,
    Doc,
    a_budget,
    a_pod,
    a_priority_class,
    a_volume,
)
from tests.scenarios.scheduling.cluster import Cluster, a_pod_with, a_ready_node


def sized(name: str, cpu: str = "3", **spec: Any) -> Doc:
    pod = a_pod(name)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    pod["spec"] |= spec
    return pod


async def prepared(cluster: Cluster, *nodes: str) -> None:
    await cluster.create(PRIORITY_CLASSES, a_priority_class("high", 1000))
    await cluster.create(PRIORITY_CLASSES, a_priority_class("meek", 500, preemptionPolicy="Never"))
    for node in nodes or ("n1",):
        await cluster.create(NODES, a_ready_node(node))


async def pod_of(cluster: Cluster, name: str) -> Doc:
    doc = await cluster.find(PODS, name)
    assert doc is not None, f"{name} is gone"
    return doc


async def status_of(cluster: Cluster, name: str) -> Doc:
    return dict((await pod_of(cluster, name))["status"])


async def test_a_pod_takes_the_place_of_a_less_important_one(cluster: Cluster) -> None:
    await prepared(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, sized("low"))
        vip = await cluster.create(PODS, sized("vip", priorityClassName="high"))
        await cluster.passes(1)
        low = await pod_of(cluster, "low")
        assert low["metadata"]["deletionGracePeriodSeconds"] == 30, "it ends in its own time"
        (target,) = (c for c in low["status"]["conditions"] if c["type"] == "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
        assert target["message"] == (
            "default-scheduler: preempting to accommodate a higher priority pod"
        )
        assert (await status_of(cluster, "vip"))["nominatedNodeName"] == "n1"
        assert await cluster.said("low") == [
            ("Normal", "Scheduled", "Successfully assigned default/low to n1"),
            ("Normal", "Preempted", f"Preempted by pod {vip['metadata']['uid']} on node n1"),
        ]
        assert await cluster.pod("vip") == (
            "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a "
            "potential placement for pod on node n1, preempting 1 victims"
        )
        await cluster.delete(PODS, "low", grace=0)
        await cluster.passes(10)
        assert await cluster.pod("vip") == "n1"
        assert "nominatedNodeName" not in await status_of(cluster, "vip")


async def test_the_room_is_kept_for_the_one_it_was_made_for(cluster: Cluster) -> None:
    await prepared(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, sized("low"))
        await cluster.create(PODS, sized("vip", priorityClassName="high"))
        await cluster.passes(1)
        await cluster.create(PODS, sized("late", cpu="2"))
        await cluster.delete(PODS, "low", grace=0)
        await cluster.passes(20)
        assert await cluster.pod("vip") == "n1"
        assert "Insufficient cpu" in await cluster.pod("late")


async def test_who_may_not_preempt_waits(cluster: Cluster) -> None:
    await prepared(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, sized("low"))
        await cluster.create(PODS, sized("vip", priorityClassName="meek"))
        await cluster.passes(5)
        assert (await cluster.pod("vip")).endswith(
            "preemption: not eligible due to preemptionPolicy=Never."
        )
        assert "deletionTimestamp" not in (await pod_of(cluster, "low"))["metadata"]


async def test_a_budget_directs_preemption_elsewhere(cluster: Cluster) -> None:
    await prepared(cluster, "n1", "n2")
    await cluster.create(BUDGETS, a_budget(minAvailable=1))
    async with cluster.scheduler():
        for name, node in (("kept", "n1"), ("low", "n2")):
            pod = sized(name, nodeSelector={"kubernetes.io/hostname": node})
            pod["metadata"]["labels"] = {"app": "web"} if name == "kept" else {}
            await cluster.create(PODS, pod)
        await cluster.create(PODS, sized("vip", priorityClassName="high"))
        await cluster.passes(1)
        assert (await status_of(cluster, "vip"))["nominatedNodeName"] == "n2"
        assert "deletionTimestamp" not in (await pod_of(cluster, "kept"))["metadata"]


async def test_a_claim_for_one_pod_alone_changes_hands(cluster: Cluster) -> None:
    await prepared(cluster)
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOncePod"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "disk",
            "storageClassName": "",
        },
    }
    await cluster.create(CLAIMS, claim)
    async with cluster.both():
        await cluster.create(VOLUMES, a_volume("disk", accessModes=["ReadWriteOncePod"]))
        await cluster.passes(20)
        await cluster.create(PODS, a_pod_with("data", name="low"))
        await cluster.passes(1)
        assert await cluster.pod("low") == "n1"
        await cluster.create(PODS, a_pod_with("data", name="vip", priorityClassName="high"))
        await cluster.passes(1)
        assert "deletionTimestamp" in (await pod_of(cluster, "low"))["metadata"]
        await cluster.delete(PODS, "low", grace=0)
        await cluster.passes(10)
        assert await cluster.pod("vip") == "n1"


@pytest.mark.parametrize("writes", range(5))
async def test_from_any_cut_another_scheduler_finishes(cluster: Cluster, writes: int) -> None:
    await prepared(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, sized("low"))
        await cluster.create(PODS, sized("mid", cpu="1"))
    await cluster.create(PODS, sized("vip", cpu="4", priorityClassName="high"))
    async with cluster.scheduler(writes):
        await cluster.passes(1)
    async with cluster.scheduler():
        await cluster.passes(1)
        for name in ("low", "mid"):
            assert "deletionTimestamp" in (await pod_of(cluster, name))["metadata"], name
            await cluster.delete(PODS, name, grace=0)
        await cluster.passes(20)
        assert await cluster.pod("vip") == "n1"
