"""One entry of a layer: what the readers of archives and directories yield, and `unpack` makes."""

from collections.abc import Iterator, Mapping
from enum import Enum, auto

import msgspec

from mooring.oci.refused import ImageRefused, shown

_PATH_MAX = 4096  # of Linux: no process could ever name more

Parts = tuple[str, ...]
Body = Iterator[tuple[int, bytes | memoryview]]  # where in the file, and what; holes are left out


class EntryType(Enum):
    FILE = auto()
    DIRECTORY = auto()
    SYMLINK = auto()
    HARDLINK = auto()
    FIFO = auto()
    DEVICE = auto()
    WHITEOUT = auto()  # nothing of this name in the layers below is to be seen
    OPAQUE = auto()  # nothing in this directory in the layers below is to be seen


class LayerEntry(msgspec.Struct, frozen=True):
    parts: Parts  # of its name; none: the root itself
    kind: EntryType
    mode: int = 0o755  # twelve bits
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    target: str = ""  # of a link
    xattrs: Mapping[str, bytes] = {}
    size: int = 0  # of a file, with its holes
    body: Body = iter(())  # to be read before the next entry is asked for

    @property
    def name(self) -> str:
        """For people."""
        return shown("/".join(self.parts)) or "/"


def split_name(name: str) -> Parts:
    """The elements of a name in an archive; one that begins with / is below the root all the same.

    Raises: ImageRefused when it leads out of the root, or can name nothing.
    """
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise ImageRefused(f"an entry leads out of its root: {shown(name)}")
    if len(name) > _PATH_MAX:
        raise ImageRefused(f"an entry has a longer name than a path can have: {shown(name)}")
    return parts
