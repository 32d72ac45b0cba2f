"""subPath mounts: one directory or file of a volume, and never anything outside the volume.

The containers of a pod may write to the volume while we look into it, and swap a directory for a
symbolic link to the host between two of our steps. So we bind not a path but an open descriptor: it
was reached from the root of the volume through no link, and the kernel gets it as
/proc/self/fd/N, which involves no further lookup.
"""

import errno
import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host import cleanup, no_follow
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.host.subpath_rules import check

_log = log.get("mooring.host.subpath")

DIRECTORY = "volume-subpaths"  # in the directory of a pod


class SubPathMount(msgspec.Struct, frozen=True):
    """A `volumeMount` with a `subPath`."""

    volume_path: Path  # the root of the volume on this machine
    sub_path: str  # relative to `volume_path`
    pod_dir: Path
    volume: str  # the name of the volume's spec
    container: str
    mount: str  # the name in the volumeMount, for error texts
    index: int  # of the volumeMount in its container

    @property
    def target(self) -> Path:
        return self.pod_dir / DIRECTORY / self.volume / self.container / str(self.index)


def prepare(wish: SubPathMount, mounts: MountOps) -> Path:
    """Bind the subPath below the pod's directory, and return the path of the mount.

    Before: the volume is mounted. A missing subPath is created as a directory, with the mode of
    the volume's root.
    After: the target shows a directory or file of the volume.
    Repeated: the mount is kept; it is replaced when the subPath is another file now.
    Raises: HostError. Its text reveals nothing about this machine; the log does.
    """
    check(wish.sub_path)
    path = posixpath.normpath(wish.sub_path)
    with _vaguely("create subPath directory", wish), _volume(wish) as root:
        _make_missing(root, path)
    with _vaguely("prepare subPath", wish), _volume(wish) as root:
        found = _open_inside(root, path)
        try:
            _show(found, wish, mounts)
        finally:
            os.close(found)
    return wish.target


def clean(pod_dir: Path, volume: str, mounts: MountOps) -> None:
    """Remove everything that `prepare` has made for one volume of a pod.

    Before: no container uses the volume any more, and it is still mounted.
    After: none of its subPath mounts is left. Their contents are never read.
    Repeated: success.
    Raises: HostError when something is left; the volume must then stay mounted.
    """
    top = pod_dir / DIRECTORY / volume
    with refusals(f"clean up {top}"):
        try:
            containers = [entry.path for entry in os.scandir(top) if _is_directory(entry)]
        except FileNotFoundError:
            return
        for container in map(Path, containers):
            for index in os.listdir(container):
                cleanup.clean_up(mounts, container / index)
            container.rmdir()
        top.rmdir()
        _remove_while_empty(top.parent, pod_dir)


@contextmanager
def _vaguely(doing: str, wish: SubPathMount) -> Iterator[None]:
    """Log an error, and raise one without details of this machine."""
    try:
        yield
    except (HostError, OSError, ValueError) as error:  # ValueError: an impossible file name
        where = f'volumeMount "{wish.mount}" of container "{wish.container}"'
        _log.warning("subPath refused", doing=doing, mount=where, pod=wish.pod_dir, error=error)
        raise HostError(f"failed to {doing} for {where}") from error


@contextmanager
def _volume(wish: SubPathMount) -> Iterator[int]:
    root = os.open(wish.volume_path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield root
    finally:
        os.close(root)


def _make_missing(root: int, path: str) -> None:
    """Create the missing directories of `path`; existing entries are not examined."""
    names = path.split("/")
    there = _count_existing(root, names)
    if there is None or there == len(names):
        return
    mode = stat.S_IMODE(os.fstat(root).st_mode)
    held = _open_inside(root, "/".join(names[:there]) or ".")
    try:
        enter = partial(no_follow.make_directory, mode=mode)
        with no_follow.descended(held, "/".join(names[there:]), enter):
            pass
    finally:
        os.close(held)


def _count_existing(root: int, names: Sequence[str]) -> int | None:
    """The number of leading names that exist; None when that is unknown."""
    for count in range(len(names), 0, -1):
        try:
            os.close(os.open("/".join(names[:count]), os.O_PATH | os.O_CLOEXEC, dir_fd=root))
        except FileNotFoundError:
            continue
        except OSError:
            return None  # `_open_inside` meets the same error
        return count
    return 0


def _open_inside(root: int, path: str) -> int:
    """A descriptor of `path`; links that stay inside the volume are allowed.

    Links are resolved once. Then the resolved path is opened without following links: a link that
    appeared in between is an error.
    """
    followed = os.open(path, os.O_PATH | os.O_CLOEXEC, dir_fd=root)
    try:
        place, base = (os.readlink(f"/proc/self/fd/{fd}") for fd in (followed, root))
    finally:
        os.close(followed)
    if place == base:
        return no_follow.open_beneath(root, ".")
    inside = f"{base.rstrip('/')}/"
    if not place.startswith(inside):
        raise HostError(f"{path} leads to {place}, outside of {base}")
    return no_follow.open_beneath(root, place.removeprefix(inside))


def _show(found: int, wish: SubPathMount, mounts: MountOps) -> None:
    target = wish.target
    while mounts.is_mount_point(target):
        if _is_same(found, target):
            return
        mounts.detach(target)  # its server may be gone, and would not answer an unmount
    _make_target(found, wish)
    try:
        mounts.bind(Path(f"/proc/self/fd/{found}"), target)
    except HostError:
        _undo(wish, mounts)
        raise


def _is_same(found: int, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(found), target.lstat())
    except OSError:
        return False  # a broken mount


def _make_target(found: int, wish: SubPathMount) -> None:
    target = wish.target
    for directory in (target.parents[2], target.parents[1], target.parent):
        directory.mkdir(0o750, exist_ok=True)
    is_directory = stat.S_ISDIR(os.fstat(found).st_mode)
    if target.exists() and target.is_dir() != is_directory:
        cleanup.remove_empty(target)
    if is_directory:
        target.mkdir(0o750, exist_ok=True)
    else:
        target.touch(0o640)


def _undo(wish: SubPathMount, mounts: MountOps) -> None:
    try:
        cleanup.clean_up(mounts, wish.target)
        with refusals(f"remove {wish.target.parent}"):
            _remove_while_empty(wish.target.parent, wish.pod_dir)
    except HostError as error:
        _log.warning("cannot undo a failed subPath mount", target=wish.target, error=error)


def _remove_while_empty(directory: Path, stop: Path) -> None:
    while directory != stop:
        try:
            directory.rmdir()
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return
            raise
        directory = directory.parent


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)
