"""The system calls about mounts; the only module in Mooring that makes them.

Python has none of them, so they go through ctypes. The newer ones (`open_tree`, `mount_setattr`,
`move_mount`) have the same numbers on every architecture that Python runs on.
"""

import ctypes
import errno
import os
import struct
from pathlib import Path

from mooring.errors import HostError, KernelRefused
from mooring.host.mount_options import MountFlag
from mooring.host.refusal import reason

DATA_LIMIT = 4095  # bytes; the kernel silently drops the rest

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_NO_AUTOMOUNT = 0x800
_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000
_STATX_BYTES = 256
_STATX_ATTRIBUTES = struct.Struct("8xQ40xQ")  # stx_attributes, stx_attributes_mask
_STATX_ATTR_MOUNT_ROOT = 0x2000

_MNT_DETACH = 2
_UMOUNT_NOFOLLOW = 8

_OPEN_TREE = 428
_MOVE_MOUNT = 429
_FSOPEN = 430
_FSCONFIG = 431
_FSMOUNT = 432
_MOUNT_SETATTR = 442
_OPEN_TREE_CLONE = 1
_AT_RECURSIVE = 0x8000
_MOVE_MOUNT_F_EMPTY_PATH = 4
_CLOEXEC = 1  # FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC
_FSCONFIG_CMD_CREATE = 6
_MOUNT_ATTR = struct.Struct("4Q")  # attr_set, attr_clr, propagation, userns_fd
_ATTRIBUTES = {
    MountFlag.RDONLY: 0x1,
    MountFlag.NOSUID: 0x2,
    MountFlag.NODEV: 0x4,
    MountFlag.NOEXEC: 0x8,
    MountFlag.NODIRATIME: 0x80,
    MountFlag.NOSYMFOLLOW: 0x200000,
}
_ATTR_IDMAP = 0x100000
_ATTR_ATIME_MASK = 0x70
_ATTR_RELATIME, _ATTR_NOATIME, _ATTR_STRICTATIME = 0x00, 0x10, 0x20


def mount(source: str, target: Path, fs_type: str, flags: MountFlag, data: str = "") -> None:
    """mount(2).

    Raises: KernelRefused; its text has no part of `data`.
    """
    options = _bytes(data)
    if len(options) > DATA_LIMIT:
        raise HostError(f"{target}: the mount options are longer than {DATA_LIMIT} bytes")
    failed = _libc.mount(
        _bytes(source), _bytes(target), _bytes(fs_type), ctypes.c_ulong(flags), options or None
    )
    if failed:
        number = ctypes.get_errno()
        raise KernelRefused(_explain_mount(number, source, target, fs_type), number)


def unmount(target: Path) -> None:
    """umount2(2), which does not follow a symbolic link at the end of `target`."""
    if _libc.umount2(_bytes(target), _UMOUNT_NOFOLLOW):
        number = ctypes.get_errno()
        raise KernelRefused(_explain_unmount(number, target), number)


def detach_lazily(target: Path) -> None:
    """umount2(2) with MNT_DETACH: out of sight now, and gone when nobody uses it any more."""
    if _libc.umount2(_bytes(target), _UMOUNT_NOFOLLOW | _MNT_DETACH):
        number = ctypes.get_errno()
        raise KernelRefused(_explain_unmount(number, target), number)


def is_mount_root(path: Path) -> bool | None:
    """Whether `path` is the root of a mount; None on kernels (before 5.8) that do not say.

    Raises: OSError as stat would.
    """
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    how = _AT_STATX_DONT_SYNC | _AT_SYMLINK_NOFOLLOW | _AT_NO_AUTOMOUNT
    if _libc.statx(_AT_FDCWD, _bytes(path), how, 0, buffer):
        number = ctypes.get_errno()
        if number == errno.ENOSYS:
            return None
        raise OSError(number, os.strerror(number), str(path))
    attributes, known = _STATX_ATTRIBUTES.unpack_from(buffer)
    return bool(attributes & _STATX_ATTR_MOUNT_ROOT) if known & _STATX_ATTR_MOUNT_ROOT else None


def bind_at_once(source: Path, target: Path, flags: MountFlag) -> None:
    """Bind `source` at `target`, with all flags in force from the start.

    So not even a crash leaves a writable mount in place of a read-only one. Needs Linux 5.12:
    ENOSYS before.
    """
    tree = _call(_OPEN_TREE, source, _AT_FDCWD, source, _OPEN_TREE_CLONE | os.O_CLOEXEC)
    try:
        attributes = _attributes(flags)
        _call(_MOUNT_SETATTR, target, tree, b"", _AT_EMPTY_PATH, attributes, len(attributes))
        _call(_MOVE_MOUNT, target, tree, b"", _AT_FDCWD, target, _MOVE_MOUNT_F_EMPTY_PATH)
    except KernelRefused as refused:
        if refused.errno == errno.EINVAL and source.is_dir() is not target.is_dir():
            text = f"{target}: a directory does not fit on a file, nor a file on a directory"
            raise KernelRefused(text, errno.ENOTDIR) from refused
        raise
    finally:
        os.close(tree)


def open_view(directory: int) -> int:
    """A descriptor (O_PATH) of a detached bind of a directory, which ends when it is closed.

    Like any bind of the directory, it does not show the mounts inside it.
    Raises: KernelRefused; needs Linux 5.2 and the right to mount.
    """
    how = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH
    return _call(_OPEN_TREE, Path("open_tree"), directory, b"", how)


