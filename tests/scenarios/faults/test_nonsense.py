"""Volumes that somebody edited into nonsense: people are told, nothing is hot, no data goes."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from mooring.controllers.binding.run import BinderSettings
from mooring.model.claim import Claim
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from tests.fakes.lagging import reflector_of
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, Doc, a_claim, a_class, a_volume
from tests.scenarios.faults.world import World

HOST_PATH = {"path": "/tmp/disk"}  # noqa: S108 - a name in a document
MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
HELD = 'Claim "default/data" is bound to this volume, but spec.claimRef does not name it'
LOST_CLAIM = ("Warning", "ClaimMisbound", MISBOUND)
HELD_VOLUME = ("Warning", "ClaimMisbound", HELD)
POLICIES = ("Delete", "Recycle", "Retain")

Edit = Callable[[World], Awaitable[None]]


def a_disk(policy: str, **spec: Any) -> Doc:
    spec.setdefault("hostPath", HOST_PATH)
    return a_volume(persistentVolumeReclaimPolicy=policy, csi=None, **spec)


def of_spec(**change: Any) -> Edit:
    async def edit(world: World) -> None:
        await world.patch(VOLUMES, "disk", {"spec": change})

    return edit


def of_status(**change: Any) -> Edit:
    async def edit(world: World) -> None:
        await world.patch(VOLUMES, "disk", {"status": change}, "/status")

    return edit


def in_the_database(**change: Any) -> Edit:
    async def edit(world: World) -> None:
        await world.scribble(Volume.resource, "disk", change)

    return edit


async def to_the_other_claims_uid(world: World) -> None:
    other = await world.find(CLAIMS, "other")
    assert other is not None
    await of_spec(claimRef={"uid": other["metadata"]["uid"]})(world)


async def to_the_other_claim(world: World) -> None:
    other = await world.find(CLAIMS, "other")
    assert other is not None
    await of_spec(claimRef={"name": "other", "uid": other["metadata"]["uid"]})(world)


class Row(NamedTuple):
    edit: Edit
    volume: str
    claim: str
    events: tuple[tuple[str, str, str], ...] = ()
    retained: str = ""  # what becomes of it when its policy destroys nothing, if that differs


BOUND = ("Bound ref=data+ BBC", "Bound disk 5Gi")
EDITS: dict[str, Row] = {
    "its claim's uid is another claim's": Row(
        to_the_other_claims_uid,
        BOUND[0],
        "Lost disk",
        (LOST_CLAIM, HELD_VOLUME),
        "Released ref=data+ BBC",
    ),
    "its claim's uid is nobody's": Row(
        of_spec(claimRef={"uid": "made-up"}),
        BOUND[0],
        "Lost disk",
        (LOST_CLAIM, HELD_VOLUME),
        "Released ref=data+ BBC",
    ),
    "its claim's name is misspelt: it is put right": Row(
        of_spec(claimRef={"name": "dato"}), *BOUND
    ),
    "it names a claim that does not exist": Row(
        of_spec(claimRef={"name": "ghost", "uid": "made-up"}),
        "Bound ref=ghost+ BBC",
        "Lost disk",
        (LOST_CLAIM, HELD_VOLUME),
        "Released ref=ghost+ BBC",
    ),
    "its claim's uid is taken away": Row(
        of_spec(claimRef={"uid": None}), "Available ref=data BBC", "Lost disk", (LOST_CLAIM,)
    ),
    "its claim is taken away: it gets it back": Row(of_spec(claimRef=None), *BOUND),
    "its phase is Available: it is put right": Row(of_status(phase="Available"), *BOUND),
    "its phase is Released: it is put right": Row(of_status(phase="Released"), *BOUND),
    "its phase is Failed: it is put right": Row(of_status(phase="Failed"), *BOUND),
    "its phase is no phase: it is put right": Row(of_status(phase="Melted"), *BOUND),
    "its class changes": Row(of_spec(storageClassName="gold"), *BOUND),
    "its access modes change": Row(of_spec(accessModes=["ReadOnlyMany"]), *BOUND),
    "it shrinks": Row(of_spec(capacity={"storage": "1Mi"}), *BOUND),
    "its capacity is gone": Row(in_the_database(spec={"capacity": None}), *BOUND),
    "its policy is unknown": Row(
        in_the_database(spec={"persistentVolumeReclaimPolicy": "Compost"}), *BOUND
    ),
    "its mode is unknown": Row(in_the_database(spec={"volumeMode": "Tape"}), *BOUND),
    "its access modes are unknown": Row(in_the_database(spec={"accessModes": ["Twice"]}), *BOUND),
    "its provisioner is a plugin that never made it": Row(
        in_the_database(metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "x"}}), *BOUND
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("row", EDITS.values(), ids=EDITS)
async def test_a_bound_volume(world: World, row: Row, policy: str) -> None:
    world.settings = BinderSettings(resync_seconds=60.0)
    then, events = (row.volume, row.claim), set(row.events)
    if policy == "Retain" and row.retained:
        then, events = (row.retained, row.claim), events - {HELD_VOLUME}
    async with world.binder() as binder:
        await world.create(VOLUMES, a_disk(policy))
        await world.create(CLAIMS, a_claim())
        await world.create(CLAIMS, a_claim("other"))
        assert (await world.volume(), await world.claim()) == BOUND
        await row.edit(world)
        await world.passes(5)
        assert (await world.volume(), await world.claim()) == then
        told = await world.told("ClaimMisbound", "ClaimLost", "VolumeMismatch")
        assert set(told) == events
        await stays_cool(world, binder)
        assert (await world.volume(), await world.claim()) == then
    assert (world.plugin.deleted, world.wiped) == ([], []), "data went"
    assert await world.claim("other") == "Pending", "somebody else got the data"


async def stays_cool(world: World, binder: Any) -> None:
    """An hour, with the resync looking at everything once a minute."""
    trouble, queue = world.trouble, binder.queue
    writes, events, looks = trouble.writes(), trouble.events(), queue.counts.adds
    await world.passes(3600)
    assert trouble.writes() - writes <= 45, "more often than an operation that always fails"
    assert trouble.events() - events <= 2 * 60
    assert queue.counts.adds - looks <= 4 * 60 + 20


async def test_a_volume_handed_to_another_claim_is_that_claims(world: World) -> None:
    """Name and uid agree, and the other claim has nothing: no nonsense, but somebody's wish."""
    async with world.binder():
        await world.create(VOLUMES, a_disk("Delete"))
        await world.create(CLAIMS, a_claim())
        await world.create(CLAIMS, a_claim("other"))
        await to_the_other_claim(world)
        await world.passes(5)
        assert await world.claim() == "Lost disk"
        assert await world.claim("other") == "Bound disk 5Gi"
        assert await world.told("ClaimMisbound") == [LOST_CLAIM]
        assert world.plugin.deleted == []
        await world.check()


