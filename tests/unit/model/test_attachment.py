"""VolumeAttachments as controllers read them."""

from typing import Any

from mooring.model.attachment import Attachment, AttachmentError
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "VolumeAttachment",
    "metadata": {
        "name": "csi-873560",
        "annotations": {"csi.alpha.kubernetes.io/node-id": "i-1"},
        "finalizers": ["external-attacher/ebs-csi-example-com"],
    },
    "spec": {
        "attacher": "ebs.csi.example.com",
        "nodeName": "n1",
        "source": {"persistentVolumeName": "pvc-7f"},
    },
    "status": {
        "attached": True,
        "attachmentMetadata": {"devicePath": "/dev/xvda"},
        "detachError": {"time": "2026-01-01T00:00:00Z", "message": "busy", "errorCode": 8},
    },
}


def test_an_attached_volume() -> None:
    attachment = read(DOCUMENT, Attachment)
    assert attachment.is_attached
    assert attachment.volume_name == "pvc-7f"
    assert attachment.spec.attacher == "ebs.csi.example.com"
    assert attachment.spec.node_name == "n1"
    assert attachment.status.attachment_metadata == {"devicePath": "/dev/xvda"}
    assert attachment.status.attach_error is None
    assert attachment.status.detach_error == AttachmentError("2026-01-01T00:00:00Z", "busy", 8)


def test_a_new_one_for_an_inline_volume() -> None:
    inline = {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}
    spec = DOCUMENT["spec"] | {"source": {"inlineVolumeSpec": inline}}
    new = {key: DOCUMENT[key] for key in ("apiVersion", "kind", "metadata")} | {"spec": spec}
    attachment = read(new, Attachment)
    assert not attachment.is_attached
    assert attachment.volume_name == ""
    assert attachment.spec.source.inline_volume_spec is not None
    assert attachment.spec.source.inline_volume_spec.csi is not None
    assert attachment.spec.source.inline_volume_spec.csi.volume_handle == "h"
