"""`make test-vm`: the tests of `tests/vm/inside`, in a machine whose kernel has what they need.

    python -m tests.vm.run [arguments of pytest]

MOORING_VM_CPUS, MOORING_VM_MB and MOORING_VM_SECONDS change the machine.
"""

import os
import shlex
import shutil
import sys
import time
from pathlib import Path

from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.vm.machine import ENDED, CannotBoot, Size, boot

TREE = Path(__file__).parents[2]
CACHE = TREE / ".cache" / "vm"
INSIDE = "tests/vm/inside"
SERVERS = {
    "mount.nfs": "nfs-common",
    "rpc.nfsd": "nfs-kernel-server",
    "rpcbind": "rpcbind",
    "tgtd": "tgt",
    "iscsiadm": "open-iscsi",
    "modprobe": "kmod",
}


def main() -> int:
    try:
        _check()
        return _run_tests(sys.argv[1:] or [INSIDE])
    except (CannotBoot, Missing) as reason:
        sys.stdout.write(f"tests in a virtual machine are skipped: {reason}\n")
        return 0


def _check() -> None:
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [package for name, package in SERVERS.items() if not shutil.which(name, path=places)]
    if missing:
        raise CannotBoot(f"install {' '.join(missing)}")
    find_kubectl(Age.USUAL)  # the machine has no network to fetch it from


def _run_tests(arguments: list[str]) -> int:
    size = Size(
        int(os.environ.get("MOORING_VM_CPUS", "2")),
        int(os.environ.get("MOORING_VM_MB", "4096")),
        int(os.environ.get("MOORING_VM_SECONDS", "3600")),
    )
    pytest = f"MOORING_VM=1 PYTHONDONTWRITEBYTECODE=1 {TREE}/.venv/bin/python -m pytest"
    usual = "-n 0 -v -s -p no:cacheprovider -o timeout=900 --durations=0 --basetemp=/run/tests"
    command = f"{pytest} {usual} {shlex.join(arguments)}"
    start, code = time.monotonic(), None
    for line in boot(CACHE, TREE, command, size):
        sys.stdout.write(f"{time.monotonic() - start:6.0f} s  {line}\n")
        sys.stdout.flush()
        if line.startswith(ENDED):
            code = int(line.split()[-1])
    sys.stdout.write(f"in the virtual machine: {time.monotonic() - start:.0f} s\n")
    if code is None:
        sys.stdout.write("the machine ended before its tests\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
