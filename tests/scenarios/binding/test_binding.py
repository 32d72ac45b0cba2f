"""Claims and volumes that find each other, lose each other, and wait: live, in virtual time."""

import asyncio
from contextlib import suppress
from random import Random

import pytest

from mooring.controllers import role as controllers
from mooring.controllers.binding.decide.claim import LOST_VOLUME, NO_CONSUMER, NO_VOLUME
from mooring.controllers.binding.run import BinderSettings
from mooring.errors import Conflict, ConnectionLost
from mooring.reconcile.loops import Loops
from tests.fakes.clock import settle
from tests.fakes.lagging import reflector_of
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    PODS,
    VOLUMES,
    a_claim,
    a_class,
    a_pod,
    a_volume,
)
from tests.scenarios.binding.cluster import Cluster
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS

BOUND = "Bound disk 5Gi"
NO_MATCH = ("Normal", "FailedBinding", NO_VOLUME)


async def test_a_volume_and_a_claim_are_bound(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        assert (await cluster.volume(), await cluster.claim()) == ("Bound ref=data+ BBC", BOUND)
        assert await cluster.told() == []


async def test_both_sides_are_marked_as_upstream_marks_them(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        claim = await cluster.create(CLAIMS, a_claim())
        volume = await cluster.find(VOLUMES, "disk")
        bound = await cluster.find(CLAIMS, "data")
    assert volume is not None
    assert bound is not None
    assert volume["spec"]["claimRef"] == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "data",
        "uid": claim["metadata"]["uid"],
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert [one["type"] for one in bound["status"].pop("conditions")] == ["Unused"]
    assert bound["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "5Gi"},
    }


async def test_a_claim_that_came_first_is_bound_as_soon_as_a_volume_comes(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLAIMS, a_claim())
        assert await cluster.told() == [NO_MATCH]
        await cluster.create(VOLUMES, a_volume())
        assert (await cluster.volume(), await cluster.claim()) == ("Bound ref=data+ BBC", BOUND)


async def test_a_volume_that_nobody_wants_becomes_available(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        assert await cluster.volume() == "Pending"
        await cluster.passes(0.2)
        assert await cluster.volume() == "Available"


async def test_a_reserved_volume_waits_for_its_claim(cluster: Cluster) -> None:
    reserved = a_volume(claimRef={"namespace": "default", "name": "data"})
    async with cluster.binder():
        await cluster.create(VOLUMES, reserved)
        await cluster.passes(0.2)
        assert await cluster.volume() == "Available ref=data"
        await cluster.create(VOLUMES, a_volume("other", "1Gi"))
        await cluster.create(CLAIMS, a_claim())
        assert (await cluster.volume(), await cluster.claim()) == ("Bound ref=data+", BOUND)


async def test_a_claim_that_asks_for_a_volume_gets_it_when_it_comes(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLAIMS, a_claim(volumeName="disk"))
        assert await cluster.claim() == "Pending disk"
        await cluster.create(VOLUMES, a_volume())
        assert await cluster.claim() == BOUND
        assert await cluster.told() == []


async def test_the_volume_asked_for_is_free_again_later(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim("first"))
        await cluster.create(CLAIMS, a_claim(volumeName="disk"))
        taken = 'volume "disk" already bound to a different claim.'
        assert await cluster.told() == [("Warning", "FailedBinding", taken)]
        await cluster.delete(CLAIMS, "first")
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": None}})
        assert await cluster.claim() == BOUND


async def test_a_delayed_claim_waits_for_a_pod_and_then_for_its_node(
    cluster: Cluster,
) -> None:
    waiting = a_class() | {
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    first = ("Normal", "WaitForFirstConsumer", NO_CONSUMER)
    async with cluster.binder():
        await cluster.create(CLASSES, waiting)
        await cluster.create(VOLUMES, a_volume(storageClassName="fast"))
        await cluster.create(CLAIMS, a_claim(storageClassName="fast"))
        assert await cluster.told() == [first]
        await cluster.create(PODS, a_pod("p1", claim="data"))
        waits = ("Normal", "WaitForPodScheduled", "waiting for pod p1 to be scheduled")
        assert await cluster.told() == [first, waits]
        assert await cluster.claim() == "Pending"
        await cluster.patch(PODS, "p1", {"status": {"phase": "Failed"}}, "/status")
        assert await cluster.told("WaitForPodScheduled") == [waits]


async def test_a_volume_reserved_by_the_scheduler_ends_the_wait(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLASSES, a_class() | {"volumeBindingMode": "WaitForFirstConsumer"})
        await cluster.create(VOLUMES, a_volume(storageClassName="fast"))
        claim = await cluster.create(CLAIMS, a_claim(storageClassName="fast"))
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "data",
            "uid": claim["metadata"]["uid"],
        }
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": reference}})
        assert (await cluster.volume(), await cluster.claim()) == ("Bound ref=data+", BOUND)


async def test_a_delayed_claim_is_bound_when_its_class_disappears(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLASSES, a_class() | {"volumeBindingMode": "WaitForFirstConsumer"})
        await cluster.create(VOLUMES, a_volume(storageClassName="fast"))
        await cluster.create(CLAIMS, a_claim(storageClassName="fast"))
        assert await cluster.claim() == "Pending"
        await cluster.delete(CLASSES, "fast")
        assert await cluster.claim() == BOUND


async def test_a_default_class_that_comes_later_is_given_to_waiting_claims(
    cluster: Cluster,
) -> None:
    async with cluster.binder() as binder:
        await cluster.create(CLAIMS, a_claim())
        await cluster.create(CLASSES, a_class(is_default=True))
        doc = await cluster.find(CLAIMS, "data")
        assert doc is not None
        assert doc["spec"]["storageClassName"] == "fast"
        counted = {metric.name: metric for metric in binder.metrics.collect()}
        assert counted["retroactive_storageclass"].samples[0].value == 1


async def test_a_volume_whose_file_system_has_yet_to_grow(cluster: Cluster) -> None:
    grown = a_volume(storage="2Gi")
    grown["metadata"]["annotations"] = {"volume.alpha.kubernetes.io/pre-resize-capacity": "1Gi"}
    async with cluster.binder():
        await cluster.create(VOLUMES, grown)
        await cluster.create(CLAIMS, a_claim(storage="2Gi"))
        assert await cluster.claim() == "Bound disk 1Gi"


async def test_a_deleted_claim_releases_its_volume_at_once(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(CLAIMS, "data")
        assert await cluster.volume() == "Released ref=data+ BBC"


async def test_a_volume_removed_by_force_loses_the_claim(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(VOLUMES, "disk")
        assert await cluster.volume() == "Bound ref=data+ BBC"
        await cluster.patch(VOLUMES, "disk", {"metadata": {"finalizers": None}})
        assert await cluster.claim() == "Lost disk"
        assert await cluster.told() == [("Warning", "ClaimLost", LOST_VOLUME)]


async def test_a_lost_volume_that_comes_back_is_bound_again(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(VOLUMES, "disk")
        await cluster.patch(VOLUMES, "disk", {"metadata": {"finalizers": None}})
        assert await cluster.claim() == "Lost disk"
        await cluster.create(VOLUMES, a_volume())
        assert await cluster.claim() == BOUND


async def test_a_new_claim_of_the_same_name_does_not_get_the_old_volume(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(CLAIMS, "data")
        await cluster.create(CLAIMS, a_claim())
        assert await cluster.volume() == "Released ref=data+ BBC"
        assert await cluster.claim() == "Pending"
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": {"uid": None}}})
        assert await cluster.claim() == BOUND


async def test_a_volume_whose_claim_only_the_api_knows_is_not_released(cluster: Cluster) -> None:
    """The scheduler is quicker than our watch of claims."""
    async with cluster.binder() as binder:
        claims = reflector_of(binder._caches.claims)
        claims.absorb = lambda change: None  # type: ignore[method-assign] # a watch that lags
        claim = await cluster.create(CLAIMS, a_claim(volumeName="disk"))
        reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
        await cluster.create(VOLUMES, a_volume(claimRef=reference))
        await cluster.passes(0.2)
        assert await cluster.volume() == "Bound ref=data+"


async def test_two_claims_and_one_volume_bind_once(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        names = [f"c{i}" for i in range(10)]
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(cluster.api.post(CLAIMS, a_claim(name)))
        await cluster.settle()
        phases = [(await cluster.claim(name)).split()[0] for name in names]
        assert sorted(phases) == ["Bound", *["Pending"] * 9]


async def test_a_crowd_of_pairs_is_bound_one_to_one(cluster: Cluster) -> None:
    async with cluster.binder():
        count = 40
        for i in range(count):
            await cluster.api.post(VOLUMES, a_volume(f"v{i}", storage=f"{i + 1}Gi"))
        for i in range(count):
            await cluster.api.post(CLAIMS, a_claim(f"c{i}", storage=f"{i + 1}Gi"))
        await settle(3000)
        bound = [await cluster.claim(f"c{i}") for i in range(count)]
        assert bound == [f"Bound v{i} {i + 1}Gi" for i in range(count)]


async def test_volumes_that_come_one_by_one_serve_a_waiting_crowd(cluster: Cluster) -> None:
    """Each wakes one claim that it fits; none is left over, none is taken twice."""
    async with cluster.binder():
        for i in range(12):
            await cluster.api.post(CLAIMS, a_claim(f"c{i}", storage=f"{i % 3 + 1}Gi"))
        await cluster.settle()
        for i in range(12):
            await cluster.api.post(VOLUMES, a_volume(f"v{i}", storage=f"{i % 3 + 1}Gi"))
        await settle(3000)
        phases = [(await cluster.claim(f"c{i}")).split()[0] for i in range(12)]
        assert phases == ["Bound"] * 12


async def test_the_resync_finds_what_no_event_told_of(cluster: Cluster) -> None:
    cluster.settings = BinderSettings(resync_seconds=60.0)
    async with cluster.binder() as binder:
        await cluster.create(VOLUMES, a_volume())
        await cluster.passes(1)
        queue = binder.queue
        add, queue.add = queue.add, lambda key: None  # type: ignore[method-assign] # deaf
        await cluster.create(CLAIMS, a_claim())
        assert await cluster.claim() == "Pending"
        queue.add = add  # type: ignore[method-assign] # hears again
        await cluster.passes(121)
        assert await cluster.claim() == BOUND
        counted = {metric.name: metric for metric in binder.metrics.collect()}
        assert counted["mooring_binding_resync_caught"].samples[0].value == 1


async def test_conflicts_are_outlasted(cluster: Cluster) -> None:
    cluster.conflicts += [Conflict("changed meanwhile")] * 7
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        await cluster.passes(2)
        assert (await cluster.volume(), await cluster.claim()) == ("Bound ref=data+ BBC", BOUND)


async def test_a_connection_lost_after_the_volume_was_written(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.passes(1)
        cluster.conflicts += [ConnectionLost("gone")] * 3
        await cluster.create(CLAIMS, a_claim())
        await cluster.passes(1)
        assert await cluster.claim() == BOUND


async def test_a_half_bound_volume_that_does_not_fit_keeps_nobody_busy(cluster: Cluster) -> None:
    async with cluster.binder() as binder:
        claim = await cluster.create(CLAIMS, a_claim())
        reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
        await cluster.create(VOLUMES, a_volume(storage="1Mi", claimRef=reference))
        before = binder.queue.counts.adds
        await cluster.passes(60)
        assert binder.queue.counts.adds == before
        assert await cluster.claim() == "Pending"


async def test_a_volume_of_the_wrong_mode_is_told_on_both_sides(cluster: Cluster) -> None:
    async with cluster.binder() as binder:
        claim = await cluster.create(CLAIMS, a_claim(volumeMode="Block"))
        reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
        await cluster.create(VOLUMES, a_volume(claimRef=reference))
        assert len(await cluster.told("VolumeMismatch")) == 2
        before = binder.queue.counts.adds
        await cluster.passes(60)
        assert binder.queue.counts.adds == before


async def test_an_idle_binder_writes_nothing(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim())
        before = cluster.api.parts.backend.store.revision
        await cluster.passes(3600)
        assert cluster.api.parts.backend.store.revision == before


async def test_binding_costs_one_write_on_each_side(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume())
        before = cluster.api.parts.backend.store.revision
        await cluster.create(CLAIMS, a_claim())
        assert await cluster.claim() == BOUND
        assert cluster.api.parts.backend.store.revision == before + 3


@pytest.mark.parametrize(("user", "unused"), [("", "True"), ("data", "False")])
async def test_a_claim_becomes_bound_with_its_use_noted(
    cluster: Cluster, user: str, unused: str
) -> None:
    """In one write, and nobody writes after it."""
    async with cluster.binder():
        await cluster.create(PODS, a_pod(claim=user))
        claim = await cluster.create(CLAIMS, a_claim())
        await cluster.create(VOLUMES, a_volume())
        bound = await cluster.find(CLAIMS, "data")
        assert bound is not None
        (use,) = bound["status"]["conditions"]
        assert (use["type"], use["status"]) == ("Unused", unused)
        after = cluster.api.parts.backend.store.revision
        assert int(bound["metadata"]["resourceVersion"]) == after, "the claim is written last"
        assert "conditions" not in claim["status"]


async def test_a_pod_that_comes_while_its_claim_is_bound_is_noted(cluster: Cluster) -> None:
    """The binder has not heard of it: the protection of claims sets that right."""
    async with cluster.binder():
        await cluster.create(CLAIMS, a_claim())
        await cluster.api.post(VOLUMES, a_volume())
        await cluster.api.post(PODS, a_pod(claim="data"))
        await cluster.settle()
        bound = await cluster.find(CLAIMS, "data")
    assert bound is not None
    assert [one["status"] for one in bound["status"]["conditions"]] == ["False"]


@pytest.mark.parametrize(
    ("chosen", "noted"), [(("binding", "protection"), ["True"]), (("binding",), [])]
)
async def test_use_is_noted_only_beside_who_keeps_it_true(
    cluster: Cluster, chosen: tuple[str, ...], noted: list[str]
) -> None:
    loops = Loops("controllers", cluster.a_client(FOREVER), cluster.clock, Random(1))  # noqa: S311
    controllers.build(loops, NO_OPTIONS, chosen)
    running = asyncio.create_task(loops.run())
    await cluster.settle()
    await cluster.create(VOLUMES, a_volume())
    await cluster.create(CLAIMS, a_claim())
    bound = await cluster.find(CLAIMS, "data")
    assert bound is not None
    assert bound["status"]["phase"] == "Bound"
    assert [one["status"] for one in bound["status"].get("conditions", [])] == noted
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
