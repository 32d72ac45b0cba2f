"""Indexes over shared caches that more than one sidecar looks at."""

from collections.abc import Iterable
from typing import Final

from mooring.model.attachment import Attachment

BY_VOLUME: Final = "volume"


def volumes_of(attachment: Attachment) -> Iterable[str]:
    """The volume that it names; an inline one has no name."""
    return (attachment.volume_name,) if attachment.volume_name else ()
