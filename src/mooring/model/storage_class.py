"""StorageClass: how the volumes of a class are provisioned, bound and reclaimed."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.storage_terms import BindingMode, ReclaimPolicy
from mooring.model.wellknown import Annotation, Plugin
from mooring.model.wire import Wire


class TopologyRequirement(Wire, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Wire, frozen=True):
    """A topology in which volumes may be provisioned: all its requirements hold."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False
    )

    provisioner: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: ReclaimPolicy = ReclaimPolicy.DELETE
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: BindingMode = BindingMode.IMMEDIATE
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def is_default(self) -> bool:
        annotations = self.metadata.annotations
        return (
            annotations.get(Annotation.DEFAULT_CLASS) == "true"
            or annotations.get(Annotation.DEFAULT_CLASS_BETA) == "true"
        )

    @property
    def waits_for_consumer(self) -> bool:
        return self.volume_binding_mode is BindingMode.WAIT_FOR_CONSUMER

    @property
    def binds_at_once(self) -> bool:
        """A claim of this class is bound without waiting for the scheduler."""
        return self.volume_binding_mode is BindingMode.IMMEDIATE

    @property
    def provisions(self) -> bool:
        """Whether volumes of this class are provisioned on demand."""
        return self.provisioner != Plugin.NO_PROVISIONER
