"""Mounts that were taken out of sight while they hung: their file systems may still be in use.

The mount table does not show them any more. So each is put on record, in the root directory of the
node, before it is detached; the record counts until the machine has been restarted.
"""

from pathlib import Path

import msgspec

from mooring.errors import HostError
from mooring.host.mountinfo import MountEntry
from mooring.host.private_file import find_private, write_private
from mooring.oci.records import boot_id

RECORD = "detached-mounts.json"


class DetachedMount(msgspec.Struct, frozen=True):
    at: str
    fs_type: str
    source: str
    boot: str  # of the machine, when it was detached

    def __str__(self) -> str:
        return f"{self.at} ({self.fs_type} of {self.source})"


class DetachedMounts:
    """Those of one root directory."""

    def __init__(self, root: Path) -> None:
        self._file = root / RECORD

    def note(self, entry: MountEntry) -> None:
        """After: it is on the disk that this mount may outlive its place. Raises: HostError."""
        known = self._read()
        one = DetachedMount(entry.at, entry.fs_type, entry.source, boot_id())
        if one in known:
            return
        try:
            write_private(self._file, msgspec.json.encode([*known, one]))
        except OSError as error:
            raise HostError(f"cannot write {self._file}: {error.strerror}") from error

    def left(self) -> list[DetachedMount]:
        """Those that may be in use: of this run of the machine. Raises: HostError."""
        boot = boot_id()
        return [one for one in self._read() if one.boot == boot]

    def _read(self) -> list[DetachedMount]:
        try:
            content = find_private(self._file)
            return msgspec.json.decode(content, type=list[DetachedMount]) if content else []
        except OSError as error:
            raise HostError(f"cannot read {self._file}: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HostError(
                f"{self._file} is damaged, so what was detached lazily is not known: restart the "
                "machine, then remove the file"
            ) from error