def open_file_system(fs_type: str) -> int:
    """A descriptor (O_PATH) of the root of a kernel's own file system, such as tracefs, that is
    mounted nowhere and gone when it is closed.

    Raises: KernelRefused; needs Linux 5.2 and the right to mount.
    """
    place = Path(fs_type)
    context = _call(_FSOPEN, place, _bytes(fs_type), _CLOEXEC)
    try:
        _call(_FSCONFIG, place, context, _FSCONFIG_CMD_CREATE, 0, 0, 0)
        return _call(_FSMOUNT, place, context, _CLOEXEC, 0)
    finally:
        os.close(context)


def bind_mapped(source: Path, target: Path, user_namespace: int, *, recursive: bool) -> None:
    """Bind `source` at `target`, id-mapped by a user namespace: files of 0 on the disk belong to
    the namespace's 0 at `target`.

    Mounts inside `source` appear too if `recursive`, but are not mapped. Mounts and unmounts in
    `source` propagate to `target`, never back: unmounting `target` must not unmount `source`.
    Needs Linux 5.12, and a file system that supports id-mapped mounts.
    """
    how = _OPEN_TREE_CLONE | os.O_CLOEXEC | (_AT_RECURSIVE if recursive else 0)
    tree = _call(_OPEN_TREE, source, _AT_FDCWD, source, how)
    try:
        apart = _MOUNT_ATTR.pack(0, 0, MountFlag.SLAVE, 0)
        everywhere = _AT_EMPTY_PATH | _AT_RECURSIVE
        _call(_MOUNT_SETATTR, source, tree, b"", everywhere, apart, len(apart))
        wish = _MOUNT_ATTR.pack(_ATTR_IDMAP, 0, 0, user_namespace)
        _call(_MOUNT_SETATTR, source, tree, b"", _AT_EMPTY_PATH, wish, len(wish))
        _call(_MOVE_MOUNT, target, tree, b"", _AT_FDCWD, target, _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def bind_in_two_steps(source: Path, target: Path, flags: MountFlag) -> None:
    """Bind, then remount with `flags`; on any kernel. A refused remount undoes the bind."""
    mount(str(source), target, "", MountFlag.BIND)
    try:
        # With BIND: without it the file system itself would become read-only, at all its mounts.
        mount(str(source), target, "", MountFlag.BIND | MountFlag.REMOUNT | flags)
    except HostError:
        unmount(target)
        raise


def _attributes(flags: MountFlag) -> bytes:
    setting = sum(bit for flag, bit in _ATTRIBUTES.items() if flag in flags)
    clearing = 0
    for flag, atime in (
        (MountFlag.STRICTATIME, _ATTR_STRICTATIME),
        (MountFlag.NOATIME, _ATTR_NOATIME),
        (MountFlag.RELATIME, _ATTR_RELATIME),
    ):  # in mount(2)'s order of precedence
        if flag in flags:
            setting, clearing = setting | atime, _ATTR_ATIME_MASK
            break
    return _MOUNT_ATTR.pack(setting, clearing, 0, 0)


def _call(number: int, about: Path, *arguments: int | bytes | Path) -> int:
    """syscall(2); `about` is the path in the error text."""
    words = [
        ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(_bytes(word))
        for word in arguments
    ]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        failure = ctypes.get_errno()
        raise KernelRefused(f"{about}: {reason(failure)}", failure)
    return result


def _bytes(text: str | bytes | Path) -> bytes:
    encoded = os.fsencode(text)
    if b"\0" in encoded and not isinstance(text, bytes):
        raise HostError("a NUL byte cannot be part of a path or a mount option")
    return encoded


def _explain_mount(number: int, source: str, target: Path, fs_type: str) -> str:
    match number:
        case errno.EPERM:
            why = "mounting is for root alone (it needs CAP_SYS_ADMIN)"
        case errno.ENOENT if not os.path.lexists(target):
            why = "mount point does not exist"
        case errno.ENOENT:
            why = f"special device {source} does not exist"
        case errno.ENODEV:
            why = f"unknown filesystem type '{fs_type}'"
        case errno.ENOTBLK:
            why = f"{source} is not a block device"
        case errno.ENOTDIR:
            why = "mount point is not a directory, or a directory does not fit on it"
        case errno.EBUSY:
            why = f"{source} already mounted or mount point busy"
        case errno.EINVAL:
            why = (
                f"wrong fs type, bad option, bad superblock on {source}, or a type that needs "
                f"the helper program mount.{fs_type}"
            )
        case errno.EACCES | errno.EROFS:
            why = f"cannot open {source} as asked, is it write-protected? {reason(number)}"
        case errno.ENOSPC:
            why = "the limit of mounts (fs.mount-max) is reached"
        case _:
            why = f"mount({source}, {fs_type}) failed: {reason(number)}"
    return f"mount: {target}: {why}."


def _explain_unmount(number: int, target: Path) -> str:
    match number:
        case errno.EBUSY:
            why = "target is busy"
        case errno.EINVAL:
            why = "not mounted"
        case errno.EPERM:
            why = "unmounting is for root alone (it needs CAP_SYS_ADMIN)"
        case _:
            why = reason(number)
    return f"umount: {target}: {why}."
