"""PersistentVolumeClaim: a user's request for storage, and its status."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model import quantity
from mooring.model.condition import Condition
from mooring.model.health import HealthCondition
from mooring.model.meta import ApiObject, ObjectMeta, Resource
from mooring.model.quantity import Quantity
from mooring.model.reference import TypedObjectReference
from mooring.model.selector import SelectorDocument
from mooring.model.storage_terms import STORAGE, AccessMode, VolumeMode
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire, Word


class ClaimPhase(Word):
    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"


class ClaimResources(Wire, frozen=True):
    requests: Mapping[str, str] = msgspec.field(default_factory=dict)
    limits: Mapping[str, str] = msgspec.field(default_factory=dict)


class ClaimSpec(Wire, frozen=True):
    access_modes: tuple[AccessMode, ...] = ()
    resources: ClaimResources = ClaimResources()
    selector: SelectorDocument | None = None
    volume_name: str = ""
    storage_class_name: str | None = None  # None: the default class; "": explicitly none
    volume_mode: VolumeMode = VolumeMode.FILESYSTEM
    data_source: TypedObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class ModifyStatus(Wire, frozen=True):
    """The state of a change of the VolumeAttributesClass: Pending, InProgress or Infeasible."""

    status: str
    target_volume_attributes_class_name: str = ""


class ClaimHealth(Wire, frozen=True):
    """What the driver's controller says of the volume; no condition: it is healthy."""

    health_conditions: tuple[HealthCondition, ...] = ()
    last_transition_time: str | None = None


class ClaimStatus(Wire, frozen=True):
    phase: ClaimPhase = ClaimPhase.PENDING
    access_modes: tuple[AccessMode, ...] = ()
    capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    allocated_resources: Mapping[str, str] = msgspec.field(default_factory=dict)
    allocated_resource_statuses: Mapping[str, str] = msgspec.field(default_factory=dict)
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyStatus | None = None
    health_status: ClaimHealth | None = None


class ClaimTemplate(Wire, frozen=True):
    """The claim template of an ephemeral volume; metadata may hold labels and annotations."""

    spec: ClaimSpec
    metadata: ObjectMeta | None = None


class Claim(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True
    )

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def storage_class(self) -> str:
        """The requested class, empty for none; the beta annotation takes precedence."""
        return self.metadata.annotations.get(
            Annotation.STORAGE_CLASS_BETA, self.spec.storage_class_name or ""
        )

    @property
    def has_class(self) -> bool:
        """Whether it names a class, even the empty one; if not, the default class is filled in."""
        return (
            self.spec.storage_class_name is not None
            or Annotation.STORAGE_CLASS_BETA in self.metadata.annotations
        )

    @property
    def requested(self) -> Quantity:
        return quantity.parse(self.spec.resources.requests.get(STORAGE, "0"))

    @property
    def capacity(self) -> Quantity:
        """The size in its status."""
        return quantity.parse(self.status.capacity.get(STORAGE, "0"))

    @property
    def health_conditions(self) -> tuple[HealthCondition, ...]:
        health = self.status.health_status
        return health.health_conditions if health is not None else ()

    @property
    def is_bound(self) -> bool:
        return self.status.phase is ClaimPhase.BOUND

    @property
    def is_bind_completed(self) -> bool:
        """The binder has bound it once, so a missing volume now means lost data."""
        return Annotation.BIND_COMPLETED in self.metadata.annotations

    @property
    def is_bound_by_controller(self) -> bool:
        """The binder chose the volume, not the user."""
        return Annotation.BOUND_BY_CONTROLLER in self.metadata.annotations

    @property
    def provisioner(self) -> str:
        """The provisioner that was asked to make a volume for it, empty if none."""
        annotations = self.metadata.annotations
        return annotations.get(Annotation.PROVISIONER) or annotations.get(
            Annotation.PROVISIONER_BETA, ""
        )

    @property
    def selected_node(self) -> str:
        """The node that the scheduler has chosen for the volume, empty if none."""
        return self.metadata.annotations.get(Annotation.SELECTED_NODE, "")
