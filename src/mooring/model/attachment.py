"""VolumeAttachment: the wish that a volume be attached to a node, and how it went."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.volume import VolumeSpec
from mooring.model.wire import Wire


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


class Attachment(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False
    )

    spec: AttachmentSpec
    status: AttachmentStatus = AttachmentStatus()

    @property
    def is_attached(self) -> bool:
        return self.status.attached

    @property
    def volume_name(self) -> str:
        """The persistent volume it is about; empty for an inline one."""
        return self.spec.source.persistent_volume_name or ""
