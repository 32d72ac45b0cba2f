"""System calls that name a file below an open directory, and never follow a link to another.

A container that may write to a volume may swap a directory for a symbolic link at any moment. A
name is therefore looked up only below an open descriptor, and a link on the way is an error
(ELOOP). All functions raise OSError, as `os` does.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_OPENAT2 = 437  # these numbers are the same on every architecture
_FCHMODAT2 = 452
_AT_SYMLINK_NOFOLLOW = 0x100
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE_IN_ROOT = 0x10
_NO_SUCH_CALL = (errno.ENOSYS, errno.EPERM)  # EPERM: blocked by an old seccomp profile

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_libc = ctypes.CDLL(None, use_errno=True)
_openat2 = _libc["syscall"]
_openat2.argtypes = [
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(_OpenHow),
    ctypes.c_size_t,
]
_openat2.restype = ctypes.c_long
_fchmodat2 = _libc["syscall"]
_fchmodat2.argtypes = [
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_uint,
    ctypes.c_int,
]
_fchmodat2.restype = ctypes.c_long


def open_beneath(root: int, path: str) -> int:
    """A descriptor (O_PATH) of `path` below the directory `root`.

    Mounts on the way are entered, links are refused.
    """
    try:
        return open_at_once(root, path)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    return open_by_steps(root, path)


def open_at_once(root: int, path: str) -> int:
    """`open_beneath` in one system call, of Linux 5.6."""
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    try:
        # As a directory first: that triggers an automount at the last element.
        return _open(root, path, os.O_PATH | os.O_DIRECTORY, resolve)
    except NotADirectoryError:
        return _open(root, path, os.O_PATH, resolve)


def open_by_steps(root: int, path: str) -> int:
    """`open_beneath` element by element, on any kernel."""
    held = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    for name in path.split("/"):
        try:
            below = _step(held, name)
        finally:
            os.close(held)
        held = below
    return held


def open_in_root(root: int, path: str, flags: int) -> int:
    """A descriptor of `path`, opened as in a chroot at `root`.

    Links are followed inside `root` and cannot leave it; on kernels before 5.6 they are refused.
    """
    try:
        return _open(root, path, flags, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    held = open_by_steps(root, path.strip("/"))
    try:
        return os.open(f"/proc/self/fd/{held}", flags | os.O_CLOEXEC)
    finally:
        os.close(held)


def _step(directory: int, name: str) -> int:
    if name == "..":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    try:
        return os.open(name, os.O_PATH | DIRECTORY, dir_fd=directory)
    except NotADirectoryError:  # also raised for links
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return found


def open_directory(directory: int, name: str) -> int:
    """A descriptor for reading the directory `name`; a mount there is entered."""
    return os.open(name, DIRECTORY, dir_fd=directory)


def open_directory_at_once(directory: int, name: str) -> int:
    """As `open_directory`, but a mount there is refused with EXDEV; needs Linux 5.6.

    `same_mount.enter` does the same on any kernel.
    """
    return _open(directory, name, DIRECTORY, _RESOLVE_NO_XDEV | _RESOLVE_NO_SYMLINKS)


def make_directory(directory: int, name: str, mode: int) -> int:
    """As `open_directory`; a missing one is created, with exactly these twelve mode bits."""
    try:
        os.mkdir(name, mode, dir_fd=directory)
    except FileExistsError:
        return open_directory(directory, name)
    opened = open_directory(directory, name)
    try:
        os.fchmod(opened, mode)  # mkdir has applied the umask
    except BaseException:
        os.close(opened)
        raise
    return opened


@contextmanager
def descended(root: int, path: str, enter: Callable[[int, str], int]) -> Iterator[int]:
    """The directory `path` below `root`, opened element by element; an empty path is `root`."""
    held = open_directory(root, ".")
    try:
        for name in path.split("/") if path else ():
            below = enter(held, name)
            os.close(held)
            held = below
        yield held
    finally:
        os.close(held)


def change_mode(directory: int, name: str, mode: int) -> None:
    """Set all twelve mode bits of `name`, which is not a link."""
    call = (_FCHMODAT2, directory, os.fsencode(name), mode, _AT_SYMLINK_NOFOLLOW)
    if _fchmodat2(*call) == 0:
        return
    code = ctypes.get_errno()
    if code not in _NO_SUCH_CALL:
        raise OSError(code, os.strerror(code), name)
    change_mode_in_steps(directory, name, mode)


def change_mode_in_steps(directory: int, name: str, mode: int) -> None:
    """`change_mode` on kernels before 6.6."""
    opened = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if stat.S_ISLNK(os.fstat(opened).st_mode):
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), name)
        os.chmod(f"/proc/self/fd/{opened}", mode)
    finally:
        os.close(opened)


def _open(directory: int, path: str, flags: int, resolve: int) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    call = (_OPENAT2, directory, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    opened: int = _openat2(*call)
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return opened
