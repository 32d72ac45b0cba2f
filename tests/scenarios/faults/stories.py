"""What controllers go through in tests of faults, and how each story ends."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, Doc, a_claim, a_class, a_volume
from tests.scenarios.binding.cluster import FAKE
from tests.scenarios.faults.world import World

HOST_PATH = {"path": "/tmp/disk"}  # noqa: S108 - a name in a document
FLEX = {"driver": "example.com/flex"}


async def bind(world: World) -> None:
    await world.create(VOLUMES, a_volume())
    await world.create(CLAIMS, a_claim())
    await world.create(CLAIMS, a_claim("late"))


async def reserve(world: World) -> None:
    await world.create(VOLUMES, a_volume(claimRef={"namespace": "default", "name": "data"}))
    await world.passes(1)
    await world.create(CLAIMS, a_claim())


async def ask_by_name(world: World) -> None:
    await world.create(CLAIMS, a_claim(volumeName="disk"))
    await world.create(VOLUMES, a_volume())


async def provision(world: World) -> None:
    await world.create(CLASSES, a_class() | {"provisioner": FAKE})
    await world.create(CLAIMS, a_claim(storageClassName="fast"))


async def default_class(world: World) -> None:
    await world.create(CLAIMS, a_claim())
    await world.create(CLASSES, a_class(is_default=True) | {"provisioner": FAKE})


async def delete(world: World) -> None:
    await provision(world)
    await world.delete(CLAIMS, "data")


async def delete_made_by_hand(world: World) -> None:
    await release(world, persistentVolumeReclaimPolicy="Delete", csi=None, hostPath=HOST_PATH)


async def retain(world: World) -> None:
    await release(world)


async def recycle(world: World) -> None:
    await release(world, persistentVolumeReclaimPolicy="Recycle", csi=None, hostPath=HOST_PATH)
    await world.run_pods()


async def recycle_reserved(world: World) -> None:
    await release(
        world,
        persistentVolumeReclaimPolicy="Recycle",
        csi=None,
        hostPath=HOST_PATH,
        claimRef={"namespace": "default", "name": "data"},
    )
    await world.run_pods()


async def expand(world: World) -> None:
    await world.create(CLASSES, a_class(allowVolumeExpansion=True))
    volume = a_volume(storage="5Gi", storageClassName="fast", csi=None, flexVolume=FLEX)
    await world.create(VOLUMES, volume | {"spec": volume["spec"] | {"volumeMode": "Block"}})
    claim = a_claim(storage="5Gi", storageClassName="fast", volumeMode="Block")
    await world.create(CLAIMS, claim)
    await ask_for_more(world)


async def ask_for_more(world: World) -> None:
    """People ask as soon as they may."""
    if (await world.claim()).startswith("Bound"):
        more: Doc = {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}
        await world.patch(CLAIMS, "data", more)


async def superfluous(world: World) -> None:
    """Made for a claim that meanwhile found another volume."""
    await world.create(VOLUMES, a_volume())
    claim = await world.create(CLAIMS, a_claim())
    reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
    second = a_volume("second", "1Mi", claimRef=reference)
    second["metadata"]["annotations"] = {"pv.kubernetes.io/bound-by-controller": "yes"}
    await world.create(VOLUMES, second)


async def release(world: World, **spec: Any) -> None:
    await world.create(VOLUMES, a_volume(**spec))
    await world.create(CLAIMS, a_claim())
    await world.delete(CLAIMS, "data")


Act = Callable[[World], Awaitable[None]]


class Story(NamedTuple):
    happens: Act
    steps: tuple[int, int]  # with object and status in one write, and with two as over HTTP
    volumes: list[str]
    claims: list[str]
    later: Act | None = None  # what people do once more when all is well again
    wipes: bool = False  # nothing is offered anew that was not emptied


BOUND = ["Bound ref=data+ BBC"]
STORIES: dict[str, Story] = {
    "binding": Story(bind, (3, 5), BOUND, ["Bound disk 5Gi", "Pending"]),
    "binding a reserved volume": Story(reserve, (3, 5), ["Bound ref=data+"], ["Bound disk 5Gi"]),
    "binding a volume asked for": Story(ask_by_name, (2, 4), BOUND, ["Bound disk 5Gi"]),
    "making a volume": Story(provision, (7, 8), BOUND, ["Bound pvc 1Gi"]),
    "making one of the default class": Story(default_class, (9, 10), BOUND, ["Bound pvc 1Gi"]),
    "deleting a volume made here": Story(delete, (16, 17), [], []),
    "deleting a volume made by hand": Story(delete_made_by_hand, (8, 10), [], []),
    "keeping a volume": Story(retain, (4, 6), ["Released ref=data+ BBC"], []),
    "recycling a volume": Story(recycle, (8, 11), ["Available"], [], wipes=True),
    "recycling a reserved volume": Story(
        recycle_reserved, (8, 11), ["Available ref=data"], [], wipes=True
    ),
    "expanding a volume": Story(expand, (6, 8), BOUND, ["Bound disk 10Gi"], ask_for_more),
    "letting go of a second volume": Story(
        superfluous, (3, 6), [*BOUND, "Available"], ["Bound disk 5Gi"]
    ),
}


async def how_it_ended(world: World) -> tuple[list[str], list[str]]:
    """Volumes and claims; volumes made on demand have names that differ from case to case."""
    volumes, claims = await world.shown()
    return volumes, [_without_uid(claim) for claim in claims]


def _without_uid(claim: str) -> str:
    """Volumes made on demand have names that differ from case to case."""
    words = claim.split()
    return " ".join("pvc" if word.startswith("pvc-") else word for word in words)
