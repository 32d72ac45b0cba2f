"""Claims are not let go while pods use them."""

import pytest

from mooring.client.contract import Change
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.reconcile.cache import Cache
from mooring.reconcile.reflector import Reflector
from tests.fakes.objects import CLAIMS, PODS, a_claim, a_pod
from tests.scenarios.neighbours import Cluster

ON_CLAIMS = "kubernetes.io/pvc-protection"


async def finalizers(cluster: Cluster, name: str = "data") -> list[str]:
    return list((await cluster.get(CLAIMS, name))["metadata"].get("finalizers", []))


def finished(phase: str) -> Doc:
    return {"status": {"phase": phase}}


async def test_a_finalizer_taken_away_by_hand_is_put_back(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim())
    async with cluster.neighbours():
        await cluster.patch(CLAIMS, "data", {"metadata": {"finalizers": ["example.com/mine"]}})
        assert await finalizers(cluster) == ["example.com/mine", ON_CLAIMS]


async def test_an_unused_claim_goes_at_once(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim())
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        assert await cluster.find(CLAIMS, "data") is None
        assert await cluster.events("DeletionBlocked") == []


async def test_what_others_hold_is_let_go_by_us_and_kept_by_them(cluster: Cluster) -> None:
    doc = a_claim()
    doc["metadata"]["finalizers"] = ["example.com/mine"]
    await cluster.create(CLAIMS, doc)
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        assert await finalizers(cluster) == ["example.com/mine"]


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
async def test_a_claim_stays_while_a_scheduled_pod_of_any_phase_names_it(
    cluster: Cluster, phase: str
) -> None:
    await cluster.create(CLAIMS, a_claim())
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    await cluster.patch(PODS, "web", finished(phase), "/status")
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        assert await finalizers(cluster) == [ON_CLAIMS]
        assert await cluster.events("DeletionBlocked") == [
            (
                "Normal",
                "PersistentVolumeClaim/data",
                "Waiting for pods that use this claim to be deleted: web",
                "persistentvolumeclaim-protection-controller",
            )
        ]
        await cluster.delete(PODS, "web", grace=0)
        assert await cluster.find(CLAIMS, "data") is None


async def test_a_pod_without_a_node_does_not_keep_a_claim(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim())
    await cluster.create(PODS, a_pod(claim="data"))
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        assert await cluster.find(CLAIMS, "data") is None


async def test_a_pod_that_only_the_server_knows_keeps_a_claim(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lag_behind(informer: Reflector[Pod], change: Change[Pod]) -> None:
        if informer.kind is not Pod:
            Cache.absorb(informer, change)

    await cluster.create(CLAIMS, a_claim())
    monkeypatch.setattr(Reflector, "absorb", lag_behind)
    async with cluster.neighbours():
        await cluster.create(PODS, a_pod(node="n1", claim="data"))
        await cluster.delete(CLAIMS, "data")
        assert await finalizers(cluster) == [ON_CLAIMS]


async def test_a_claim_goes_only_with_its_last_user(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim())
    async with cluster.neighbours():
        for name in ("a", "b"):
            await cluster.create(PODS, a_pod(name, node="n1", claim="data"))
        await cluster.delete(CLAIMS, "data")
        await cluster.delete(PODS, "a", grace=0)
        assert await finalizers(cluster) == [ON_CLAIMS]
        await cluster.delete(PODS, "b", grace=0)
        assert await cluster.find(CLAIMS, "data") is None


async def test_a_pod_recreated_under_the_same_name_does_not_hide_that_its_claim_is_free(
    cluster: Cluster,
) -> None:
    await cluster.create(CLAIMS, a_claim())
    await cluster.create(PODS, a_pod(node="n1", claim="data"))
    async with cluster.neighbours():
        await cluster.delete(CLAIMS, "data")
        answer = await cluster.api.delete(f"{PODS}/web?gracePeriodSeconds=0")
        assert answer.code == 200
        await cluster.create(PODS, a_pod(node="n1"))
        assert await cluster.find(CLAIMS, "data") is None


async def test_what_happened_while_nobody_ran_is_made_up_for(cluster: Cluster) -> None:
    for name in ("used", "free"):
        await cluster.create(CLAIMS, a_claim(name))
    await cluster.create(PODS, a_pod(node="n1", claim="used"))
    for name in ("used", "free"):
        await cluster.delete(CLAIMS, name)
    async with cluster.neighbours():
        assert await finalizers(cluster, "used") == [ON_CLAIMS]
        assert await cluster.find(CLAIMS, "free") is None


@pytest.mark.parametrize("writes", range(6))
async def test_killed_after_any_write_the_next_start_finishes_and_nothing_in_use_goes(
    cluster: Cluster, writes: int
) -> None:
    for name in ("a", "b", "used", "alive"):
        await cluster.create(CLAIMS, a_claim(name))
    await cluster.create(PODS, a_pod(node="n1", claim="used"))
    await cluster.patch(CLAIMS, "alive", {"metadata": {"finalizers": None}})
    for name in ("a", "b", "used"):
        await cluster.delete(CLAIMS, name)
    async with cluster.neighbours(writes) as doomed:
        assert doomed.left == 0 or writes > 4, "the cut is where the test thinks"
        assert await finalizers(cluster, "used") == [ON_CLAIMS]
    async with cluster.neighbours():
        assert await finalizers(cluster, "used") == [ON_CLAIMS]
        assert await finalizers(cluster, "alive") == [ON_CLAIMS]
        assert [await cluster.find(CLAIMS, name) for name in ("a", "b")] == [None, None]
