"""The kernel's mount table, read from /proc/self/mountinfo.

Names are decoded from their octal escapes, and may hold blanks, newlines and undecodable bytes.
"""

import os
import posixpath
import re
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from mooring.errors import HostError

TABLE = Path("/proc/self/mountinfo")
_OCTAL = re.compile(rb"\\([0-7]{3})")
_STEADY_SINCE = (5, 8)  # before, a read may miss entries while others come and go
_READS = 10


class MountEntry(msgspec.Struct, frozen=True):
    """One mount."""

    id: int
    parent: int
    device: tuple[int, int]  # major, minor
    root: str  # the directory of the file system that is mounted; `//deleted` follows a removed one
    at: str
    options: tuple[str, ...]  # of this mount
    tags: tuple[str, ...]  # propagation: `shared:7`, `master:7`, ...
    fs_type: str
    source: str
    super_options: tuple[str, ...]  # of the file system, common to all its mounts

    @property
    def mount_point(self) -> Path:
        return Path(self.at)

    @property
    def is_shared(self) -> bool:
        return any(tag.startswith("shared:") for tag in self.tags)

    @property
    def is_read_only(self) -> bool:
        return "ro" in self.options


class MountTable:
    """All mounts at one moment. Lookups need paths without symbolic links: see `canonical`."""

    def __init__(self, entries: tuple[MountEntry, ...]) -> None:
        self.entries = entries

    def find(self, path: Path) -> MountEntry | None:
        """The topmost mount exactly at `path`, or None."""
        entry = self.covering(path)
        return entry if entry is not None and entry.at == str(path) else None

    def covering(self, path: Path) -> MountEntry | None:
        """The mount that `path` is on; None when this process sees no mount above it."""
        inside = str(path)
        found = next((top for top in self._tops if _covers(top.at, inside)), None)
        step = found
        while step is not None:
            found = step
            under = [
                child for child in self._children.get(step.id, ()) if _covers(child.at, inside)
            ]
            # A lookup from the root meets the shortest first; it hides the others.
            step = min(under, key=lambda child: len(child.at), default=None)
        return found

    def references(self, path: Path) -> tuple[Path, ...]:
        """Where else the tree at `path`, a mount point or a plain directory, is mounted."""
        source = self.covering(path)
        if source is None:
            return ()
        below = posixpath.relpath(str(path), source.at)
        root = source.root if below == "." else posixpath.join(source.root, below)
        return tuple(
            entry.mount_point
            for entry in self.entries
            if entry.id != source.id and entry.root == root and entry.device == source.device
        )

    def below(self, path: Path) -> tuple[MountEntry, ...]:
        """The mounts at `path` and under it, in the order they were made."""
        return tuple(entry for entry in self.entries if _covers(str(path), entry.at))

    @cached_property
    def _children(self) -> dict[int, list[MountEntry]]:
        children: dict[int, list[MountEntry]] = {}
        for entry in self.entries:
            children.setdefault(entry.parent, []).append(entry)
        return children

    @cached_property
    def _tops(self) -> list[MountEntry]:
        known = {entry.id for entry in self.entries}
        return [entry for entry in self.entries if entry.parent not in known]


def read_table(source: Path = TABLE) -> MountTable:
    """The mounts that this process sees now."""
    try:
        return _parse_once(_read_steadily(source))
    except OSError as error:
        raise HostError(f"cannot read the mount table {source}: {error.strerror}") from error


def parse(content: bytes) -> MountTable:
    """Read the text of a mountinfo file.

    Raises: HostError for a malformed line; without its text, since options may be secret.
    """
    return MountTable(tuple(_entry(line) for line in content.split(b"\n") if line))


@lru_cache(maxsize=1)
def _parse_once(content: bytes) -> MountTable:
    """Cached: parsing many mounts is slow, and most often the table has not changed."""
    return parse(content)


def canonical(path: Path) -> Path:
    """`path` as the mount table has it, found without touching what is mounted there."""
    return Path(os.path.realpath(path.parent)) / path.name


def split_options(text: str) -> tuple[str, ...]:
    """Split options at commas; a comma within double quotes belongs to its option."""
    if '"' not in text:
        return tuple(option for option in text.split(",") if option)
    parts, quoted = [""], False
    for char in text:
        quoted ^= char == '"'
        if char == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return tuple(part for part in parts if part)


def _entry(line: bytes) -> MountEntry:
    try:
        mount, _, filesystem = line.partition(b" - ")
        number, parent, device, root, at, options, *tags = mount.split(b" ")
        fs_type, source, super_options = filesystem.split(b" ", 2)
        major, minor = device.split(b":")
        return MountEntry(
            id=int(number),
            parent=int(parent),
            device=(int(major), int(minor)),
            root=_plain(root),
            at=_plain(at),
            options=split_options(_plain(options)),
            tags=tuple(_plain(tag) for tag in tags),
            fs_type=_plain(fs_type),
            source=_plain(source),
            super_options=split_options(_plain(super_options)),
        )
    except ValueError:
        raise HostError("the mount table holds a line that describes no mount") from None


def _plain(field: bytes) -> str:
    if b"\\" in field:
        field = _OCTAL.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), field)
    return os.fsdecode(field)


def _covers(at: str, path: str) -> bool:
    return at in (path, "/") or path.startswith(f"{at}/")


def _read_steadily(source: Path) -> bytes:
    content = source.read_bytes()
    if kernel_version() >= _STEADY_SINCE:
        return content
    for _ in range(_READS):
        again = source.read_bytes()
        if again == content:
            return content
        content = again
    raise HostError(f"the mount table {source} changed at every one of {_READS} reads")


def kernel_version() -> tuple[int, int]:
    numbers = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
