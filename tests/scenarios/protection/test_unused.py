"""The condition Unused of claims: whether a pod refers to them, and since when (KEP-5541)."""

import pytest

from mooring.model.document import Doc
from mooring.model.kubernetes_version import V1_35
from tests.fakes.objects import CLAIMS, PODS, a_claim, a_pod
from tests.scenarios.neighbours import Cluster

USED = ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
UNUSED = ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")


async def bound(cluster: Cluster, name: str = "data", phase: str = "Bound") -> None:
    await cluster.create(CLAIMS, a_claim(name))
    await cluster.patch(CLAIMS, name, {"status": {"phase": phase}}, "/status")


async def condition(cluster: Cluster, name: str = "data") -> Doc | None:
    conditions = (await cluster.get(CLAIMS, name))["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "Unused"), None)


async def said(cluster: Cluster, name: str = "data") -> tuple[str, str, str] | None:
    found = await condition(cluster, name)
    return None if found is None else (found["status"], found["reason"], found["message"])


async def test_a_bound_claim_without_a_pod_is_unused(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours():
        assert await said(cluster) == UNUSED


async def test_a_claim_of_a_running_pod_is_used(cluster: Cluster) -> None:
    await bound(cluster)
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    await cluster.patch(PODS, "web", {"status": {"phase": "Running"}}, "/status")
    async with cluster.neighbours():
        assert await said(cluster) == USED


async def test_a_claim_becomes_unused_when_its_pod_goes(cluster: Cluster) -> None:
    await bound(cluster)
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    async with cluster.neighbours():
        assert await said(cluster) == USED
        before = await condition(cluster)
        await cluster.api.clock.advance(60)
        await cluster.delete(PODS, "web", grace=0)
        assert await said(cluster) == UNUSED
        after = await condition(cluster)
        assert before is not None
        assert after is not None
        assert after["lastTransitionTime"] > before["lastTransitionTime"]


async def test_a_claim_becomes_used_with_a_new_pod(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours():
        assert await said(cluster) == UNUSED
        await cluster.create(PODS, a_pod(claim="data"))
        assert await said(cluster) == USED


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_finished_pods_use_nothing(cluster: Cluster, phase: str) -> None:
    await bound(cluster)
    for name in ("a", "b"):
        await cluster.create(PODS, a_pod(name, node="n1", claim="data"))
        await cluster.patch(PODS, name, {"status": {"phase": phase}}, "/status")
    async with cluster.neighbours():
        assert await said(cluster) == UNUSED


async def test_a_pod_that_waits_for_a_node_uses_its_claim(cluster: Cluster) -> None:
    await bound(cluster)
    await cluster.create(PODS, a_pod(claim="data"))
    async with cluster.neighbours():
        assert await said(cluster) == USED


async def test_of_several_pods_the_last_one_decides(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours():
        for name in ("a", "b"):
            await cluster.create(PODS, a_pod(name, node="n1", claim="data"))
        await cluster.delete(PODS, "a", grace=0)
        assert await said(cluster) == USED
        await cluster.delete(PODS, "b", grace=0)
        assert await said(cluster) == UNUSED


@pytest.mark.parametrize("phase", ["Pending", "Lost"])
async def test_nothing_is_said_of_a_claim_that_is_not_bound(cluster: Cluster, phase: str) -> None:
    await bound(cluster, phase=phase)
    async with cluster.neighbours():
        await cluster.create(PODS, a_pod(claim="data"))
        assert await said(cluster) is None


async def test_nothing_is_written_while_nothing_changes(cluster: Cluster) -> None:
    await bound(cluster)
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    async with cluster.neighbours():
        before = await cluster.get(CLAIMS, "data")
        await cluster.api.clock.advance(60)
        await cluster.create(PODS, a_pod("another", claim="data"))
        await cluster.patch(PODS, "web", {"status": {"phase": "Running"}}, "/status")
        await cluster.delete(PODS, "another", grace=0)
        assert await cluster.get(CLAIMS, "data") == before


async def test_a_claim_that_is_being_deleted_is_left_alone(cluster: Cluster) -> None:
    await bound(cluster)
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        before = await condition(cluster)
        await cluster.patch(PODS, "web", {"status": {"phase": "Succeeded"}}, "/status")
        assert await condition(cluster) == before


async def test_a_restart_leaves_the_time_of_the_last_change(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours():
        before = await cluster.get(CLAIMS, "data")
    await cluster.api.clock.advance(3600)
    async with cluster.neighbours():
        assert await cluster.get(CLAIMS, "data") == before


async def test_other_conditions_stay(cluster: Cluster) -> None:
    await bound(cluster)
    resizing = {"type": "Resizing", "status": "True", "message": "one moment"}
    await cluster.patch(CLAIMS, "data", {"status": {"conditions": [resizing]}}, "/status")
    async with cluster.neighbours():
        found = (await cluster.get(CLAIMS, "data"))["status"]["conditions"]
        assert [one["type"] for one in found] == ["Resizing", "Unused"]
        assert found[0]["message"] == "one moment"


async def test_an_ephemeral_claim_is_used_by_the_pod_it_was_made_for_alone(
    cluster: Cluster,
) -> None:
    await bound(cluster, "web-scratch")
    pod = a_pod(node="n1")
    pod["spec"]["volumes"] = [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": a_claim()["spec"]}}}
    ]
    await cluster.create(PODS, pod)
    async with cluster.neighbours():
        assert await said(cluster, "web-scratch") == UNUSED  # somebody's, of the same name


async def test_claims_say_nothing_of_their_use_in_1_35(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours(release=V1_35):
        await cluster.create(PODS, a_pod(claim="data"))
        assert await said(cluster) is None
