"""Provisioners that fail, hang or answer twice; claims and classes that vanish meanwhile."""

import asyncio
from typing import Any

import pytest

from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, Doc, a_claim, a_class, a_volume
from tests.scenarios.binding.cluster import FAKE
from tests.scenarios.faults.world import World

IN_TREE = a_class() | {"provisioner": FAKE}
KEEPING = IN_TREE | {"reclaimPolicy": "Retain"}
FAST = a_claim(storageClassName="fast")
HOUR = 3600
NOT_FOUND = ("Warning", "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found')


async def volume_of(world: World) -> str:
    """The name of the volume that is made for the claim."""
    doc = await world.find(CLAIMS, "data")
    assert doc is not None
    return f"pvc-{doc['metadata']['uid']}"


def hang(world: World) -> asyncio.Event:
    world.plugin.hangs = asyncio.Event()
    return world.plugin.hangs


async def test_one_that_always_fails_is_asked_less_and_less_often(world: World) -> None:
    world.plugin.failures = [PluginError("no room")] * 1000
    async with world.binder() as binder:
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
        await world.passes(HOUR)
        assert len(world.plugin.provisioned) <= 45
        assert binder.queue.counts.adds <= 150
        assert await world.told() == [
            (
                "Warning",
                "ProvisioningFailed",
                'Failed to provision volume with StorageClass "fast": no room',
            )
        ]
        world.plugin.failures.clear()
        await world.passes(130)
        assert await world.claim() == f"Bound {await volume_of(world)} 1Gi"
        await world.check()


async def test_one_that_hangs_is_asked_once_and_another_process_asks_again(world: World) -> None:
    gate = hang(world)
    async with world.binder():
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
        await world.passes(HOUR)
        assert len(world.plugin.provisioned) == 1
    gate.set()
    async with world.binder():
        await world.passes(1)
        name = await volume_of(world)
        assert await world.claim() == f"Bound {name} 1Gi"
        assert world.plugin.assets == {name}


async def test_one_that_answers_again_after_a_restart_has_made_one_volume(world: World) -> None:
    """The order before a crash, and the same order after it."""
    async with world.binder(writes=3):  # it dies with the volume made and nobody told
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
    assert len(world.plugin.assets) == 1
    async with world.binder():
        await world.passes(1)
        name = await volume_of(world)
        assert world.plugin.provisioned == [name, name]
        assert [doc["metadata"]["name"] for doc in await world.all(VOLUMES)] == [name]
        assert await world.claim() == f"Bound {name} 1Gi"


async def test_two_processes_at_once_end_with_one_volume(world: World) -> None:
    async with world.binder():
        first = world.trouble
        async with world.binder():
            await world.create(CLASSES, IN_TREE)
            await world.create(CLAIMS, FAST)
            for _ in range(20):
                await world.passes(1)
                await world.check()
            name = await volume_of(world)
            assert await world.shown() == (["Bound ref=data+ BBC"], [f"Bound {name} 1Gi"])
            before = first.writes() + world.trouble.writes()
            await world.passes(60)
            assert first.writes() + world.trouble.writes() == before, "they leave each other alone"


TWICE: dict[str, tuple[Doc, str]] = {
    "made outside and to be deleted: left to whoever made it": (
        {"persistentVolumeReclaimPolicy": "Delete"},
        "Released ref=data+",
    ),
    "made outside and to be kept: offered to the claim's next namesake": (
        {"persistentVolumeReclaimPolicy": "Retain"},
        "Available ref=data",
    ),
}


@pytest.mark.parametrize(("spec", "then"), TWICE.values(), ids=TWICE)
async def test_a_provisioner_outside_that_answers_twice(
    world: World, spec: dict[str, Any], then: str
) -> None:
    async with world.binder():
        await world.create(CLASSES, a_class())
        claim = await world.create(CLAIMS, FAST)
        for name in ("first", "second"):
            reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
            made = a_volume(name, claimRef=reference, storageClassName="fast", **spec)
            made["metadata"]["annotations"] = {Annotation.PROVISIONED_BY: "d.example.com"}
            await world.create(VOLUMES, made)
        await world.passes(5)
        assert await world.claim() == "Bound first 5Gi"
        assert await world.volume("second") == then
        await world.check()


@pytest.mark.parametrize(
    ("made", "left"),
    [
        pytest.param(IN_TREE, [], id="to be deleted: nothing is left"),
        pytest.param(KEEPING, ["Released ref=data+ BBC"], id="to be kept: it is kept"),
    ],
)
async def test_a_claim_deleted_while_its_volume_is_made(
    world: World, made: Doc, left: list[str]
) -> None:
    gate = hang(world)
    async with world.binder():
        await world.create(CLASSES, made)
        await world.create(CLAIMS, FAST)
        await world.delete(CLAIMS, "data")
        assert await world.claim() == "gone"
        gate.set()
        await world.passes(5)
        assert await world.shown() == (left, [])
        assert len(world.plugin.assets) == len(left)


async def test_a_claim_replaced_while_its_volume_is_made_gets_one_of_its_own(world: World) -> None:
    gate = hang(world)
    async with world.binder():
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
        old = await volume_of(world)
        await world.delete(CLAIMS, "data")
        await world.create(CLAIMS, FAST)
        new = await volume_of(world)
        gate.set()
        await world.passes(5)
        assert old != new
        assert await world.claim() == f"Bound {new} 1Gi"
        assert world.plugin.assets == {new}
        await world.check()


async def test_a_class_with_a_policy_nobody_knows_makes_nothing(world: World) -> None:
    async with world.binder():
        await world.create(CLASSES, IN_TREE)
        await world.scribble(StorageClass.resource, "fast", {"reclaimPolicy": "Compost"})
        await world.create(CLAIMS, FAST)
        await world.passes(60)
        message = 'StorageClass "fast" has an unknown reclaimPolicy "Compost"'
        assert await world.told() == [("Warning", "ProvisioningFailed", message)]
        assert world.plugin.provisioned == []


async def test_a_class_that_disappears_while_a_volume_is_made(world: World) -> None:
    gate = hang(world)
    async with world.binder():
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
        await world.delete(CLASSES, "fast")
        gate.set()
        await world.passes(5)
        assert await world.claim() == f"Bound {await volume_of(world)} 1Gi"
        await world.delete(CLAIMS, "data")
        await world.passes(5)
        assert await world.shown() == ([], [])
        assert world.plugin.assets == set(), "what it made is still its to delete"


async def test_a_class_that_disappears_between_two_tries_is_told_and_not_asked_after(
    world: World,
) -> None:
    world.plugin.failures = [PluginError("no room")] * 3
    async with world.binder() as binder:
        await world.create(CLASSES, IN_TREE)
        await world.create(CLAIMS, FAST)
        await world.delete(CLASSES, "fast")
        await world.passes(5)
        assert (await world.told())[-1] == NOT_FOUND
        before = (binder.queue.counts.adds, world.trouble.writes(), len(world.plugin.provisioned))
        await world.passes(500)
        after = (binder.queue.counts.adds, world.trouble.writes(), len(world.plugin.provisioned))
        assert after == before
        world.plugin.failures.clear()
        await world.create(CLASSES, IN_TREE)
        await world.passes(5)
        assert await world.claim() == f"Bound {await volume_of(world)} 1Gi"


async def test_a_class_that_disappears_while_somebody_outside_makes_the_volume(
    world: World,
) -> None:
    async with world.binder():
        await world.create(CLASSES, a_class())
        claim = await world.create(CLAIMS, FAST)
        await world.delete(CLASSES, "fast")
        assert (await world.told())[-1] == NOT_FOUND
        reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
        await world.create(VOLUMES, a_volume(claimRef=reference, storageClassName="fast"))
        assert await world.claim() == "Bound disk 5Gi"
