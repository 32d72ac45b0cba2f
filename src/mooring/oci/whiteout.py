"""Whiteouts: how an image layer hides files of the layers below it, by special names.

`.wh.x` hides `x`, and `.wh..wh..opq` hides all that is in its directory. Only layers have these: in
a plain root file system such a name is a file like any other.
"""

from collections.abc import Iterable, Iterator

import msgspec

from mooring.oci.entry import EntryType, LayerEntry
from mooring.oci.refused import ImageRefused

_PREFIX = ".wh."
_OPAQUE = ".wh..wh..opq"
_OWN = ".wh..wh."  # files that AUFS kept for itself


def read_as_layer(entries: Iterable[LayerEntry]) -> Iterator[LayerEntry]:
    """The same entries, with whiteouts as what they mean. Raises: ImageRefused."""
    for entry in entries:
        name = entry.parts[-1] if entry.parts else ""
        if not name.startswith(_PREFIX):
            yield entry
        elif name == _OPAQUE:
            yield msgspec.structs.replace(entry, parts=entry.parts[:-1], kind=EntryType.OPAQUE)
        elif not name.startswith(_OWN):
            yield _whiteout(entry, name.removeprefix(_PREFIX))


def _whiteout(entry: LayerEntry, hidden: str) -> LayerEntry:
    if hidden in ("", ".", ".."):
        raise ImageRefused(f"a whiteout hides nothing that has a name: {entry.name}")
    return msgspec.structs.replace(
        entry, parts=(*entry.parts[:-1], hidden), kind=EntryType.WHITEOUT, xattrs={}
    )
