"""CHAP: names and passwords of a secret, given to open-iscsi.

iscsiadm would take them as arguments, which every user of the machine can see. They go into its
records instead, which only root can read.
"""

from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Final

import msgspec

from mooring.host.private_file import write_private
from mooring.host.refusal import refusals
from mooring.plugins.contract import VolumeError

DISCOVERY: Final = "discovery.sendtargets.auth"
SESSION: Final = "node.session.auth"
KEYS = ("username", "password", "username_in", "password_in")
DATABASES = ("etc/iscsi", "var/lib/iscsi")  # of Debian and Red Hat; of others
END = "# END RECORD"


class Chap(msgspec.Struct, frozen=True):
    """What of the secret is for the discovery, and what for the session."""

    discovery: Mapping[str, str] = msgspec.field(default_factory=dict)
    session: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return "Chap(...)"


def chosen(prefix: str, secret: Mapping[str, bytes]) -> Mapping[str, str]:
    """The entries of a secret that iscsiadm knows. Raises: VolumeError."""
    found = {}
    for key in (f"{prefix}.{name}" for name in KEYS):
        if key not in secret:
            continue
        value = secret[key].decode(errors="replace")
        if not value.isprintable():
            raise VolumeError(f"the value of {key} in the secret holds control characters")
        found[key] = value
    return found


class ChapRecords:
    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def discovery(self, portal: str, values: Mapping[str, str]) -> None:
        """Raises: VolumeError, HostError."""
        self._write(f"send_targets/{_directory(portal)}/st_config", portal, values)

    def session(self, portal: str, iqn: str, iface: str, values: Mapping[str, str]) -> None:
        place = f"nodes/{escape(iqn)}/{_directory(portal)},*/{escape(iface)}"
        self._write(place, portal, values)

    def _write(self, pattern: str, portal: str, values: Mapping[str, str]) -> None:
        if not values:
            return
        found = [path for top in DATABASES for path in (self._root / top).glob(pattern)]
        if not found:
            raise VolumeError(f"open-iscsi has no record of portal {portal} to keep CHAP in")
        for path in found:
            with refusals(f"write {path}"):
                write_private(path, with_values(path.read_text(), values).encode())


def with_values(record: str, values: Mapping[str, str]) -> str:
    """A record of open-iscsi with these in place of what it had."""
    kept = [line for line in record.splitlines() if line.partition(" = ")[0].strip() not in values]
    at = kept.index(END) if END in kept else len(kept)
    return "\n".join(
        (*kept[:at], *(f"{key} = {value}" for key, value in values.items()), *kept[at:], "")
    )


def _directory(portal: str) -> str:
    address, _, port = portal.rpartition(":")
    return escape(f"{address.strip('[]')},{port}")
