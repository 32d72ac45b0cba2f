"""Which capabilities a container has: the usual ones, what is added and what is dropped."""

import re
from collections.abc import Sequence
from pathlib import Path

from mooring.host.refusal import refusals
from mooring.oci.contract import Privileges

ALL = "ALL"

# In the kernel's order: the position is the number of the bit.
NAMES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)

# The default capabilities of containerd and Docker.
USUAL = (
    *("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID"),
    *("SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"),
)


def choose(privileges: Privileges, available: Sequence[str]) -> tuple[str, ...]:
    """The capabilities of a container, as `CAP_...`, in the kernel's order.

    Of the usual ones, and of all, a container gets those that this process has. One that is asked
    for by name is asked of the kernel, which may refuse it.
    """
    if privileges.is_privileged:
        return _spelled(set(available))
    added, dropped = _plain(privileges.add), _plain(privileges.drop)
    chosen = set(available) if ALL in added else set(USUAL) & set(available)
    if ALL in dropped:
        chosen = set()
    return _spelled((chosen | added - {ALL}) - dropped)


def available(status: Path = Path("/proc/self/status")) -> tuple[str, ...]:
    """The capabilities of this process, which bound those of containers. Raises: HostError."""
    with refusals(f"read {status}"):
        found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
    bits = int(found[1], 16) if found else 0
    return tuple(name for number, name in enumerate(NAMES) if bits >> number & 1)


def _plain(names: Sequence[str]) -> set[str]:
    return {name.upper().removeprefix("CAP_") for name in names}


def _spelled(names: set[str]) -> tuple[str, ...]:
    unknown = sorted(names - set(NAMES))
    return tuple(f"CAP_{name}" for name in (*NAMES, *unknown) if name in names)
