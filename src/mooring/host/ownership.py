"""fsGroup: the group ownership of a volume, so that all containers of a pod can use it."""

import os
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from enum import Enum
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import KernelRefused
from mooring.host import mount_calls, ownership_walk
from mooring.host.ownership_walk import Tally, Wanted
from mooring.host.parallel_walk import ParallelWalk
from mooring.host.refusal import refusals

_log = log.get("mooring.host.ownership")

IN_PROGRESS = "VolumePermissionChangeInProgress"  # the reason of the events about a slow walk
FIRST_REPORT_SECONDS = 30
NEXT_REPORT_SECONDS = 60

_READ_WRITE = 0o660
_READ_ONLY = 0o440
_ENTER = 0o110


class ChangePolicy(Enum):
    ALWAYS = "Always"
    ON_ROOT_MISMATCH = "OnRootMismatch"


class FsGroup(msgspec.Struct, frozen=True):
    """The group a volume is given to."""

    gid: int
    read_only: bool = False  # the group may read the files, not write them
    policy: ChangePolicy = ChangePolicy.ALWAYS

    @property
    def file_bits(self) -> int:
        return _READ_ONLY if self.read_only else _READ_WRITE

    @property
    def directory_bits(self) -> int:
        return stat.S_ISGID | _ENTER | self.file_bits


class Applied(msgspec.Struct, frozen=True):
    """The result of a walk. Refused changes are counted, and no error, as upstream."""

    entries: int
    failures: int = 0


def is_root_right(root: os.stat_result, group: FsGroup) -> bool:
    """Whether the root of a volume shows that an earlier walk was completed."""
    return (
        stat.S_ISDIR(root.st_mode)
        and root.st_gid == group.gid
        and root.st_mode & group.directory_bits == group.directory_bits
    )


class View(Enum):
    """In which view of a directory its entries are changed. Neither view leaves the mount."""

    AS_IT_IS = "as it is"  # mount points inside are left alone
    AS_BOUND = "as bound"  # as in a bind: the directories below those mounts are changed


def apply(
    directory: Path,
    group: FsGroup,
    progress: Callable[[int], None] | None = None,
    view: View = View.AS_IT_IS,
) -> Applied:
    """Give everything at and below `directory` to the group; mounts inside are left alone.

    After: every entry, links included, has the group; all but links have the mode bits that give
    the group access. `directory` itself is changed last: once it is right, everything is.
    Repeated: changes nothing, but looks at every entry, unless the policy is OnRootMismatch.
    `progress` is called with the number of entries done, in the calling thread, a few times a
    second.
    Raises: HostError when an entry or a directory cannot be read.
    """
    with refusals(f"setting volume ownership for {directory}"):
        if group.policy is ChangePolicy.ON_ROOT_MISMATCH and _is_right(directory, group):
            return Applied(0)
        tally = _change(directory, group, progress, view)
    if tally.failures:
        _log.warning(
            "some entries kept their owner or mode",
            volume=directory,
            failures=tally.failures,
            first=tally.first_failure,
        )
    return Applied(tally.entries, tally.failures)


def slow_text(directory: Path, pod_uid: str) -> str:
    """The text of the first event about a slow walk."""
    return (
        f"Setting volume ownership for {_shown(directory, pod_uid)} is taking longer than expected,"
        " consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/"
        "security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"
    )


def progress_text(directory: Path, pod_uid: str, entries: int) -> str:
    """The text of the later events about a slow walk."""
    shown = _shown(directory, pod_uid)
    return f"Setting volume ownership for {shown}, processed {entries} files."


def _shown(directory: Path, pod_uid: str) -> str:
    """The path from the pod's UID on; users need not see the node's own directories."""
    _, uid, rest = str(directory).partition(pod_uid)
    return f"{uid}{rest}" if uid else str(directory)


def _is_right(directory: Path, group: FsGroup) -> bool:
    try:
        return is_root_right(directory.stat(), group)
    except OSError:
        return False  # the walk will raise the error


def _change(
    directory: Path, group: FsGroup, progress: Callable[[int], None] | None, view: View
) -> Tally:
    wanted = Wanted(group.gid, group.file_bits, group.directory_bits)
    tally = Tally()
    root, name = _open(directory, view)
    try:
        seen = os.stat(name, dir_fd=root, follow_symlinks=False)
        if stat.S_ISDIR(seen.st_mode):
            with closing(ParallelWalk(root, wanted, progress)) as walk:
                tally = walk.walk()
        tally.entries += 1
        refused = ownership_walk.change(root, name, seen, wanted)
    finally:
        os.close(root)
    if refused is not None:
        tally.fail(name, refused)
    return tally


def _open(path: Path, view: View) -> tuple[int, str]:
    """A directory descriptor, and the name of `path` in it; `.` if `path` is a directory."""
    how = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        opened = os.open(path, how | os.O_NOFOLLOW)
    except NotADirectoryError:  # also for a link, which is changed itself
        return os.open(path.parent, how), path.name
    if view is View.AS_BOUND:
        with suppress(KernelRefused):  # an old kernel, or no right to mount: AS_IT_IS
            shown = mount_calls.open_view(opened)
            os.close(opened)
            return shown, "."
    return opened, "."
