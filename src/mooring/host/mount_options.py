"""Mount options: the words of mount(8), and the flags and data that the kernel takes for them."""

import ipaddress
from collections.abc import Iterable
from enum import IntFlag

import msgspec

from mooring.host.mountinfo import split_options


class MountFlag(IntFlag):
    """The MS_ flags of mount(2)."""

    RDONLY = 1
    NOSUID = 2
    NODEV = 4
    NOEXEC = 8
    SYNCHRONOUS = 16
    REMOUNT = 32
    MANDLOCK = 64
    DIRSYNC = 128
    NOSYMFOLLOW = 256
    NOATIME = 1024
    NODIRATIME = 2048
    BIND = 4096
    REC = 16384
    SILENT = 32768
    UNBINDABLE = 1 << 17
    PRIVATE = 1 << 18
    SLAVE = 1 << 19
    SHARED = 1 << 20
    RELATIME = 1 << 21
    I_VERSION = 1 << 23
    STRICTATIME = 1 << 24
    LAZYTIME = 1 << 25


NOTHING = MountFlag(0)
OWNERS = MountFlag.NOSUID | MountFlag.NODEV
USERS = OWNERS | MountFlag.NOEXEC

# The flags of a mount, as opposed to those of its file system: all that a bind can have.
PER_MOUNT = (
    MountFlag.RDONLY
    | MountFlag.NOSUID
    | MountFlag.NODEV
    | MountFlag.NOEXEC
    | MountFlag.NOSYMFOLLOW
    | MountFlag.NOATIME
    | MountFlag.NODIRATIME
    | MountFlag.RELATIME
    | MountFlag.STRICTATIME
)

SETS = {
    "ro": MountFlag.RDONLY,
    "nosuid": MountFlag.NOSUID,
    "nodev": MountFlag.NODEV,
    "noexec": MountFlag.NOEXEC,
    "sync": MountFlag.SYNCHRONOUS,
    "remount": MountFlag.REMOUNT,
    "mand": MountFlag.MANDLOCK,
    "dirsync": MountFlag.DIRSYNC,
    "nosymfollow": MountFlag.NOSYMFOLLOW,
    "noatime": MountFlag.NOATIME,
    "nodiratime": MountFlag.NODIRATIME,
    "silent": MountFlag.SILENT,
    "relatime": MountFlag.RELATIME,
    "iversion": MountFlag.I_VERSION,
    "strictatime": MountFlag.STRICTATIME,
    "lazytime": MountFlag.LAZYTIME,
    # Which users may mount: the kernel has no such flag; in mount(8) they imply noexec and others.
    "user": USERS,
    "users": USERS,
    "owner": OWNERS,
    "group": OWNERS,
}
CLEARS = {
    "rw": MountFlag.RDONLY,
    "suid": MountFlag.NOSUID,
    "dev": MountFlag.NODEV,
    "exec": MountFlag.NOEXEC,
    "async": MountFlag.SYNCHRONOUS,
    "nomand": MountFlag.MANDLOCK,
    "symfollow": MountFlag.NOSYMFOLLOW,
    "atime": MountFlag.NOATIME,
    "diratime": MountFlag.NODIRATIME,
    "loud": MountFlag.SILENT,
    "norelatime": MountFlag.RELATIME,
    "noiversion": MountFlag.I_VERSION,
    "nostrictatime": MountFlag.STRICTATIME,
    "nolazytime": MountFlag.LAZYTIME,
}
# For fstab and its readers; not passed to the kernel.
USER_SPACE = frozenset(
    ("defaults", "auto", "noauto", "nouser", "nousers", "noowner", "nogroup", "nofail", "_netdev")
)
USER_SPACE_STARTS = ("x-", "comment=")

# Options that only mount(8) implements.
PROGRAM_WORDS = frozenset(
    f"{recursive}{kind}"
    for recursive in ("", "r")
    for kind in ("shared", "private", "slave", "unbindable")
) | {"loop", "move", "rbind"}
PROGRAM_STARTS = ("X-", "loop=", "offset=", "sizelimit=", "helper=", "uhelper=")
PROGRAM_SOURCES = ("LABEL=", "UUID=", "PARTLABEL=", "PARTUUID=", "ID=")
HELPED_TYPES = frozenset(("nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs"))


class KernelOptions(msgspec.Struct, frozen=True):
    """Options as mount(2) takes them. `data` may hold secrets."""

    flags: MountFlag
    data: str


def translate(options: Iterable[str]) -> KernelOptions:
    """Known options become flags, the last one winning; all others become data of the driver."""
    flags, data = NOTHING, []
    for option in each(options):
        if option in SETS:
            flags |= SETS[option]
        elif option in CLEARS:
            flags &= ~CLEARS[option]
        elif option not in USER_SPACE and not option.startswith(USER_SPACE_STARTS):
            data.append(option)
    return KernelOptions(flags, ",".join(data))


def bind_flags(options: Iterable[str]) -> MountFlag:
    """The flags that the options add to a bind; other options have no meaning for one."""
    return translate(options).flags & PER_MOUNT


def bind_words(options: Iterable[str]) -> tuple[str, ...]:
    """The options that apply to a bind; none of them can be a secret."""
    known = (SETS.keys() | CLEARS.keys()) - {"remount"}
    return tuple(option for option in each(options) if option in known)


def needs_program(fs_type: str, source: str, options: Iterable[str]) -> bool:
    """Whether only mount(8) can mount it, because of the type, an option or the source."""
    return (
        fs_type in HELPED_TYPES
        or fs_type in ("", "auto")
        or fs_type.startswith("fuse")
        or "." in fs_type
        or source.startswith(PROGRAM_SOURCES)
        or any(_is_for_program(option) for option in each(options))
    )


def server_source(server: str, path: str) -> str:
    """`server:/path`, with an IPv6 address in brackets."""
    try:
        is_ipv6 = ipaddress.ip_address(server).version == 6
    except ValueError:
        is_ipv6 = False  # a host name, or already in brackets
    return f"[{server}]:{path}" if is_ipv6 else f"{server}:{path}"


def each(options: Iterable[str]) -> Iterable[str]:
    """Single options, also where one element holds several, separated by commas."""
    return (single for option in options for single in split_options(option))


def _is_for_program(option: str) -> bool:
    name, _, value = option.partition("=")
    if name in ("uid", "gid"):
        return not value.isdecimal()  # a name, to be looked up
    return option in PROGRAM_WORDS or option.startswith(PROGRAM_STARTS)
