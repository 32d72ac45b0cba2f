"""Claims that are made for pods."""

import pytest

from mooring.model.document import Doc
from tests.fakes.objects import CLAIMS, PODS, a_claim, a_pod
from tests.scenarios.neighbours import Cluster

FOREIGN = "PVC default/web-a was not created for pod default/web (pod is not owner)"


def with_ephemeral(*volumes: str, node: str = "") -> Doc:
    pod = a_pod(node=node)
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "mine"}},
        "spec": a_claim(storageClassName="")["spec"],
    }
    pod["spec"]["volumes"] = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": template}} for name in volumes
    ]
    return pod


async def names(cluster: Cluster) -> list[str]:
    items = (await cluster.api.get(CLAIMS)).doc["items"]
    return [item["metadata"]["name"] for item in items]


async def test_a_pod_gets_a_claim_of_its_own_for_each_volume(cluster: Cluster) -> None:
    async with cluster.neighbours():
        pod = await cluster.create(PODS, with_ephemeral("a", "b"))
        assert await names(cluster) == ["web-a", "web-b"]
        made = await cluster.get(CLAIMS, "web-a")
        assert made["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "web",
                "uid": pod["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert made["metadata"]["labels"] == {"app": "web"}
        assert made["metadata"]["annotations"] == {"note": "mine"}
        assert made["spec"] == a_claim(storageClassName="", volumeMode="Filesystem")["spec"]


async def test_a_pod_that_was_there_before_gets_its_claims(cluster: Cluster) -> None:
    await cluster.create(PODS, with_ephemeral("a"))
    async with cluster.neighbours():
        assert await names(cluster) == ["web-a"]


async def test_the_claims_go_with_the_pod(cluster: Cluster) -> None:
    async with cluster.neighbours():
        await cluster.create(PODS, with_ephemeral("a", node="n1"))
        await cluster.delete(PODS, "web", grace=0)
        assert await names(cluster) == []


async def test_the_claim_of_a_running_pod_is_held_and_people_are_told(cluster: Cluster) -> None:
    async with cluster.neighbours():
        await cluster.create(PODS, with_ephemeral("a", node="n1"))
        await cluster.delete(CLAIMS, "web-a")
        assert await names(cluster) == ["web-a"]
        assert [event[2] for event in await cluster.events("DeletionBlocked")] == [
            "Waiting for pods that use this claim to be deleted: web"
        ]


async def test_a_claim_deleted_under_a_waiting_pod_is_made_again(cluster: Cluster) -> None:
    async with cluster.neighbours():
        await cluster.create(PODS, with_ephemeral("a"))
        first = await cluster.get(CLAIMS, "web-a")
        await cluster.delete(CLAIMS, "web-a")
        second = await cluster.get(CLAIMS, "web-a")
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_a_claim_of_somebody_else_is_not_taken_and_the_pod_says_so(
    cluster: Cluster,
) -> None:
    mine = await cluster.create(CLAIMS, a_claim("web-a"))
    async with cluster.neighbours():
        await cluster.create(PODS, with_ephemeral("c", "a", "b"))
        assert await names(cluster) == ["web-a", "web-c"], "what comes behind it waits"
        assert await cluster.events("FailedBinding") == [
            ("Warning", "Pod/web", f"ephemeral volume a: {FOREIGN}", "ephemeral_volume")
        ]
        now = await cluster.get(CLAIMS, "web-a")
        assert now["metadata"]["uid"] == mine["metadata"]["uid"]
        await cluster.delete(CLAIMS, "web-a")
        await cluster.api.clock.advance(60)
        assert await names(cluster) == ["web-a", "web-b", "web-c"]


async def test_a_claim_of_an_older_pod_of_the_same_name_is_not_taken(cluster: Cluster) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "controller": True}
    older = a_claim("web-a")
    pod = await cluster.create(PODS, a_pod())
    older["metadata"]["ownerReferences"] = [owner | {"uid": pod["metadata"]["uid"]}]
    older["metadata"]["finalizers"] = ["example.com/mine"]
    await cluster.create(CLAIMS, older)
    async with cluster.neighbours():
        await cluster.delete(PODS, "web", grace=0)
        await cluster.create(PODS, with_ephemeral("a"))
        assert [event[2] for event in await cluster.events("FailedBinding")] == [
            f"ephemeral volume a: {FOREIGN}"
        ]
        await cluster.patch(CLAIMS, "web-a", {"metadata": {"finalizers": None}})
        await cluster.api.clock.advance(60)
        (reference,) = (await cluster.get(CLAIMS, "web-a"))["metadata"]["ownerReferences"]
        assert reference["uid"] != pod["metadata"]["uid"]


async def test_a_refusal_that_lasts_is_not_asked_for_hotly(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim("web-a"))
    async with cluster.neighbours() as client:
        before = client.left
        await cluster.create(PODS, with_ephemeral("a"))
        await cluster.api.clock.advance(600)
        assert before - client.left < 40, "events, ever more rarely, and nothing else"


@pytest.mark.parametrize("writes", range(4))
async def test_killed_after_any_write_the_next_start_makes_what_is_missing_and_nothing_twice(
    cluster: Cluster, writes: int
) -> None:
    await cluster.create(PODS, with_ephemeral("a", "b", "c"))
    async with cluster.neighbours(writes) as doomed:
        assert doomed.left == 0
        halfway = (await cluster.api.get(CLAIMS)).doc["items"]
        assert len(halfway) == writes
    async with cluster.neighbours():
        assert await names(cluster) == ["web-a", "web-b", "web-c"]
        after = {
            item["metadata"]["name"]: item["metadata"]["uid"]
            for item in (await cluster.api.get(CLAIMS)).doc["items"]
        }
        assert all(after[i["metadata"]["name"]] == i["metadata"]["uid"] for i in halfway)
        assert await cluster.events("FailedBinding") == []
