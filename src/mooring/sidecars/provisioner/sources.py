"""What a new volume is to be filled with: a snapshot or another claim's volume, if it is ready."""

from collections.abc import Iterable
from enum import Enum

import msgspec

from mooring.csi.capability import ControllerCapability
from mooring.csi.volume import FromSnapshot, FromVolume
from mooring.model import quantity
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import serves, translate
from mooring.model.keys import Key
from mooring.model.reference import TypedObjectReference
from mooring.model.reference_grant import GrantFrom, GrantTo, ReferenceGrant
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_INVALID = "claim in dataSource not bound or invalid"


class SourceKind(Enum):
    SNAPSHOT = "VolumeSnapshot"
    CLAIM = "PersistentVolumeClaim"
    OTHER = "other"  # a populator's business


class DataSource(msgspec.Struct, frozen=True):
    kind: SourceKind
    key: Key
    word: str  # the kind, as the claim says it
    group: str = ""

    @property
    def needs(self) -> tuple[ControllerCapability, str] | None:
        """What the driver must be able to do, and what it is called."""
        match self.kind:
            case SourceKind.SNAPSHOT:
                return ControllerCapability.CREATE_DELETE_SNAPSHOT, "snapshot restore"
            case SourceKind.CLAIM:
                return ControllerCapability.CLONE_VOLUME, "clone operations"
            case SourceKind.OTHER:
                return None


def find_source(claim: Claim) -> DataSource | None:
    """Raises: WaitingReason."""
    source = claim.spec.data_source or claim.spec.data_source_ref
    if source is None:
        return None
    if not source.name:
        raise WaitingReason(f"the PVC source not found for PVC {claim.name}")
    key = source_key(claim, source)
    if source.kind == SourceKind.SNAPSHOT.value:
        if source.api_group != SNAPSHOT_GROUP:
            raise WaitingReason(
                "the PVC source does not belong to the right APIGroup."
                f" Expected {SNAPSHOT_GROUP}, Got {source.api_group or ''}"
            )
        return DataSource(SourceKind.SNAPSHOT, key, source.kind, SNAPSHOT_GROUP)
    is_claim = source.kind == SourceKind.CLAIM.value and not source.api_group
    kind = SourceKind.CLAIM if is_claim else SourceKind.OTHER
    return DataSource(kind, key, source.kind, source.api_group or "")


def source_key(claim: Claim, source: TypedObjectReference) -> Key:
    """Only `dataSourceRef` reaches into other namespaces."""
    is_local = claim.spec.data_source is not None or not source.namespace
    return Key(claim.namespace if is_local else source.namespace or "", source.name)


def check_access(claim: Claim, source: DataSource, grants: Iterable[ReferenceGrant] | None) -> None:
    """Whether the claim may be filled from it; without `grants`, from its own namespace only.

    Raises: WaitingReason.
    """
    if source.key.namespace == claim.namespace:
        return
    if grants is None:
        raise WaitingReason(
            "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature"
            " is disabled"
        )
    origin = GrantFrom("", Claim.resource.kind, claim.namespace)
    target = GrantTo(source.group, source.word, source.key.name)
    if not any(
        grant.namespace == source.key.namespace and grant.allows(origin, target) for grant in grants
    ):
        raise WaitingReason(
            f"accessing {source.key} of {source.word} dataSource from {claim.key} isn't allowed"
        )


def check_snapshot(snapshot: Snapshot) -> str:
    """The name of its content. Raises: WaitingReason."""
    is_ours = Finalizer.RESTORE_SOURCE in snapshot.metadata.finalizers
    if snapshot.is_deleting and not is_ours:
        raise WaitingReason(f"snapshot {snapshot.name} is being deleted")
    if not snapshot.content_name:
        raise WaitingReason(f"snapshot {snapshot.name} not bound")
    return snapshot.content_name


