"""What the attacher looks at: an attachment, its volume, and the node's word on the driver."""

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.csi_node import CsiNode
from mooring.model.volume import Volume
from mooring.sidecars.driver import Abilities


class AttachmentView(msgspec.Struct, frozen=True):
    driver: str
    abilities: Abilities
    attachment: Attachment
    volume: Volume | None  # that it names
    csi_node: CsiNode | None
    is_doubted: bool = False  # the driver's list says otherwise than the status
    is_here: bool = True  # on a node that the driver reaches
    default_fs_type: str = ""


class VolumeView(msgspec.Struct, frozen=True):
    driver: str
    volume: Volume
    is_attached: bool  # there is an attachment of it, whatever its state
    is_here: bool = True  # where the driver reaches it


def wakes(before: Attachment | None, after: Attachment) -> bool:
    """Whether a change needs a reconcile; errors that the attacher writes itself do not."""
    return before is None or _told(before) != _told(after)


def _told(attachment: Attachment) -> tuple[object, ...]:
    return attachment.spec, attachment.is_deleting, attachment.is_attached
