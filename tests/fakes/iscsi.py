"""An initiator and its disks that exist only in memory."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from mooring.host.command import Finished
from mooring.host.scsi import ScsiTree

DEFAULT_IFACE = """# BEGIN RECORD 2.1.8
iface.iscsi_ifacename = default
iface.net_ifacename = <empty>
iface.hwaddress = <empty>
iface.transport_name = tcp
iface.initiatorname = <empty>
# END RECORD
"""


class FakeInitiator:
    """`Iscsiadm`. Portals in `dead` refuse the discovery."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.sessions: dict[tuple[str, str], int] = {}  # by portal and target: the SCSI host
        self.ifaces = {"default"}
        self.dead: set[str] = set()
        self.refuses: set[str] = set()  # commands that hold one of these words
        self._hosts = 2

    def __call__(self, *words: str) -> Finished:
        self.calls.append(" ".join(words))
        code, told = self._act(dict(pairwise(words)), words)
        return Finished(("iscsiadm", *words), code, told)

    def _act(self, options: Mapping[str, str], words: tuple[str, ...]) -> tuple[int, str]:
        if self.refuses & set(words):
            return 6, "iscsiadm: refused"
        if options["-m"] == "iface":
            return self._on_iface(options)
        portal = options["-p"]
        if "--discover" in words and portal in self.dead:
            return 4, "iscsiadm: connection login retries (reopen_max) 5 exceeded"
        if "--login" in words:
            self._hosts += 1
            self.sessions.setdefault((portal, options["-T"]), self._hosts)
        if "--logout" in words and self.sessions.pop((portal, options["-T"]), None) is None:
            return 21, "iscsiadm: No matching sessions found"
        return 0, ""

    def _on_iface(self, options: Mapping[str, str]) -> tuple[int, str]:
        match options["-o"]:
            case "show":
                return (0, DEFAULT_IFACE) if options["-I"] in self.ifaces else (6, "no such iface")
            case "new":
                is_there = options["-I"] in self.ifaces
                self.ifaces.add(options["-I"])
                return (15, "exists") if is_there else (0, "")
            case "delete":
                self.ifaces.discard(options["-I"])
                return 0, ""
            case _:
                return 0, ""


class FakeScsi(ScsiTree):
    """The disks that those sessions show, once they are looked for."""

    def __init__(self, initiator: FakeInitiator) -> None:
        super().__init__(Path("/nowhere"))
        self.scans: list[tuple[int, int]] = []
        self.disks: dict[tuple[int, int], Path] = {}  # by host and LUN
        self.mapping: Path | None = None
        self.removed: list[str] = []
        self.used: set[Path] = set()  # by the machine itself
        self._initiator = initiator

    def iscsi_hosts(self, iqn: str) -> Mapping[str, int]:
        known = self._initiator.sessions.items()
        return {portal: host for (portal, target), host in known if target == iqn}

    def scan(self, host: int, lun: int) -> None:
        self.scans.append((host, lun))
        self.disks.setdefault((host, lun), Path(f"/dev/sd{chr(ord('a') + len(self.disks))}"))

    def find_iscsi_device(
        self, portal: str, iqn: str, lun: int, *, is_tcp: bool = True
    ) -> Path | None:
        return self.disks.get((self.iscsi_hosts(iqn).get(portal, -1), lun))

    def find_multipath(self, device: Path) -> Path | None:
        return self.mapping if device in self.disks.values() else None

    def slaves(self, mapping: Path) -> tuple[Path, ...]:
        return tuple(self.disks.values()) if mapping == self.mapping else ()

    def is_in_use(self, disk: Path) -> bool:
        return disk in self.used

    def iscsi_disks(self, portal: str, iqn: str) -> tuple[Path, ...]:
        session = self.iscsi_hosts(iqn).get(portal)
        return tuple(path for (host, _), path in self.disks.items() if host == session)

    def remove(self, disk: Path) -> None:
        if self.is_in_use(disk):
            return
        self.removed.append(str(disk))
        self.disks = {key: path for key, path in self.disks.items() if path != disk}
