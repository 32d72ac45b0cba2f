"""Whose an attachment is that this process has not made: read back from what it says."""

from mooring.model.attachment import Attachment
from mooring.model.csi_translation.translate import translate
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import CsiName, attachment_name


def find_owner(attachment: Attachment, volume: Volume | None) -> CsiName | None:
    """The volume behind an attachment that is called as we call it; others are left alone.

    `volume` is the persistent volume that it names; None when there is none, or not any more.
    """
    inline = attachment.spec.source.inline_volume_spec
    if inline is not None:
        source = inline.csi
    else:
        translated = None if volume is None else translate(volume)
        source = None if translated is None else translated.spec.csi
    if source is None:
        return None
    name = attachment_name(source.volume_handle, source.driver, attachment.spec.node_name)
    return CsiName(source.driver, source.volume_handle) if name == attachment.name else None
