"""iSCSI targets by tgt on this machine, and its initiator."""

import signal
from pathlib import Path

import msgspec

from tests.vm.inside.programs import eventually, sh

PORTAL = "127.0.0.1"
DISKS = Path("/run/disks")
MEGABYTES = 64
_TGT = "tgtadm --lld iscsi --mode"


class Target(msgspec.Struct, frozen=True):
    iqn: str
    disks: dict[int, Path]  # the files behind its LUNs

    @property
    def has_session(self) -> bool:
        return self.iqn in sh("iscsiadm -m session 2>&1 || true")


class IscsiTargets:
    def __init__(self) -> None:
        self._count = 0

    def start(self) -> None:
        sh(
            "modprobe iscsi_tcp && modprobe sd_mod && modprobe ext4;"
            f"mkdir -p {DISKS} /run/lock/iscsi /etc/iscsi;"
            "echo InitiatorName=iqn.2026-11.com.example:node > /etc/iscsi/initiatorname.iscsi;"
            "tgtd; iscsid"
        )

    def add(self, luns: int = 1, user: str = "", password: str = "") -> Target:
        self._count += 1
        number = self._count
        iqn = f"iqn.2026-11.com.example:target{number}"
        eventually(
            lambda: (
                sh(f"{_TGT} target --op new --tid {number} -T {iqn} && echo made || true") == "made"
            ),
            "tgtd answers",
        )
        disks = {lun: DISKS / f"{number}-{lun}" for lun in range(1, luns + 1)}
        for lun, path in disks.items():
            sh(f"truncate -s {MEGABYTES}M {path}")
            sh(f"{_TGT} logicalunit --op new --tid {number} --lun {lun} -b {path}")
        sh(f"{_TGT} target --op bind --tid {number} -I ALL")
        if user:
            sh(f"{_TGT} account --op new --user {user} --password {password}")
            sh(f"{_TGT} account --op bind --tid {number} --user {user}")
        return Target(iqn, disks)

    def silence(self) -> None:
        """All targets stop answering, in the middle of whatever they do."""
        sh(f"kill -{signal.SIGSTOP} $(pidof tgtd)")

    def wake(self) -> None:
        sh(f"kill -{signal.SIGCONT} $(pidof tgtd)")