def from_snapshot(
    claim: Claim, storage_class: StorageClass, snapshot: Snapshot, content: SnapshotContent
) -> FromSnapshot:
    """Raises: WaitingReason."""
    name, bound = snapshot.name, content.spec.volume_snapshot_ref
    if (bound.uid, bound.key) != (snapshot.uid, snapshot.key):
        raise WaitingReason(
            f"snapshotcontent {content.name} for snapshot {name} is bound to a different snapshot"
        )
    if not serves(content.spec.driver, storage_class.provisioner):
        raise WaitingReason(
            f"snapshotcontent {content.name} for snapshot {name} is not handled by CSI driver"
            f" of StorageClass {storage_class.name}"
        )
    if not snapshot.is_ready:
        raise WaitingReason(f"snapshot {name} is not Ready")
    if content.status is None or not content.status.snapshot_handle:
        raise WaitingReason(f"snapshot handle {name} is not available")
    restored = snapshot.status and snapshot.status.restore_size
    if restored:
        wanted, least = claim.requested.bytes_ceil(), quantity.parse(restored).bytes_ceil()
        if wanted < least:
            raise WaitingReason(
                f"requested volume size {wanted} is less than the size {least}"
                f" for the source snapshot {name}"
            )
    _check_mode(claim, content)
    return FromSnapshot(content.status.snapshot_handle)


def _check_mode(claim: Claim, content: SnapshotContent) -> None:
    """Converting between Block and Filesystem needs the snapshot content's permission."""
    mode = content.spec.source_volume_mode
    if mode is None or mode == claim.spec.volume_mode:
        return
    word = content.metadata.annotations.get(Annotation.ALLOW_MODE_CHANGE)
    if word in _TRUE:
        return
    name = Annotation.ALLOW_MODE_CHANGE
    if word is None:
        why = f"{name} annotation is not present on snapshotcontent {content.name}"
    elif word in _FALSE:
        why = f"{name} is set to false on snapshotcontent {content.name}"
    else:
        why = (
            f"failed to convert {name} annotation value to boolean with error:"
            f' strconv.ParseBool: parsing "{word}": invalid syntax'
        )
    raise WaitingReason(
        f"requested volume {claim.key} modifies the mode of the source volume but does not have"
        f" permission to do so. {why}"
    )


def check_clone(claim: Claim, source: Claim) -> str:
    """The name of the source's volume. Raises: WaitingReason."""
    name = source.name
    if not source.is_bound:
        raise WaitingReason(
            f"the PVC DataSource {name} must have a status of Bound.  Got {source.status.phase}"
        )
    if source.is_deleting:
        raise WaitingReason(f"the PVC DataSource {name} is currently being deleted")
    if source.spec.storage_class_name is None:
        raise WaitingReason(f"the source PVC ({name}) storageclass cannot be empty")
    if claim.spec.storage_class_name is None:
        raise WaitingReason(f"the requested PVC ({claim.name}) storageclass cannot be empty")
    wanted, least = claim.requested.bytes_ceil(), source.requested.bytes_ceil()
    if wanted < least:
        raise WaitingReason(
            "error, new PVC request must be greater than or equal in size to the specified PVC"
            f" data source, requested {wanted} but source is {least}"
        )
    if not source.spec.volume_name:
        raise WaitingReason(f"volume name is empty in source PVC {name}")
    return source.spec.volume_name


def from_clone(
    claim: Claim, storage_class: StorageClass, source: Claim, volume: Volume
) -> FromVolume:
    """Raises: WaitingReason."""
    translated, ref = translate(volume), volume.spec.claim_ref
    csi = None if translated is None else translated.spec.csi
    if csi is None or not serves(csi.driver, storage_class.provisioner):
        raise WaitingReason(_INVALID)
    if ref is None or (ref.key, ref.uid) != (source.key, source.uid) or not volume.is_bound:
        raise WaitingReason(_INVALID)
    wanted, has = claim.spec.volume_mode, volume.spec.volume_mode
    if wanted != has:
        names = (has, wanted) if has is VolumeMode.BLOCK else (VolumeMode.FILESYSTEM, wanted)
        raise WaitingReason(
            "the source PVC and destination PVCs must have the same volume mode for cloning."
            f"  Source is {names[0]}, but new PVC requested {names[1]}"
        )
    return FromVolume(csi.volume_handle)
