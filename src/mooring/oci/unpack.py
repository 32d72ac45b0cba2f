"""Making a layer's files: entries in, a directory that overlay takes as a lower one.

Nothing is ever made or changed outside of that directory, whatever the entries say: names are
looked up one element at a time below an open descriptor, and no link is followed by the kernel. A
link on the way to an entry is followed here, as a process in a container would see it: `/etc` is
the layer's, and `..` ends at the layer's root.

- A whiteout becomes a character device 0/0, an opaque directory gets `trusted.overlay.opaque`.
- Device nodes are left out, and counted. containerd makes them; but a container gets a /dev of its
  own over the image's, its device cgroup lets it open no other node, and a privileged one has the
  host's. They would only be doors to the host's disks lying about in a directory of the host.
- setuid, setgid and file capabilities are kept: a container is where they are meant to be used.
- Extended attributes are kept if a container could mean something by them. `trusted.overlay.*` from
  an archive would be orders to the kernel (redirects to elsewhere), labels are the host's to give.
- A directory that only its files name is 0755 and root's. The layers below may have it otherwise
  (/tmp); a layer is unpacked once for all images that have it, so they are not asked.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.host import no_follow, tree
from mooring.host.refusal import reason
from mooring.oci.entry import EntryType, LayerEntry, Parts, split_name
from mooring.oci.refused import ImageRefused

OPAQUE = "trusted.overlay.opaque"
_WHITEOUT = os.makedev(0, 0)
_MOST_LINKS = 40  # on the way to one name, as in the kernel
_MOST_OPEN = 64  # directories at a time
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT_XATTRS = frozenset(
    {"security.capability", "system.posix_acl_access", "system.posix_acl_default"}
)


class Unpacked(msgspec.Struct, frozen=True):
    size: int  # bytes of files
    devices: int  # left out
    hides_below: bool  # the root itself is opaque, which overlay does not look at


def unpack(
    entries: Iterable[LayerEntry], directory: Path, wrote: Callable[[int], None]
) -> Unpacked:
    """Unpack `entries` in `directory`, in their order; `wrote` is called every few bytes.

    Before: `directory` is empty, and not used by others.
    Raises: ImageRefused; the directory's content is then unusable.
    """
    root = os.open(directory, no_follow.DIRECTORY)
    making = _Making(root, wrote)
    try:
        for entry in entries:
            making.put(entry)
        return making.finish()
    finally:
        making.close()
        os.close(root)


def is_kept(xattr: str) -> bool:
    """Whether an extended attribute means something to a container, and nothing to overlay."""
    if xattr.startswith("user."):
        return not xattr.startswith("user.overlay.")
    return xattr in _KEPT_XATTRS


class _Making:
    """A layer being made."""

    def __init__(self, root: int, wrote: Callable[[int], None]) -> None:
        self._root = root
        self._wrote = wrote
        self._open: dict[Parts, int] = {}  # the one used last is the last
        self._left_out: set[Parts] = set()
        self._times: dict[Parts, int] = {}  # of directories: each new file in one changes it
        self._size = 0
        self._hides_below = False

    def put(self, entry: LayerEntry) -> None:
        try:
            if entry.kind is EntryType.OPAQUE:
                self._hide_below(self._resolved(entry.parts))
            elif entry.parts:
                self._put((*self._resolved(entry.parts[:-1]), entry.parts[-1]), entry)
            elif entry.kind is EntryType.DIRECTORY:
                self._own_directory((), entry)
            else:
                raise ImageRefused("an entry that is no directory takes the place of the root")
        except OSError as error:
            why = reason(error.errno or 0)
            raise ImageRefused(f"cannot unpack {entry.name}: {why}") from error

    def finish(self) -> Unpacked:
        for parts, time_ns in self._times.items():
            with suppress(FileNotFoundError, NotADirectoryError):  # replaced later on
                os.utime(self._directory(parts), ns=(time_ns, time_ns))
        return Unpacked(self._size, len(self._left_out), self._hides_below)

    def close(self) -> None:
        """Let go of all directories."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _put(self, where: Parts, entry: LayerEntry) -> None:
        match entry.kind:
            case EntryType.FILE:
                self._put_file(where, entry)
            case EntryType.DIRECTORY:
                self._put_directory(where, entry)
            case EntryType.SYMLINK:
                at = self._make(where, lambda name, fd: os.symlink(entry.target, name, dir_fd=fd))
                _own(at, where[-1], entry)
            case EntryType.FIFO:
                at = self._make(where, lambda name, fd: os.mkfifo(name, 0o600, dir_fd=fd))
                _own(at, where[-1], entry)
            case EntryType.HARDLINK:
                self._put_hard_link(where, entry)
            case EntryType.DEVICE:
                self._left_out.add(where)
            case EntryType.WHITEOUT:
                self._put_whiteout(where)
            case EntryType.OPAQUE:
                self._hide_below(where)

    def _hide_below(self, where: Parts) -> None:
        if where:
            os.setxattr(self._directory(where), OPAQUE, b"y")
        else:
            self._hides_below = True

    def _put_file(self, where: Parts, entry: LayerEntry) -> None:
        file = -1

        def create(name: str, directory: int) -> None:
            nonlocal file
            file = os.open(name, _CREATE, 0o600, dir_fd=directory)

        self._make(where, create)
        try:
            end = 0
            for offset, chunk in entry.body:
                if offset != end:
                    os.lseek(file, offset, os.SEEK_SET)
                _write(file, chunk)
                end = offset + len(chunk)
                self._size += len(chunk)
                self._wrote(len(chunk))
            if end != entry.size:
                os.ftruncate(file, entry.size)
            os.fchown(file, entry.uid, entry.gid)
            os.fchmod(file, entry.mode)  # after the owner, whose change takes setuid away
            _set_xattrs(file, entry)
            os.utime(file, ns=(entry.mtime_ns, entry.mtime_ns))
        finally:
            os.close(file)

    def _put_directory(self, where: Parts, entry: LayerEntry) -> None:
        try:
            os.mkdir(where[-1], 0o700, dir_fd=self._directory(where[:-1]))
        except FileExistsError:
            self._settle_directory(where)
        self._own_directory(where, entry)

    def _settle_directory(self, where: Parts) -> None:
        """Something has the name of a directory that is to be: another one stays."""
        parent, name = self._directory(where[:-1]), where[-1]
        found = os.lstat(name, dir_fd=parent)
        if stat.S_ISDIR(found.st_mode):
            return
        os.unlink(name, dir_fd=parent)
        self._make_directory(where)
        if _is_whiteout(found):
            self._hide_below(where)

    def _make_directory(self, where: Parts) -> None:
        parent, name = self._directory(where[:-1]), where[-1]
        os.close(no_follow.make_directory(parent, name, 0o755))

    def _own_directory(self, where: Parts, entry: LayerEntry) -> None:
        made = self._directory(where)
        os.fchown(made, entry.uid, entry.gid)
        os.fchmod(made, entry.mode)
        _set_xattrs(made, entry)
        self._times[where] = entry.mtime_ns

    def _put_hard_link(self, where: Parts, entry: LayerEntry) -> None:
        wanted = split_name(entry.target)
        if not wanted:
            raise ImageRefused(f"{entry.name} is a hard link to the root")
        target = (*self._resolved(wanted[:-1]), wanted[-1])
        if target == where:
            return

        def link(name: str, directory: int) -> None:
            source = self._directory(target[:-1])
            os.link(
                target[-1], name, src_dir_fd=source, dst_dir_fd=directory, follow_symlinks=False
            )

        try:
            self._make(where, link)
        except FileNotFoundError:
            if target not in self._left_out:
                raise ImageRefused(
                    f"{entry.name} is a hard link to what is not in its layer"
                ) from None
            self._left_out.add(where)

    def _put_whiteout(self, where: Parts) -> None:
        """What the same layer has of that name is not hidden, but hides what is below."""
        parent, name = self._directory(where[:-1]), where[-1]
        try:
            os.mknod(name, stat.S_IFCHR, _WHITEOUT, dir_fd=parent)
        except FileExistsError:
            if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
                self._hide_below(where)

    def _make(self, where: Parts, make: Callable[[str, int], None]) -> int:
        """Make something that must be new; what has its name goes. The directory it is in."""
        parent, name = self._directory(where[:-1]), where[-1]
        try:
            make(name, parent)
        except FileExistsError:
            self.close()  # a directory that is open may be among what goes
            parent = self._directory(where[:-1])
            tree.remove(parent, name)
            make(name, parent)
        return parent

    def _resolved(self, parts: Sequence[str]) -> Parts:
        """Where a directory really is: links followed inside the root, what is missing made."""
        if (known := tuple(parts)) in self._open:
            return known
        done: Parts = ()
        left = list(reversed(parts))
        links = 0
        while left:
            name = left.pop()
            if name == "..":
                done = done[:-1]
                continue
            where = (*done, name)
            target = self._enter(where)
            if target is None:
                done = where
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target.startswith("/"):
                done = ()
            left += [part for part in reversed(target.split("/")) if part not in ("", ".")]
        return done

    def _enter(self, where: Parts) -> str | None:
        """See that there is a directory; where a link in its place leads to instead."""
        try:
            self._directory(where)
        except FileNotFoundError:
            self._make_directory(where)
        except NotADirectoryError:
            parent, name = self._directory(where[:-1]), where[-1]
            found = os.lstat(name, dir_fd=parent)
            if stat.S_ISLNK(found.st_mode):
                return os.readlink(name, dir_fd=parent)
            self._settle_directory(where)
        return None

    def _directory(self, where: Parts) -> int:
        """A directory of the layer, through no link; kept open for those that come next."""
        if not where:
            return self._root
        found = self._open.pop(where, None)
        if found is None:
            found = self._open_below(where)
        self._open[where] = found  # as the last of them
        if len(self._open) > _MOST_OPEN:
            os.close(self._open.pop(next(iter(self._open))))
        return found

    def _open_below(self, where: Parts) -> int:
        above = self._open.get(where[:-1])
        if above is not None:
            return no_follow.open_directory(above, where[-1])
        way = "/".join(where[:-1])
        with no_follow.descended(self._root, way, no_follow.open_directory) as found:
            return no_follow.open_directory(found, where[-1])


def _own(directory: int, name: str, entry: LayerEntry) -> None:
    """Owner, mode and time of what is neither file nor directory."""
    os.chown(name, entry.uid, entry.gid, dir_fd=directory, follow_symlinks=False)
    if entry.kind is not EntryType.SYMLINK:
        no_follow.change_mode(directory, name, entry.mode)
    os.utime(name, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=directory, follow_symlinks=False)


def _set_xattrs(descriptor: int, entry: LayerEntry) -> None:
    for name, value in entry.xattrs.items():
        if not is_kept(name):
            continue
        try:
            os.setxattr(descriptor, name, value)
        except OSError as error:
            if error.errno != errno.ENOTSUP:  # the file system of the store has none
                raise


def _write(file: int, chunk: bytes | memoryview) -> None:
    left = memoryview(chunk)
    while left:
        left = left[os.write(file, left) :]


def _is_whiteout(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == _WHITEOUT
