"""The provisioner's views: a claim with its class, or a volume with its attachments."""

import msgspec

from mooring.csi.topology import flatten
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import serves
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.provisioner.draft import volume_name
from mooring.sidecars.provisioner.plan import INTENT
from mooring.sidecars.provisioner.record import find_request


class ClaimView(msgspec.Struct, frozen=True):
    driver: str
    claim: Claim
    is_gone: bool  # the object was taken away by force while the driver may be at work for it
    storage_class: StorageClass | None
    has_volume: bool  # the PersistentVolume that is made for it exists
    is_known_open: bool  # this process has asked the driver and knows of no end
    is_source: bool  # another claim is still being cloned from it
    paused_seconds: float = 0.0  # the back-off after the driver found the request impossible
    own_node: OwnNode | None = None  # that is served alone
    takes_immediate: bool = True  # also claims for which no pod chose a node
    seconds_to_turn: float = 0.0  # before this node may make such a claim its own

    @property
    def is_ours(self) -> bool:
        """The driver on record has to settle the claim, even if another is to serve it by now; and
        so has the node on record, where each is served apart."""
        request = find_request(self.claim)
        if request is None:
            return self.is_asked
        is_here = self.own_node is None or request.node == self.own_node.name
        return request.driver == self.driver and is_here

    @property
    def is_asked(self) -> bool:
        """It is to have a volume of this driver, and not on another node."""
        selected = self.claim.selected_node
        is_here = self.own_node is None or selected in ("", self.own_node.name)
        return is_here and is_claim_of(self.driver, self.claim)

    @property
    def is_anothers_first(self) -> bool:
        """It is to have a volume of this driver, but another, or that of another node, may still
        have made one for it."""
        return not self.is_ours and self.is_asked

    @property
    def has_no_owner(self) -> bool:
        """No node was chosen, and each is served apart: one of them has to choose itself."""
        return self.own_node is not None and not self.claim.selected_node

    def is_allowed_here(self, storage_class: StorageClass) -> bool:
        """By the allowed topologies of its class, in the driver's terms."""
        if self.own_node is None or self.own_node.place is None:
            return True
        segments = self.own_node.place.segments
        allowed = flatten(storage_class.allowed_topologies)
        return not allowed or any(term.covers(segments) for term in allowed)

    @property
    def own_class(self) -> StorageClass | None:
        """Its class, if it is this driver's."""
        found = self.storage_class
        is_own = found is not None and serves(self.driver, found.provisioner)
        return found if is_own else None

    @property
    def was_told_of(self) -> bool:
        """The volume that is made for it has, or once had, an object."""
        return self.has_volume or self.claim.spec.volume_name == volume_name(self.claim)

    @property
    def is_open(self) -> bool:
        """A volume may exist without a PersistentVolume."""
        return self.is_known_open or has_finalizer(self.claim, INTENT)

    @property
    def is_unwanted(self) -> bool:
        """It needs no volume any more, or it has another one."""
        return self.is_gone or self.claim.is_deleting or bool(self.claim.spec.volume_name)


class VolumeView(msgspec.Struct, frozen=True):
    driver: str
    volume: Volume
    storage_class: StorageClass | None
    attached_to: (
        str  # a node that it is still attached to; empty: none, or the driver does not attach
    )
    is_deleted_behind: bool  # this process has seen the driver delete it
    is_here: bool = True  # where the driver reaches it

    @property
    def is_ours(self) -> bool:
        return self.is_here and is_volume_of(self.driver, self.volume)

    @property
    def is_protected(self) -> bool:
        return has_finalizer(self.volume, Finalizer.EXTERNAL_PROVISIONER)


def is_claim_of(driver: str, claim: Claim) -> bool:
    """Whether the driver was asked to make a volume for it."""
    return driver in (claim.provisioner, claim.metadata.annotations.get(Annotation.MIGRATED_TO))


def recorded_driver(claim: Claim) -> str:
    """The driver that may have made a volume for it; empty: none is on record."""
    request = find_request(claim)
    return request.driver if request else ""


def recorded_node(claim: Claim) -> str:
    """The node that it may have been made for."""
    request = find_request(claim)
    return request.node if request else ""


def concerns(driver: str, claim: Claim) -> bool:
    """Whether the driver makes a volume for it, or may have made one."""
    return is_claim_of(driver, claim) or recorded_driver(claim) == driver


def is_volume_of(driver: str, volume: Volume) -> bool:
    """Whether the driver is to delete what is behind it; also behind those made by hand."""
    if volume.provisioned_by:
        return driver in (volume.provisioned_by, volume.migrated_to)
    if volume.spec.csi is not None:
        return volume.spec.csi.driver == driver
    return volume.migrated_to == driver


def wakes(driver: str, before: Claim | None, after: Claim) -> bool:
    """Whether a change of a claim is one to look at: our own record of an intent is none."""
    return before is None or _told(driver, before) != _told(driver, after)


def _told(driver: str, claim: Claim) -> tuple[object, ...]:
    annotations = claim.metadata.annotations
    recorded = recorded_driver(claim)
    return (
        recorded if recorded != driver else "",
        claim.provisioner,
        claim.selected_node,
        annotations.get(Annotation.MIGRATED_TO),
        claim.storage_class,
        claim.spec,
        claim.status.phase,
        claim.is_deleting,
    )
