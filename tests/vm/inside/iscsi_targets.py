"""iSCSI targets by tgt on this machine, and its initiator."""

import signal
from pathlib import Path

import msgspec

from tests.vm.inside.programs import eventually, sh

PORTAL = "127.0.0.1"
DISKS = Path("/run/disks")
MEGABYTES = 64
_PORT = 3260  # of the first server; each further one has the next


class Target(msgspec.Struct, frozen=True):
    iqn: str
    disks: dict[int, Path]  # the files behind its LUNs

    @property
    def has_session(self) -> bool:
        return self.iqn in sh("iscsiadm -m session 2>&1 || true")


class IscsiTargets:
    """One server of targets; the first of a machine answers at all its addresses."""

    def __init__(self, server: int = 0) -> None:
        self._count = 0
        self._server = server
        self._tgt = f"tgtadm -C {server} --lld iscsi --mode"
        self.portal = f"{PORTAL}:{_PORT + server}"

    def start(self) -> None:
        sh(
            "modprobe iscsi_tcp && modprobe sd_mod && modprobe ext4;"
            f"mkdir -p {DISKS} /run/lock/iscsi /etc/iscsi;"
            "echo InitiatorName=iqn.2026-11.com.example:node > /etc/iscsi/initiatorname.iscsi;"
            "tgtd; iscsid"
        )

    def start_beside(self) -> None:
        """A further server; the initiator is there already."""
        sh(f"tgtd -C {self._server} --iscsi portal={self.portal}")

    def add(self, luns: int = 1, user: str = "", password: str = "", iqn: str = "") -> Target:
        self._count += 1
        number = self._count
        iqn = iqn or f"iqn.2026-11.com.example:target{self._server}.{number}"
        make = f"{self._tgt} target --op new --tid {number} -T {iqn}"
        eventually(lambda: sh(f"{make} && echo made || true") == "made", "tgtd answers")
        disks = {lun: DISKS / f"{self._server}-{number}-{lun}" for lun in range(1, luns + 1)}
        for lun, path in disks.items():
            sh(f"truncate -s {MEGABYTES}M {path}")
            sh(f"{self._tgt} logicalunit --op new --tid {number} --lun {lun} -b {path}")
        sh(f"{self._tgt} target --op bind --tid {number} -I ALL")
        if user:
            self._add_user(user, password)
            sh(f"{self._tgt} account --op bind --tid {number} --user {user}")
        return Target(iqn, disks)

    def close_discovery(self, user: str, password: str) -> None:
        """Only this user may ask what targets there are."""
        self._add_user(user, password)
        sh(f"{self._tgt} account --op bind --user {user}")

    def _add_user(self, user: str, password: str) -> None:
        sh(f"{self._tgt} account --op new --user {user} --password {password}")

    def silence(self) -> None:
        """All targets stop answering, in the middle of whatever they do."""
        sh(f"kill -{signal.SIGSTOP} $(pidof tgtd)")

    def wake(self) -> None:
        sh(f"kill -{signal.SIGCONT} $(pidof tgtd)")
