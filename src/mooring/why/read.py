"""Reading what an explanation needs, and no more: single objects, and few lists.

Everything is read with the caller's own rights. What may not be read, or is a kind that the server
does not have, is recorded in the world instead.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from mooring.client.contract import EVERYTHING, Listing, Scope, T
from mooring.errors import Forbidden, NotFound
from mooring.model.attachment import Attachment
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.daemon_set import DaemonSet
from mooring.model.deployment import Deployment
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.meta import ApiObject
from mooring.model.modification import is_open
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner
from mooring.model.replica_set import ReplicaSet
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Ref
from mooring.why.kinds import BY_KIND
from mooring.why.world import World, world_of


class Source(Protocol):
    """The part of a client that reads."""

    async def get(self, kind: type[T], key: Key) -> T: ...

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]: ...


class Reading:
    """Collects what was read. Nothing is asked for twice."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._objects: dict[tuple[type[ApiObject], Key], ApiObject] = {}
        self._absent: set[tuple[type[ApiObject], Key]] = set()
        self._whole: set[type[ApiObject]] = set()
        self._unseen: dict[type[ApiObject], str] = {}
        self._listed: set[tuple[type[ApiObject], Scope]] = set()
        self._turns: defaultdict[tuple[type[ApiObject], Scope], asyncio.Lock]
        self._turns = defaultdict(asyncio.Lock)

    async def get(self, kind: type[T], key: Key) -> T | None:
        found = self._objects.get((kind, key))
        if isinstance(found, kind):
            return found
        if not key.name or kind in self._whole or (kind, key) in self._absent:
            return None
        try:
            read = await self._source.get(kind, key)
        except NotFound:
            self._absent.add((kind, key))
            return None
        except Forbidden as error:
            self._unseen[kind] = error.message
            return None
        self._objects[kind, key] = read
        return read

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Sequence[T]:
        """Who asks for the same list meanwhile waits for it."""
        async with self._turns[kind, scope]:
            if (kind, scope) in self._listed:
                return [each for each in self._objects.values() if isinstance(each, kind)]
            self._listed.add((kind, scope))
            return await self._list(kind, scope)

    async def _list(self, kind: type[T], scope: Scope) -> Sequence[T]:
        try:
            listing = await self._source.list(kind, scope)
        except NotFound:
            self._unseen[kind] = "the server does not have this kind"
            return ()
        except Forbidden as error:
            self._unseen[kind] = error.message
            return ()
        if listing.unread:
            self._unseen[kind] = listing.unread[0].why
        for each in listing.readable:
            self._objects[kind, each.key] = each
        if scope == EVERYTHING and not listing.unread:
            self._whole.add(kind)
        return listing.readable

    async def events(self, it: ApiObject | Ref) -> None:
        kind = it.kind if isinstance(it, Ref) else it.resource.kind
        fields = f"involvedObject.name={it.name},involvedObject.kind={kind}"
        await self.list(Event, Scope(namespace=it.namespace or "default", fields=fields))

    def world(self) -> World:
        return world_of(
            self._objects.values(), whole=self._whole, absent=self._absent, unseen=self._unseen
        )


async def read_world(source: Source, subject: Ref) -> World:
    """All that `explain` looks at for this subject."""
    reading = Reading(source)
    key = Key(subject.namespace, subject.name)
    await _READERS[BY_KIND[subject.kind]](reading, key)
    return reading.world()


# one kind each


