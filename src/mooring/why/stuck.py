"""Everything that waits or is broken, in a namespace or the whole cluster."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from mooring.client.contract import Scope
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.event import Event
from mooring.model.meta import ApiObject
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Answer, Verdict
from mooring.why.explain import explain
from mooring.why.found import ref
from mooring.why.read import Reading, Source, is_settled
from mooring.why.world import World

MOST_TOLD = 200  # answers
MOST_SECONDS = 20.0  # to work them out


class Untold(msgspec.Struct, frozen=True):
    """How many objects were not looked at."""

    count: int


_NAMESPACED = (Claim, Pod, Snapshot)
_CLUSTER = (
    *(Volume, Attachment, Node, StorageClass, CsiDriver, CsiNode),
    *(SnapshotClass, SnapshotContent, StorageCapacity, Namespace),
)


async def read_everything(source: Source, namespace: str) -> World:
    """All that `find_stuck` looks at; an empty namespace is all of them."""
    reading = Reading(source)
    scope = Scope(namespace=namespace)
    await asyncio.gather(
        *(reading.list(kind, scope) for kind in _NAMESPACED),
        *(reading.list(kind) for kind in _CLUSTER),
        reading.list(Event, Scope(namespace=namespace, fields="type=Warning")),
    )
    return reading.world()


def find_stuck(
    world: World, namespace: str, now: datetime, is_late: Callable[[], bool] = lambda: False
) -> Iterator[Answer | Untold]:
    """The answer for each object that waits; what waits for another one only is left out.

    When it is late, or enough is told, the rest is counted.
    """
    told: set[str] = set()
    suspects = list(_suspects(world, namespace))
    for at, it in enumerate(suspects):
        if len(told) >= MOST_TOLD or is_late():
            yield Untold(len(suspects) - at)
            return
        answer = explain(world, ref(it), now)
        if answer.verdict is Verdict.FINE:
            continue
        if answer.summary in told:
            continue  # the same cause, seen from the claim and from its pod
        told.add(answer.summary)
        yield answer


def _suspects(world: World, namespace: str) -> Iterator[ApiObject]:
    yield from (claim for claim in world.all(Claim) if not _is_well(claim))
    yield from (pod for pod in world.all(Pod) if not is_settled(pod))
    yield from (each for each in world.all(Snapshot) if not each.is_ready or each.is_deleting)
    if namespace:
        return
    yield from (each for each in world.all(Volume) if not _is_kept(world, each))
    yield from (each for each in world.all(Attachment) if not each.is_attached or each.is_deleting)
    yield from (node for node in world.all(Node) if not node.is_ready)


def _is_well(claim: Claim) -> bool:
    return claim.is_bound and not claim.is_deleting and claim.requested <= claim.capacity


def _is_kept(world: World, volume: Volume) -> bool:
    """It is free, or bound to a claim that exists."""
    reference = volume.spec.claim_ref
    if volume.is_deleting or reference is None:
        return not volume.is_deleting
    return volume.is_bound and world.find(Claim, reference.key) is not None
