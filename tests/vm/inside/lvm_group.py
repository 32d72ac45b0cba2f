"""A volume group with a thin pool, on a file in memory; and the bundled driver on it."""

import subprocess
from pathlib import Path

from tests.clients.nodes import NODE, ServerWithNode
from tests.fakes.real_server import command
from tests.vm.inside.programs import eventually, sh

GROUP = "vg0"
NAME = "lvm.csi.mooring.dev"
DISK = Path("/run/physical-volume")
SHIMS = Path("/run/shims")
_WITHOUT_UDEV = "--config 'activation{udev_sync=0 udev_rules=0}'"
# Runs the real command, and kills the driver before or after it, once.
_SHIM = """#!/bin/bash
[ "$(cat {at} 2>/dev/null)" = before-{name} ] && {{ rm {at}; kill -9 $PPID; exit 1; }}
/usr/sbin/{name} "$@"; code=$?
[ "$(cat {at} 2>/dev/null)" = after-{name} ] && {{ rm {at}; kill -9 $PPID; }}
exit $code
"""
_AT = SHIMS / "kill-at"


def make_group(megabytes: int = 1400) -> None:
    sh("for m in loop dm_mod dm_thin_pool ext4 xfs; do modprobe $m; done")
    sh(f"truncate -s {megabytes}M {DISK}")
    device = sh(f"losetup --find --show {DISK}")
    sh(f"pvcreate -q {device} && vgcreate -q {GROUP} {device}")
    size = megabytes - 100
    sh(f"lvcreate -q -y {_WITHOUT_UDEV} --type thin-pool -L {size}M -n pool {GROUP} 2>/dev/null")


def lvs(*fields: str, group: str = GROUP) -> list[list[str]]:
    """The named fields of each logical volume but the pool."""
    words = ",".join(("lv_name", *fields))
    told = sh(f"lvs --noheadings --nosuffix --units b --separator ' ' -o {words} {group}")
    return [row for row in (line.split() for line in told.splitlines()) if row[0] != "pool"]


class LvmDriver:
    """`mooring driver --backend lvm`, and the registrar that tells the node of it."""

    def __init__(self, server: ServerWithNode, state_dir: Path, name: str = NAME) -> None:
        self._node_root = server.node_root
        self._state_dir = state_dir
        self._name = name
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.socket = self._node_root / "plugins" / name / "csi.sock"
        self.log = state_dir.with_name(f"{state_dir.name}.log")

    def start(self) -> None:
        """After: it answers, and the node knows of it."""
        self._spawn(
            "driver",
            *("driver", "--backend", "lvm", "--volume-group", GROUP, "--driver-name", self._name),
            *("--node-id", NODE, "--state-dir", str(self._state_dir)),
            *("--endpoint", f"unix://{self.socket}"),
        )
        if "registrar" not in self._processes:
            registrations = str(self._node_root / "plugins_registry")
            self._spawn(
                "registrar",
                *("sidecar", "registrar", "--csi-address", str(self.socket)),
                *("--plugin-registration-path", registrations),
                *("--kubelet-registration-path", str(self.socket)),
            )
        eventually(lambda: f"{self._name} is serving" in self._said(), f"it serves: {self.log}")

    @property
    def is_running(self) -> bool:
        return self._processes["driver"].poll() is None

    def kill_at(self, moment: str) -> None:
        """`before-lvcreate`, `after-lvremove` and so on; once."""
        _AT.write_text(moment)

    def await_kill(self) -> None:
        eventually(lambda: not self.is_running, "the driver was killed")
        self._processes.pop("driver").wait()
        self.log.rename(self.log.with_suffix(".killed"))

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(60)
        self._processes.clear()

    def _spawn(self, which: str, *words: str) -> None:
        with self.log.open("ab") as log:
            self._processes[which] = subprocess.Popen(  # noqa: S603  our own program
                command(*words),
                stdout=log,
                stderr=log,
                env={"PATH": f"{SHIMS}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
            )

    def _said(self) -> str:
        assert self.is_running, self.log.read_text()
        return self.log.read_text()


def make_shims() -> None:
    SHIMS.mkdir(exist_ok=True)
    for name in ("lvcreate", "lvremove", "lvextend", "lvchange"):
        shim = SHIMS / name
        shim.write_text(_SHIM.format(name=name, at=_AT))
        shim.chmod(0o755)
