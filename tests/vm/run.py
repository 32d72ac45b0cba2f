"""`make test-vm`: suites that need a kernel with NFS, iSCSI and device-mapper, in one machine.

    python -m tests.vm.run [arguments of pytest]

A test that needs a second machine on the same wire prints `START_SECOND`, and `KILL_SECOND` when
that one shall lose its power; one that needs what only a network has prints `BRING_LVM_LOCALPV`,
and finds it in the directory that both machines share. MOORING_VM_CPUS, MOORING_VM_MB and
MOORING_VM_SECONDS change the first machine; the last one is the limit for the whole run.
"""

import compileall
import os
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.vm import lvm_localpv
from tests.vm.machine import ENDED, CannotBoot, Machine, Size, Wire
from tests.vm.words import BRING_LVM_LOCALPV, KILL_SECOND, START_SECOND

TREE = Path(__file__).parents[2]
CACHE = TREE / ".cache" / "vm"
SUITES = (
    "tests/vm/inside",
    *("--ignore=tests/vm/inside/test_ceph.py", "--ignore=tests/vm/inside/test_lvm_localpv.py"),
)
"""All but two that have targets of their own."""
SECOND = f"bash {Path(__file__).with_name('second.sh')}"
SECOND_MEGABYTES = 2048
SERVERS = {
    "mount.nfs": "nfs-common",
    "rpc.nfsd": "nfs-kernel-server",
    "rpcbind": "rpcbind",
    "tgtd": "tgt",
    "iscsiadm": "open-iscsi",
    "modprobe": "kmod",
    "lvm": "lvm2",
    "thin_check": "thin-provisioning-tools",
    "multipathd": "multipath-tools",
    "udevadm": "udev",
}


def main() -> int:
    try:
        _check()
        return _run_tests(sys.argv[1:] or list(SUITES))
    except (CannotBoot, Missing) as reason:
        sys.stdout.write(f"tests in a virtual machine are skipped: {reason}\n")
        return 0


def _check() -> None:
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [package for name, package in SERVERS.items() if not shutil.which(name, path=places)]
    if missing:
        raise CannotBoot(f"install {' '.join(missing)}")
    find_kubectl(Age.USUAL)  # the machine has no network to fetch it from


class Run:
    """The first machine, and the second one when it is wanted."""

    def __init__(self, directory: Path, size: Size) -> None:
        self._directory = directory
        self._size = size
        self._began = time.monotonic()
        self._second: Machine | None = None
        self._shared = directory / "shared"
        self._shared.mkdir()

    def tests(self, arguments: list[str]) -> int | None:
        """The exit code of pytest; None: the machine ended before it."""
        pytest = f"MOORING_VM=1 PYTHONDONTWRITEBYTECODE=1 {TREE}/.venv/bin/python -m pytest"
        usual = "-n 0 -v -s --color=no --tb=short -p no:cacheprovider -o timeout=900"
        command = f"{pytest} {usual} --basetemp=/run/tests {shlex.join(arguments)}"
        wire = Wire(self._directory, 1)
        code = None
        for line in Machine(CACHE, TREE, command, self._size, wire).lines():
            self._say(line)
            if START_SECOND in line:
                self._start_second()
            elif KILL_SECOND in line and self._second is not None:
                self._second.pull_the_plug()
            elif BRING_LVM_LOCALPV in line:
                lvm_localpv.bring(self._shared / lvm_localpv.PLACE, self._say)
            elif line.startswith(ENDED):
                code = int(line.split()[-1])
        return code

    def end(self) -> None:
        if self._second is not None:
            self._second.pull_the_plug()

    def _start_second(self) -> None:
        size = Size(self._size.cpus, SECOND_MEGABYTES, self._size.seconds)
        second = Machine(CACHE, TREE, SECOND, size, Wire(self._directory, 2))
        self._second = second

        def tell() -> None:
            for line in second.lines():
                self._say(f"  second machine: {line}")

        Thread(target=tell, daemon=True).start()

    def _say(self, line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self._began:6.0f} s  {line}\n")
        sys.stdout.flush()


def _run_tests(arguments: list[str]) -> int:
    size = Size(
        int(os.environ.get("MOORING_VM_CPUS", "2")),
        int(os.environ.get("MOORING_VM_MB", "4096")),
        int(os.environ.get("MOORING_VM_SECONDS", "5400")),
    )
    started = time.monotonic()
    for part in ("src", "tests"):  # in the machine every process would do it for itself
        compileall.compile_dir(TREE / part, quiet=1)
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="mooring-vm-"))
        run = Run(Path(place), size)
        stack.callback(run.end)
        code = run.tests(arguments)
    took = time.monotonic() - started
    sys.stdout.write(f"in the virtual machine: {took:.0f} s of {size.seconds}\n")
    if code is None:
        sys.stdout.write("the machine ended before its tests\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