async def test_a_volume_put_right_again_is_bound_again(world: World) -> None:
    async with world.binder():
        await world.create(VOLUMES, a_disk("Delete"))
        claim = await world.create(CLAIMS, a_claim())
        await world.patch(VOLUMES, "disk", {"spec": {"claimRef": {"uid": "made-up"}}})
        assert await world.claim() == "Lost disk"
        uid = claim["metadata"]["uid"]
        await world.patch(VOLUMES, "disk", {"spec": {"claimRef": {"uid": uid}}})
        await world.passes(2)
        assert (await world.volume(), await world.claim()) == BOUND


async def test_a_volume_is_released_when_the_claim_that_held_it_goes(world: World) -> None:
    async with world.binder():
        await world.create(VOLUMES, a_disk("Delete"))
        await world.create(CLAIMS, a_claim())
        await world.patch(VOLUMES, "disk", {"spec": {"claimRef": {"uid": "made-up"}}})
        await world.delete(CLAIMS, "data")
        await world.passes(2)
        assert await world.volume() == "gone"
        assert world.plugin.deleted == ["disk"]


async def test_a_policy_changed_at_the_last_moment_counts(world: World) -> None:
    """The claim's end is seen before the change of the policy is."""
    async with world.binder() as binder:
        await world.create(VOLUMES, a_disk("Delete"))
        await world.create(CLAIMS, a_claim())
        volumes = reflector_of(binder._caches.volumes)
        absorb = volumes.absorb
        volumes.absorb = lambda change: None  # type: ignore[method-assign] # a watch that lags
        await world.patch(VOLUMES, "disk", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
        await world.delete(CLAIMS, "data")
        await world.passes(30)
        volumes.absorb = absorb  # type: ignore[method-assign] # it catches up
        await world.patch(VOLUMES, "disk", {"metadata": {"labels": {"a": "b"}}})
        await world.passes(1)
        assert await world.volume() == "Released ref=data+ BBC"
        assert world.plugin.deleted == []


async def test_a_free_volume_without_a_capacity_is_nobodys_and_says_why(world: World) -> None:
    async with world.binder() as binder:
        reserved = a_disk("Retain", claimRef={"namespace": "default", "name": "data"})
        await world.create(VOLUMES, reserved)
        await world.passes(1)
        await world.scribble(Volume.resource, "disk", {"spec": {"capacity": None}})
        await world.create(CLAIMS, a_claim(volumeName="disk"))
        await world.passes(5)
        assert await world.claim() == "Pending disk"
        message = 'PersistentVolume "disk" is without a storage capacity'
        assert await world.told() == [("Warning", "FailedBinding", message)]
        await stays_cool(world, binder)


UNKNOWN: dict[str, tuple[Any, str, Doc]] = {
    "a volume's phase": (Volume.resource, "strange", {"status": {"phase": "Melted"}}),
    "a volume's policy": (
        Volume.resource,
        "strange",
        {"spec": {"persistentVolumeReclaimPolicy": "Compost"}},
    ),
    "a volume's access mode": (Volume.resource, "strange", {"spec": {"accessModes": ["Twice"]}}),
    "a volume's mode": (Volume.resource, "strange", {"spec": {"volumeMode": "Tape"}}),
    "a claim's phase": (Claim.resource, "strange", {"status": {"phase": "Dreaming"}}),
    "a claim's access mode": (Claim.resource, "strange", {"spec": {"accessModes": ["Twice"]}}),
    "a claim's mode": (Claim.resource, "strange", {"spec": {"volumeMode": "Tape"}}),
    "a class's policy": (StorageClass.resource, "strange", {"reclaimPolicy": "Compost"}),
    "a class's binding mode": (
        StorageClass.resource,
        "strange",
        {"volumeBindingMode": "AtFullMoon"},
    ),
}


@pytest.mark.parametrize(("resource", "name", "change"), UNKNOWN.values(), ids=UNKNOWN)
async def test_a_word_that_nobody_knows_holds_up_nobody_else(
    world: World, resource: Any, name: str, change: Doc
) -> None:
    """Neither when it is there at the start, nor when it comes."""
    await world.create(CLASSES, a_class("strange"))
    await world.create(VOLUMES, a_volume("strange", "1Mi", storageClassName="strange"))
    await world.create(CLAIMS, a_claim("strange", storageClassName="strange"))
    await world.scribble(resource, name, change)
    async with world.binder() as binder:
        await world.scribble(resource, name, change | {"metadata": {"labels": {"a": "b"}}})
        await world.create(VOLUMES, a_volume())
        await world.create(CLAIMS, a_claim())
        await world.passes(2)
        assert await world.claim() == "Bound disk 5Gi"
        await stays_cool(world, binder)


async def test_a_policy_that_nobody_knows_is_told_once_and_the_volume_kept(
    world: World,
) -> None:
    async with world.binder():
        await world.create(VOLUMES, a_disk("Delete"))
        await world.create(CLAIMS, a_claim())
        strange = {"spec": {"persistentVolumeReclaimPolicy": "Compost"}}
        await world.scribble(Volume.resource, "disk", strange)
        await world.delete(CLAIMS, "data")
        await world.passes(700)
        assert await world.volume() == "Failed ref=data+ BBC"
        assert await world.told() == [
            (
                "Warning",
                "VolumeUnknownReclaimPolicy",
                "Volume has unrecognized PersistentVolumeReclaimPolicy",
            )
        ]
        assert world.plugin.deleted == []


async def test_a_volume_in_a_phase_nobody_knows_is_not_let_go(world: World) -> None:
    """Protection cannot know whether a claim is bound to it; the binder finds out."""
    async with world.binder():
        await world.create(VOLUMES, a_disk("Delete"))
        await world.create(CLAIMS, a_claim())
        await world.patch(VOLUMES, "disk", {"status": {"phase": "Melted"}}, "/status")
        await world.delete(VOLUMES, "disk")
        await world.passes(2)
        assert (await world.volume(), await world.claim()) == BOUND
