"""What a provisioner watches."""

from collections.abc import Iterable
from typing import Final

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.may_destroy import Handle, handle_of
from mooring.model.node import Node
from mooring.model.reference_grant import ReferenceGrant
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.sidecars.driver import Driver
from mooring.sidecars.indexes import BY_VOLUME, volumes_of
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.provisioner.sources import (
    DataSource,
    check_access,
    find_source,
    source_key,
)
from mooring.sidecars.provisioner.topology import ClusterTopology
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

BY_UID: Final = "uid"
BY_CLASS: Final = "class"
BY_SOURCE: Final = "source"  # kind, namespace and name of what a claim is to be filled with
BY_FOREIGN_NAMESPACE: Final = "foreign namespace"  # of what a claim is to be filled with
BY_HANDLE: Final = "handle"  # driver and handle of a volume


class Caches:
    """Index functions have names: provisioners of many drivers then share the indexes."""

    def __init__(self, loops: Loops, own_node: str = "") -> None:
        """With `own_node` other nodes are of no interest: where each is served apart, all of them
        would watch all."""
        self.claims = loops.informer(Claim)
        self.volumes = loops.informer(Volume)
        self.classes = loops.informer(StorageClass)
        self.nodes = None if own_node else loops.informer(Node)
        self.csi_nodes = None if own_node else loops.informer(CsiNode)
        self.attachments = loops.informer(Attachment)
        self.claims.add_index(BY_UID, _uids)
        self.claims.add_index(BY_CLASS, _classes)
        self.claims.add_index(BY_SOURCE, _sources)
        self.claims.add_index(BY_FOREIGN_NAMESPACE, _foreign_namespaces)
        self.volumes.add_index(BY_HANDLE, _handles)
        self.attachments.add_index(BY_VOLUME, volumes_of)
        self.grants: Informer[ReferenceGrant] | None = None

    def watch_grants(self, loops: Loops) -> None:
        """Only with the feature gate: a cluster may lack the kind."""
        self.grants = loops.informer(ReferenceGrant)

    async def synced(self) -> None:
        """Without those of capacity, which a provisioner may have no right to watch."""
        for informer in (self.claims, self.volumes, self.classes, self.attachments):
            await informer.synced.wait()
        for found in (self.nodes, self.csi_nodes, self.grants):
            if found is not None:
                await found.synced.wait()

    def cluster_of(self, driver: Driver) -> ClusterTopology:
        """The nodes as the driver sees them, now."""
        if driver.own_node is not None or self.nodes is None or self.csi_nodes is None:
            return ClusterTopology.of_one(driver.name, driver.own_node or OwnNode(""))
        return ClusterTopology(driver.name, self.nodes.all(), self.csi_nodes.all())

    def check_access(self, claim: Claim, source: DataSource) -> None:
        """Raises: WaitingReason."""
        check_access(claim, source, None if self.grants is None else self.grants.all())

    def may_be_filled(self, claim: Claim) -> bool:
        """Whether its source may be copied into it now."""
        try:
            source = find_source(claim)
            if source is not None:
                self.check_access(claim, source)
        except WaitingReason:
            return False
        return source is not None

    def find_claim(self, uid: str) -> Claim | None:
        return next(iter(self.claims.by_index(BY_UID, uid)), None)

    def find_class(self, name: str) -> StorageClass | None:
        return self.classes.get(Key("", name))

    def find_volume(self, name: str) -> Volume | None:
        return self.volumes.get(Key("", name))

    def find_siblings(self, volume: Volume) -> list[Key]:
        """Other volumes that stand for the same storage."""
        same = (self.volumes.by_index(BY_HANDLE, handle) for handle in _handles(volume))
        return [each.key for found in same for each in found if each.key != volume.key]


def _uids(claim: Claim) -> tuple[str]:
    return (claim.uid,)


def _classes(claim: Claim) -> tuple[str]:
    return (claim.storage_class,)


def _handles(volume: Volume) -> Iterable[Handle]:
    handle = handle_of(volume)
    return () if handle is None else (handle,)


def source_index(kind: str, key: Key) -> tuple[str, Key]:
    return kind, key


def _sources(claim: Claim) -> Iterable[tuple[str, Key]]:
    source = claim.spec.data_source or claim.spec.data_source_ref
    return () if source is None else (source_index(source.kind, source_key(claim, source)),)


def _foreign_namespaces(claim: Claim) -> Iterable[str]:
    return (key.namespace for _, key in _sources(claim) if key.namespace != claim.namespace)
