"""What a provisioner watches; many drivers share one of these."""

from collections.abc import Iterable
from typing import Final

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.may_destroy import Handle, handle_of
from mooring.model.node import Node
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.sidecars.indexes import BY_VOLUME, volumes_of
from mooring.sidecars.watched import Watched

BY_UID: Final = "uid"
BY_CLASS: Final = "class"
BY_SOURCE: Final = "source"  # kind, namespace and name of what a claim is to be filled with
BY_HANDLE: Final = "handle"  # driver and handle of a volume


class Caches:
    def __init__(
        self,
        claims: Watched[Claim],
        volumes: Watched[Volume],
        classes: Watched[StorageClass],
        nodes: Watched[Node],
        csi_nodes: Watched[CsiNode],
        attachments: Watched[Attachment],
    ) -> None:
        self.claims = claims
        self.volumes = volumes
        self.classes = classes
        self.nodes = nodes
        self.csi_nodes = csi_nodes
        self.attachments = attachments
        claims.cache.add_index(BY_UID, lambda claim: (claim.uid,))
        claims.cache.add_index(BY_CLASS, lambda claim: (claim.storage_class,))
        claims.cache.add_index(BY_SOURCE, _sources)
        volumes.cache.add_index(BY_HANDLE, _handles)
        attachments.cache.add_index(BY_VOLUME, volumes_of)

    async def synced(self) -> None:
        for watched in (self.claims, self.volumes, self.classes, self.nodes):
            await watched.cache.synced.wait()
        await self.csi_nodes.cache.synced.wait()
        await self.attachments.cache.synced.wait()

    def find_claim(self, uid: str) -> Claim | None:
        return next(iter(self.claims.cache.by_index(BY_UID, uid)), None)

    def find_class(self, name: str) -> StorageClass | None:
        return self.classes.cache.get(Key("", name))

    def find_volume(self, name: str) -> Volume | None:
        return self.volumes.cache.get(Key("", name))

    def find_siblings(self, volume: Volume) -> list[Key]:
        """Other volumes that stand for the same storage."""
        same = (self.volumes.cache.by_index(BY_HANDLE, handle) for handle in _handles(volume))
        return [each.key for found in same for each in found if each.key != volume.key]


def _handles(volume: Volume) -> Iterable[Handle]:
    handle = handle_of(volume)
    return () if handle is None else (handle,)


def source_index(kind: str, key: Key) -> tuple[str, Key]:
    return kind, key


def _sources(claim: Claim) -> Iterable[tuple[str, Key]]:
    source = claim.spec.data_source or claim.spec.data_source_ref
    return () if source is None else (source_index(source.kind, Key(claim.namespace, source.name)),)
