"""PersistentVolume: a piece of storage, and the claim it serves."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model import quantity
from mooring.model.meta import ApiObject, Resource
from mooring.model.node_selector import NodeSelector
from mooring.model.quantity import Quantity
from mooring.model.reference import ClaimRef
from mooring.model.storage_terms import STORAGE, AccessMode, ReclaimPolicy, VolumeMode
from mooring.model.volume_source import PersistentSources
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire, Word


class VolumePhase(Word):
    PENDING = "Pending"
    AVAILABLE = "Available"
    BOUND = "Bound"
    RELEASED = "Released"
    FAILED = "Failed"


class VolumeNodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = None


class VolumeSpec(PersistentSources, frozen=True, kw_only=True):
    capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    access_modes: tuple[AccessMode, ...] = ()
    claim_ref: ClaimRef | None = None
    reclaim_policy: ReclaimPolicy = msgspec.field(
        name="persistentVolumeReclaimPolicy", default=ReclaimPolicy.RETAIN
    )
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: VolumeMode = VolumeMode.FILESYSTEM
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None


class VolumeStatus(Wire, frozen=True):
    phase: VolumePhase = VolumePhase.PENDING
    message: str = ""
    reason: str = ""
    last_phase_transition_time: str | None = None


class Volume(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "", "v1", "PersistentVolume", "persistentvolumes", namespaced=False
    )

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def storage_class(self) -> str:
        """Its class, empty for none; the beta annotation takes precedence."""
        return self.metadata.annotations.get(
            Annotation.STORAGE_CLASS_BETA, self.spec.storage_class_name
        )

    @property
    def size(self) -> Quantity:
        return quantity.parse(self.spec.capacity.get(STORAGE, "0"))

    @property
    def is_available(self) -> bool:
        return self.status.phase is VolumePhase.AVAILABLE

    @property
    def is_bound(self) -> bool:
        return self.status.phase is VolumePhase.BOUND

    @property
    def is_released(self) -> bool:
        return self.status.phase is VolumePhase.RELEASED

    @property
    def is_bound_by_controller(self) -> bool:
        """The binder chose the claim, so it may also undo the choice."""
        return Annotation.BOUND_BY_CONTROLLER in self.metadata.annotations

    @property
    def provisioned_by(self) -> str:
        """The provisioner that made it; empty for a volume made by hand."""
        return self.metadata.annotations.get(Annotation.PROVISIONED_BY, "")

    @property
    def migrated_to(self) -> str:
        """The CSI driver that has taken over its in-tree plugin, if any."""
        return self.metadata.annotations.get(Annotation.MIGRATED_TO, "")

    def is_reachable_from(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether its node affinity, if any, admits a node with these labels and fields."""
        affinity = self.spec.node_affinity
        if affinity is None or affinity.required is None:
            return True
        return affinity.required.matches(labels, fields)
