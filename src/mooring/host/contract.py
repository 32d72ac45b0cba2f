"""The protocol by which Mooring mounts and unmounts.

`mount.Mounts` implements it on this machine; tests use `tests.fakes.mounts.FakeMounts`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mooring.host.mountinfo import MountTable


class MountOps(Protocol):
    """Mounting and unmounting. Every call blocks until the kernel has answered.

    A target is an absolute path of an existing directory (or file, for a bind of one), and no
    symbolic link. Errors and log lines show every option but the sensitive ones.
    """

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        """Mount `source` at `target`.

        Before: `target` exists. `source` is what the type calls a source: a device, `tmpfs`,
        `server:/path`. An empty `fs_type` leaves the choice to mount(8). Options are those of
        mount(8), one per element; with `bind` among them it is `bind`, and `fs_type` is ignored.
        After: the file system is there, with all options in force.
        Repeated: mounts once more on top; ask `is_mount_point` first.
        Raises: HostError when nothing was mounted.
        """
        ...

    def bind(self, source: Path, target: Path, options: Sequence[str] = ()) -> None:
        """Make the tree at `source` appear at `target` too, without the mounts inside it.

        Before: both exist, and are both directories or both not. `source` may be
        `/proc/self/fd/N`, to name what an open descriptor holds.
        After: `target` shows `source`, with what restricts the source (ro, nodev, noexec, nosuid,
        atime rules) and what `options` add; the source itself is as before. Options of a file
        system have no meaning for a bind, and are left out.
        Repeated: mounts once more on top; ask `is_mount_point` first.
        Raises: HostError when nothing was mounted.
        """
        ...

    def bind_mapped(
        self, source: Path, target: Path, user_namespace: int, *, recursive: bool
    ) -> None:
        """Make the tree at `source` appear at `target` as the user namespace behind the descriptor
        sees it: its own ids stand for those on the disk.

        Before: both exist, and are both directories or both not.
        After: `target` shows `source`, with what restricts the source. If `recursive`, mounts in it
        appear too, and their files belong to nobody. What is unmounted below `target` stays
        mounted in `source`.
        Repeated: mounts once more on top.
        Raises: HostError when nothing was mounted: many file systems (NFS, overlay) refuse it.
        """
        ...

    def unmount(self, target: Path) -> None:
        """Take away the topmost mount at `target`.

        After: that mount is gone; one beneath it, if there was any, is in sight again.
        Repeated: `target` missing or not a mount point is success, as with upstream's kubelet.
        Raises: HostError when the mount is still there (busy, or no right to).
        """
        ...

    def detach(self, target: Path) -> None:
        """As `unmount`, and without waiting: out of sight at once, gone when nobody uses it.

        For binds alone: nothing is written back, and a server that is gone holds up nobody.
        Raises: HostError when the mount is still there.
        """
        ...

    def unmount_by_force(self, target: Path, after_seconds: float) -> None:
        """Unmount as `unmount` does, but with force when that takes longer than `after_seconds`.

        For network file systems whose server may be gone: force drops what was not yet written.
        When force takes as long again, the mount is detached: out of sight at once, and gone when
        nobody uses it any more.
        Raises: HostError when the mount is still there. A refusal in time (busy) is not forced.
        """
        ...

    def is_mount_point(self, path: Path) -> bool:
        """Whether something is mounted exactly at `path`; binds within one file system count.

        A missing path and a symbolic link are no mount points. A broken mount (its server or
        daemon gone) is one.
        Raises: HostError when the kernel does not say.
        """
        ...

    def table(self) -> MountTable:
        """Everything mounted where this process can see it, at this moment."""
        ...

    def make_shared(self, path: Path) -> None:
        """Let mounts made below `path` reach other mount namespaces (containers), and back.

        Before: `path` is a directory.
        After: the mount that covers `path` is shared; `path` was bound onto itself if need be.
        Repeated: changes nothing.
        """
        ...

    def make_private(self, path: Path) -> None:
        """Keep what is mounted on or taken off `path` from reaching any copy of it.

        Before: `path` is a mount point. Repeated: changes nothing. Raises: HostError.
        """
        ...

    def make_unbindable(self, path: Path) -> None:
        """Keep what is mounted below `path` out of every bind of a directory above it.

        Before: `path` is a directory.
        After: `path` is a mount point, bound onto itself if need be, and private; what is mounted
        below it can be bound by itself.
        Repeated: changes nothing. Raises: HostError.
        """
        ...
