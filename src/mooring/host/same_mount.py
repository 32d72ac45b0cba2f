"""Whether a file is on the mount where a walk began; the only module that decides this.

A walk that removes, owns, measures or copies must not leave its mount: a mount inside a volume
holds data of another volume, even if it is a bind of the same file system, with the same device
number. So mounts are compared by their ids. All functions raise OSError, as `os` does.
"""

import ctypes
import errno
import os
import re
import struct
from pathlib import Path

from mooring.host import no_follow

_AT_SYMLINK_NOFOLLOW = 0x100
_AT_NO_AUTOMOUNT = 0x800
_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000  # a server that is gone is not asked
_AT_FDCWD = -100
_STATX_MNT_ID = 0x1000
_STATX_BYTES = 256
_MASK = struct.Struct("I")  # stx_mask: the fields that the kernel has filled in
_MOUNT_ID = struct.Struct("Q")  # stx_mnt_id
_MOUNT_ID_AT = 0x90
_UNKNOWN = (errno.ENOSYS, errno.EPERM)  # EPERM: blocked by an old seccomp profile

_statx = ctypes.CDLL(None, use_errno=True)["statx"]
_statx.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p]


def enter(directory: int, name: str) -> int:
    """A descriptor of the directory `name`, for reading; a mount there is refused with EXDEV.

    A link is refused with ELOOP or ENOTDIR.
    """
    try:
        return no_follow.open_directory_at_once(directory, name)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
    opened = no_follow.open_directory(directory, name)
    try:
        is_same = mount_of(opened) == mount_of(directory)
    except BaseException:
        os.close(opened)
        raise
    if not is_same:
        os.close(opened)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return opened


def find_here(directory: int, name: str, inode: int, device: int) -> os.stat_result | None:
    """The stat of an entry, without following a link; None when the entry is a mount point.

    `inode` is the entry's number in the directory, and `device` that of the directory. If stat
    gives the same two, only the same file can be mounted there; so mount ids are rarely needed.
    Raises: FileNotFoundError when it has vanished.
    """
    seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if seen.st_ino == inode and seen.st_dev == device:
        return seen
    return seen if is_on_mount_of(directory, name) else None


def is_on_mount_of(directory: int, name: str) -> bool:
    """Whether an entry (not the target of a link) is on the same mount as its directory."""
    found = _ask(directory, os.fsencode(name), _AT_SYMLINK_NOFOLLOW | _AT_NO_AUTOMOUNT)
    if found is None:
        held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            found = mount_of(held)
        finally:
            os.close(held)
    return found == mount_of(directory)


def find_mount_at(path: Path, *, follow: bool = False) -> int | None:
    """The id of the mount that `path` is on, no file system being asked; None: nobody can say."""
    how = _AT_NO_AUTOMOUNT | _AT_STATX_DONT_SYNC | (0 if follow else _AT_SYMLINK_NOFOLLOW)
    try:
        return _ask(_AT_FDCWD, os.fsencode(path), how)
    except OSError:
        return None


def mount_of(descriptor: int) -> int:
    """The id of the mount that an open file is on."""
    found = _ask(descriptor, b"", _AT_EMPTY_PATH)
    return _mount_id_from_proc(descriptor) if found is None else found


def _ask(directory: int, name: bytes, how: int) -> int | None:
    """By statx; None on kernels (before 5.8) that do not say."""
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if _statx(directory, name, how, _STATX_MNT_ID, buffer):
        code = ctypes.get_errno()
        if code in _UNKNOWN:
            return None
        raise OSError(code, os.strerror(code), os.fsdecode(name))
    if not _MASK.unpack_from(buffer)[0] & _STATX_MNT_ID:
        return None
    found: int = _MOUNT_ID.unpack_from(buffer, _MOUNT_ID_AT)[0]
    return found


def _mount_id_from_proc(descriptor: int) -> int:
    """By /proc, on every kernel since 3.15."""
    told = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    found = re.search(r"^mnt_id:\s*(\d+)$", told, re.MULTILINE)
    if found is None:
        raise OSError(errno.ENOSYS, "the kernel does not tell which mount a file is on")
    return int(found[1])
