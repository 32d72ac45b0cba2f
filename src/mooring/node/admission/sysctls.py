"""Settings of the kernel that a pod may have for itself: the safe ones, and what the node allows.

A setting can be a pod's own only if it belongs to a namespace that the pod has. The network is the
host's in every pod here, so nothing below `net` can be had.
"""

import re
from collections.abc import Sequence
from enum import Enum

import msgspec

from mooring.errors import UsageError
from mooring.model.pod import Pod

FORBIDDEN = "SysctlForbidden"
MOST_CHARACTERS = 253
_PATTERN = re.compile(
    r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*(\*|[a-z0-9]([-_a-z0-9]*[a-z0-9])?\*?)"
)


class Space(Enum):
    """Which namespace a setting belongs to, as messages call it."""

    IPC = "IPC"
    NETWORK = "Net"
    HOST_NAME = "UTS"


# The prefixes msg and shm stand for patterns such as `kernel.shm*`.
_NAMED = {
    "kernel.domainname": Space.HOST_NAME,
    **dict.fromkeys(("kernel.sem", "kernel.shm", "kernel.msg"), Space.IPC),
    **dict.fromkeys(("kernel.shmall", "kernel.shmmax", "kernel.shmmni"), Space.IPC),
    **dict.fromkeys(("kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"), Space.IPC),
    "kernel.shm_rmid_forced": Space.IPC,
}
_BELOW = {"net.": Space.NETWORK, "fs.mqueue.": Space.IPC}

SAFE = (
    "kernel.shm_rmid_forced",
    *("net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range"),
    *("net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports"),
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    *("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
)


class Allowed(msgspec.Struct, frozen=True):
    """Settings by name, and beginnings of names."""

    names: frozenset[str] = frozenset(SAFE)
    prefixes: tuple[str, ...] = ()


def allowed(unsafe: Sequence[str]) -> Allowed:
    """The safe ones, and `unsafe`: names, or patterns that end in `*`.

    Raises: UsageError for what is neither, and for what belongs to no namespace.
    """
    names, prefixes = set(SAFE), []
    for word in unsafe:
        if len(word) > MOST_CHARACTERS or not _PATTERN.fullmatch(word):
            raise UsageError(
                f'--allowed-unsafe-sysctls: "{word}" is neither a sysctl nor the beginning of some'
            )
        name = plain(word)
        prefix = name.removesuffix("*")
        if find_space(prefix) is None:
            raise UsageError(
                f'--allowed-unsafe-sysctls: "{word}" is not known to be namespaced: a pod that set '
                "it would set it for the whole machine"
            )
        if name == prefix:
            names.add(name)
        else:
            prefixes.append(prefix)
    return Allowed(frozenset(names), tuple(prefixes))


def plain(name: str) -> str:
    """With dots between its parts: `net/ipv4/conf/eno1.7/x` is `net.ipv4.conf.eno1/7.x`."""
    first = next((letter for letter in name if letter in "./"), ".")
    return name if first == "." else name.translate(str.maketrans("./", "/."))


def find_space(name: str) -> Space | None:
    if name in _NAMED:
        return _NAMED[name]
    return next((space for begin, space in _BELOW.items() if name.startswith(begin)), None)


def why_not(pod: Pod, allowed: Allowed) -> str:
    """Why the pod cannot have its settings, in the kubelet's words; empty: it can."""
    for setting in pod.spec.security_context.sysctls:
        name = plain(setting.name)
        if name not in allowed.names and not name.startswith(allowed.prefixes):
            return f'forbidden sysctl: "{name}" not allowlisted'
        match find_space(name):
            case None:
                return f'forbidden sysctl: "{name}" not allowlisted'
            case Space.NETWORK as space:  # of every pod here
                return f'forbidden sysctl: "{name}" not allowed with host {space.value} enabled'
            case Space.IPC as space if pod.spec.host_ipc:
                return f'forbidden sysctl: "{name}" not allowed with host {space.value} enabled'
            case _:
                pass
    return ""