async def _read_claim(reading: Reading, key: Key) -> None:
    claim, pods, *_ = await asyncio.gather(
        reading.get(Claim, key),
        reading.list(Pod, Scope(namespace=key.namespace)),
        reading.events(Ref(Claim.resource.kind, key.name, key.namespace)),
        reading.list(StorageClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
    )
    if claim is None:
        return
    await _read_binding(reading, claim)
    users = [pod for pod in pods if key in pod.claim_keys()]
    if claim.is_deleting:
        await _read_holders(reading, claim)
    waiting = [pod for pod in users if not is_settled(pod)][:3]
    await asyncio.gather(*(_read_rest_of_pod(reading, pod) for pod in waiting or users[:1]))


async def _read_holders(reading: Reading, claim: Claim) -> None:
    """What else than pods may hold a claim that is being deleted."""
    scope = Scope(namespace=claim.namespace)
    others = [name for name in claim.metadata.finalizers if "as-source" in name]
    if others:
        await reading.list(Snapshot, scope)
    if any("cloning" in name for name in claim.metadata.finalizers):
        await reading.list(Claim, scope)


async def _read_binding(reading: Reading, claim: Claim) -> None:
    """The volume of a claim, or those that it could have; and what it is to be filled from."""
    if not claim.is_bound and claim.name[-1:].isdigit():  # as a stateful set calls its claims
        await reading.list(StatefulSet, Scope(namespace=claim.namespace))
    if claim.spec.volume_name:
        volume = await reading.get(Volume, Key("", claim.spec.volume_name))
        if volume is not None and claim.is_bound:
            if is_open(claim):
                await reading.list(AttributesClass)
            return
    elif await _is_provisioned(reading, claim):
        await reading.list(StorageCapacity)
    else:
        await reading.list(Volume)
    data = claim.spec.data_source or claim.spec.data_source_ref
    if data is not None:
        key = Key(data.namespace or claim.namespace, data.name)
        if data.kind == Snapshot.resource.kind:
            await _read_snapshot(reading, key)
        elif data.kind == Claim.resource.kind:
            await reading.get(Claim, key)


async def _is_provisioned(reading: Reading, claim: Claim) -> bool:
    """Its class has a provisioner that is known here: volumes made by hand need not be read."""
    chosen = await reading.get(StorageClass, Key("", claim.storage_class))
    if chosen is None or not chosen.provisions:
        return False
    nodes = await reading.list(CsiNode)
    known = {driver.name for node in nodes for driver in node.spec.drivers or ()}
    return chosen.provisioner in known


def is_settled(pod: Pod) -> bool:
    """It runs, or has ended: it waits for nothing."""
    return pod.is_finished or (
        bool(pod.status.container_statuses)
        and all(one.state.running is not None for one in pod.status.container_statuses)
        and not pod.is_deleting
    )


async def read_pod(reading: Reading, key: Key) -> None:
    pod, *_ = await asyncio.gather(
        reading.get(Pod, key),
        reading.list(StorageClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
    )
    if pod is not None:
        await _read_rest_of_pod(reading, pod)


async def _read_rest_of_pod(reading: Reading, pod: Pod) -> None:
    claims = await asyncio.gather(
        reading.events(pod), *(reading.get(Claim, key) for key in pod.claim_keys())
    )
    mine = [claim for claim in claims if isinstance(claim, Claim)]
    if any(volume.ephemeral is not None for volume in pod.spec.volumes):
        from mooring.why.read_pointed import read_webhooks

        await read_webhooks(reading)
    await asyncio.gather(
        *(_read_binding(reading, claim) for claim in mine),
        *(reading.events(claim) for claim in mine if not claim.is_bound),
    )
    if pod.is_scheduled:
        node = await reading.get(Node, Key("", pod.spec.node_name))
        if not is_settled(pod) and mine:
            # Another node may have its volume, for the pods that want it there.
            await asyncio.gather(
                reading.list(Attachment), reading.list(Pod, Scope(namespace=pod.namespace))
            )
            await _read_nodes_of(reading, mine)
        from mooring.why.read_pointed import read_plugins

        await read_plugins(reading, pod)
        if node is not None and not node.is_ready:
            await reading.get(Lease, Key("kube-node-lease", node.name))
        return
    await asyncio.gather(
        reading.list(Node),
        reading.list(CsiNode),
        reading.list(DisruptionBudget),
        reading.list(Pod, Scope(fields="status.phase!=Succeeded,status.phase!=Failed")),
        reading.list(StorageCapacity),
        reading.list(Namespace),
        reading.list(Attachment),
    )
    if mine:
        from mooring.why.read_pointed import read_full_nodes, read_required_plugins

        await asyncio.gather(read_full_nodes(reading, mine), read_required_plugins(reading, mine))


async def _read_nodes_of(reading: Reading, claims: Iterable[Claim]) -> None:
    names = {claim.spec.volume_name for claim in claims if claim.spec.volume_name}
    attachments = await reading.list(Attachment)
    nodes = {one.spec.node_name for one in attachments if one.volume_name in names}
    await asyncio.gather(*(reading.get(Node, Key("", name)) for name in nodes))


async def _read_volume(reading: Reading, key: Key) -> None:
    volume, *_ = await asyncio.gather(
        reading.get(Volume, key),
        reading.events(Ref(Volume.resource.kind, key.name)),
        reading.list(StorageClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
        reading.list(Attachment),
    )
    if volume is None:
        return
    if volume.spec.claim_ref is not None:
        await reading.get(Claim, volume.spec.claim_ref.key)
    nodes = {one.spec.node_name for one in await reading.list(Attachment)}
    if len(nodes) < 100:
        await asyncio.gather(*(reading.get(Node, Key("", name)) for name in nodes))


async def _read_attachment(reading: Reading, key: Key) -> None:
    attachment, *_ = await asyncio.gather(
        reading.get(Attachment, key),
        reading.events(Ref(Attachment.resource.kind, key.name)),
        reading.list(CsiDriver),
    )
    if attachment is None:
        return
    node = attachment.spec.node_name
    volume, *_ = await asyncio.gather(
        reading.get(Volume, Key("", attachment.volume_name)),
        reading.get(Node, Key("", node)),
        reading.get(CsiNode, Key("", node)),
        reading.list(Pod, Scope(fields=f"spec.nodeName={node}")),
    )
    if volume is not None and volume.spec.claim_ref is not None:
        await reading.get(Claim, volume.spec.claim_ref.key)


async def _read_node(reading: Reading, key: Key) -> None:
    await asyncio.gather(
        reading.get(Node, key),
        reading.get(CsiNode, key),
        reading.get(Lease, Key("kube-node-lease", key.name)),
        reading.list(Pod, Scope(fields=f"spec.nodeName={key.name}")),
        reading.list(CsiDriver),
        reading.list(Attachment),
        reading.events(Ref(Node.resource.kind, key.name)),
    )


async def _read_snapshot(reading: Reading, key: Key) -> None:
    snapshot, *_ = await asyncio.gather(
        reading.get(Snapshot, key),
        reading.events(Ref(Snapshot.resource.kind, key.name, key.namespace)),
        reading.list(SnapshotClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
    )
    if snapshot is None:
        return
    source = snapshot.spec.source
    content = (
        source.volume_snapshot_content_name
        or snapshot.content_name
        or f"snapcontent-{snapshot.uid}"
    )
    claim, *_ = await asyncio.gather(
        reading.get(Claim, Key(key.namespace, source.persistent_volume_claim_name or "")),
        reading.get(SnapshotContent, Key("", content)),
    )
    if claim is not None:
        await asyncio.gather(
            reading.get(Volume, Key("", claim.spec.volume_name)), reading.list(StorageClass)
        )
    if snapshot.is_deleting:
        await reading.list(Claim, Scope(namespace=key.namespace))


async def _read_class(reading: Reading, key: Key) -> None:
    await asyncio.gather(
        reading.list(StorageClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
        reading.list(Claim),
    )


async def _read_driver(reading: Reading, key: Key) -> None:
    await asyncio.gather(
        reading.list(StorageClass),
        reading.list(CsiDriver),
        reading.list(CsiNode),
        reading.list(Node),
        reading.list(Lease),
    )
    if all(node.find_driver(key.name) is None for node in reading.world().all(CsiNode)):
        await asyncio.gather(reading.list(Pod), reading.list(DaemonSet))


def _workload_reader(
    kind: type[PodOwner] | type[Deployment],
) -> Callable[[Reading, Key], Awaitable[None]]:
    async def read(reading: Reading, key: Key) -> None:
        from mooring.why.read_workload import read_workload

        await read_workload(reading, kind, key)

    return read


async def _read_namespace(reading: Reading, key: Key) -> None:
    from mooring.why.read_workload import read_namespace

    await read_namespace(reading, key)


_READERS = {
    Claim: _read_claim,
    Volume: _read_volume,
    Pod: read_pod,
    Attachment: _read_attachment,
    Node: _read_node,
    Snapshot: _read_snapshot,
    StorageClass: _read_class,
    CsiDriver: _read_driver,
    StatefulSet: _workload_reader(StatefulSet),
    Deployment: _workload_reader(Deployment),
    ReplicaSet: _workload_reader(ReplicaSet),
    DaemonSet: _workload_reader(DaemonSet),
    Namespace: _read_namespace,
}
