"""SCSI disks as the kernel shows them: in sysfs, and as links in /dev/disk. All of it blocks."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mooring import log
from mooring.host.block_device import is_block_device, is_busy
from mooring.host.refusal import refusals

_log = log.get("mooring.host.scsi")

_MULTIPATH = "mpath-"
EVERYTHING = "- - -"  # channel, target and LUN of a whole scan


class ScsiTree:
    """The disks of this machine; tests have a tree of their own."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._sys = root / "sys"
        self._dev = root / "dev"

    def iscsi_hosts(self, iqn: str) -> Mapping[str, int]:
        """By portal: the hosts of the sessions with this target.

        A portal that has sent us elsewhere is known by both addresses.
        """
        found: dict[str, int] = {}
        for session in self._sessions():
            names = session.glob("iscsi_session/session*/targetname")
            if iqn not in map(_text, names):
                continue
            host = int(session.parent.parent.name.removeprefix("host"))
            for connection in session.glob("connection*/iscsi_connection/connection*"):
                for kind in ("persistent_", ""):
                    address, port = (_text(connection / f"{kind}{x}") for x in ("address", "port"))
                    if address and port:
                        found[f"[{address}]:{port}" if ":" in address else f"{address}:{port}"] = (
                            host
                        )
        return found

    def scan(self, host: int, lun: int) -> None:
        """Look for one LUN, and no other: those may be somebody else's."""
        self._write(self._sys / f"class/scsi_host/host{host}/scan", f"0 0 {lun}")

    def scan_everything(self) -> None:
        for path in sorted(self._sys.glob("class/scsi_host/*/scan")):
            self._write(path, EVERYTHING)

    def find_iscsi_device(
        self, portal: str, iqn: str, lun: int, *, is_tcp: bool = True
    ) -> Path | None:
        """The device of this LUN, by the link that udev makes; without udev by sysfs."""
        plain = portal.replace("[", "").replace("]", "")
        name = f"ip-{plain}-iscsi-{iqn}-lun-{lun}"
        links = [name] if is_tcp else [one for one in self.paths() if _is_pci(one, name)]
        for link in links:
            if (found := self._find_link("by-path", link)) is not None:
                return found
        host = self.iscsi_hosts(iqn).get(portal)
        disks = () if host is None else self._disks_of(host, lun)
        return next((self._dev / disk for disk in disks if (self._dev / disk).exists()), None)

    def paths(self) -> list[str]:
        """The names in /dev/disk/by-path."""
        with suppress(OSError):
            return sorted(os.listdir(self._dev / "disk/by-path"))
        return []

    def find_by_path(self, name: str) -> Path | None:
        return self._find_link("by-path", name)

    def find_by_id(self, name: str) -> Path | None:
        return self._find_link("by-id", name)

    def find_multipath(self, device: Path) -> Path | None:
        """The device mapping that has this disk as one of its paths.

        A logical volume, or what is encrypted, is a mapping too, but somebody else's.
        """
        for mapping in sorted(self._sys.glob("block/dm-*")):
            kind = _text(mapping / "dm/uuid")
            is_multipath = not kind or kind.startswith(_MULTIPATH)
            if is_multipath and (mapping / "slaves" / device.name).exists():
                return self._dev / mapping.name
        return None

    def slaves(self, mapping: Path) -> tuple[Path, ...]:
        """The disks below a device mapping; none when it is a disk itself."""
        with suppress(OSError):
            names = sorted(os.listdir(self._sys / "block" / mapping.name / "slaves"))
            return tuple(self._dev / name for name in names)
        return ()

    def is_in_use(self, disk: Path) -> bool:
        """Whether it, or a part of it, is mounted, mapped or claimed by anybody."""
        return is_block_device(disk) and is_busy(disk)

    def iscsi_disks(self, portal: str, iqn: str) -> tuple[Path, ...]:
        """All disks of a session, whoever has looked for them."""
        host = self.iscsi_hosts(iqn).get(portal)
        return () if host is None else tuple(self._dev / disk for disk in self._disks_of(host))

    def remove(self, disk: Path) -> None:
        """Let the kernel forget it. Gone already is a success; one that is in use is left alone."""
        path = self._sys / "block" / disk.name / "device/delete"
        if not path.exists():
            return
        if self.is_in_use(disk):
            _log.warning("a disk is left, since it is in use otherwise", disk=disk)
            return
        self._write(path, "1")

    def _sessions(self) -> Iterator[Path]:
        yield from sorted(self._sys.glob("class/iscsi_host/host*/device/session*"))

    def _disks_of(self, host: int, lun: int | None = None) -> Iterator[str]:
        place = self._sys / f"class/iscsi_host/host{host}/device"
        which = "*" if lun is None else lun
        for device in sorted(place.glob(f"session*/target*/{host}:*:{which}")):
            with suppress(OSError):
                yield from sorted(os.listdir(device / "block"))

    def _find_link(self, kind: str, name: str) -> Path | None:
        link = self._dev / "disk" / kind / name
        try:
            return link.resolve(strict=True)
        except OSError:
            return None

    def _write(self, path: Path, text: str) -> None:
        with refusals(f"write {text!r} to {path}"), path.open("w") as file:
            file.write(text)


def _is_pci(link: str, name: str) -> bool:
    return re.fullmatch(rf"pci-.*-{re.escape(name)}", link) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
