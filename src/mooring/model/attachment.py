"""VolumeAttachment: the request to attach a volume to a node, and its result."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from mooring.model.meta import ApiObject, ObjectMeta, Resource
from mooring.model.volume import VolumeSpec
from mooring.model.wire import Wire

CONTROLLERS = frozenset({"mooring", "kube-controller-manager"})
"""The field managers of the attach/detach controllers."""


class OwnedFields(Wire, frozen=True):
    spec: Mapping[str, Any] | None = msgspec.field(name="f:spec", default=None)


class FieldManager(Wire, frozen=True):
    manager: str = ""
    fields: OwnedFields = msgspec.field(name="fieldsV1", default=OwnedFields())


class AttachmentMeta(ObjectMeta, frozen=True):
    managed_fields: tuple[FieldManager, ...] = ()


class AttachmentSource(Wire, frozen=True):
    """Exactly one is set; the inline one serves volumes that a CSI driver has taken over."""

    persistent_volume_name: str | None = None
    inline_volume_spec: VolumeSpec | None = None


class AttachmentSpec(Wire, frozen=True):
    attacher: str
    node_name: str
    source: AttachmentSource = AttachmentSource()


class AttachmentError(Wire, frozen=True):
    time: str | None = None
    message: str = ""
    error_code: int | None = None  # the number of a gRPC code


class AttachmentStatus(Wire, frozen=True):
    attached: bool = False
    attachment_metadata: Mapping[str, str] = msgspec.field(default_factory=dict)
    attach_error: AttachmentError | None = None
    detach_error: AttachmentError | None = None


class Attachment(ApiObject, frozen=True, kw_only=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False
    )

    spec: AttachmentSpec
    status: AttachmentStatus = AttachmentStatus()
    metadata: AttachmentMeta = AttachmentMeta()

    @property
    def is_made_by_controller(self) -> bool:
        """Whether an attach/detach controller created it, this one or an earlier one.

        The spec is immutable, so its field manager is the one that created the object.
        """
        return any(
            entry.manager in CONTROLLERS and entry.fields.spec is not None
            for entry in self.metadata.managed_fields
        )

    @property
    def is_attached(self) -> bool:
        return self.status.attached

    @property
    def volume_name(self) -> str:
        """The name of the persistent volume; empty for an inline one."""
        return self.spec.source.persistent_volume_name or ""
