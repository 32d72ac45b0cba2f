"""The root of containers that have no image: what a program needs of the host, and nothing else.

    <directory>/root    a small tree of its own: empty directories, and copies of what is public
                        in /etc; in memory
    <directory>/view    the host's programs: /usr, and /bin, /lib and so on where these are no
                        links into it, each an overlay that shows what everybody may read

Containers lay their own layers over both. Nothing of the host is beneath that is not offered: there
is no cover to be removed. A view is mounted by a thread that owns no file, and the kernel checks
for every file whether the mounter may read it: so a file that is not world-readable is not readable
in a container either, even as root, and even if it came or changed after the view was made.
"""

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from mooring import log
from mooring.host.as_nobody import as_nobody
from mooring.host.cleanup import PathState, examine
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.oci.public_files import Gathered, Piece, gather

HOST = Path("/")
HOST_DIRECTORY = "host"  # of a node's root directory
# Where programs are, and what they load. Not /opt: that is whole applications, with their data.
PROGRAMS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
# When one of these has changed there may be other programs, accounts or certificates.
_TOLD_BY = (
    *("etc", "etc/passwd", "etc/group", "etc/ld.so.cache", "etc/ssl/certs", "etc/alternatives"),
    *("bin", "sbin", "usr/bin", "usr/sbin", "usr/lib", "usr/local/bin", "usr/local/lib"),
    *("var/lib/dpkg/status", "var/lib/rpm", "lib/apk/db/installed"),
)
_DIRECTORIES = {
    **dict.fromkeys(("dev", "etc", "home", "media", "mnt", "opt", "proc", "srv", "sys"), 0o755),
    **dict.fromkeys(("run", "var", "var/cache", "var/lib", "var/log", "var/spool"), 0o755),
    "root": 0o700,
    "run/lock": 0o1777,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
}
_LINKS = {"var/run": "/run", "var/lock": "/run/lock", "etc/mtab": "/proc/mounts"}
_MEMORY = ("mode=0755", "size=65536k", "nosuid", "nodev")

_log = log.get("mooring.oci.host_root")


class ProgramDirectory(msgspec.Struct, frozen=True):
    """A directory of programs."""

    name: str  # below the root
    layer: Path


class Shown(msgspec.Struct, frozen=True):
    """What a container's own layers are laid over."""

    root: Path
    parts: tuple[ProgramDirectory, ...]


class HostRoot:
    """Made when it is first asked for, and anew when the host's programs have changed."""

    def __init__(
        self, mounts: MountOps, directory: Path, own_paths: Sequence[Path], host: Path = HOST
    ) -> None:
        """`own_paths` are never shown, even if they are world-readable."""
        self._mounts = mounts
        self._directory = directory
        self._own_paths = tuple(Path(os.path.realpath(path)) for path in own_paths)
        self._host = host
        self._turn = threading.Condition()
        self._users = 0  # containers that are being mounted on it: it must stay meanwhile
        self._made: dict[tuple[int, ...], Shown] = {}  # the one that is there, if there is one

    def prepare(self) -> None:
        """Make it, if it is not there yet. Raises: HostError."""
        with self.shown():
            pass

    @contextmanager
    def shown(self) -> Iterator[Shown]:
        """It stays while the context is entered; containers mounted by then keep it.

        Raises: HostError.
        """
        with self._turn:
            stamp = self._stamp()
            self._turn.wait_for(lambda: not self._users or stamp in self._made)
            shown = self._made.get(stamp)
            if shown is None:
                self._made.clear()
                put_away(self._mounts, self._directory)
                shown = self._made[stamp] = self._make()
            self._users += 1
        try:
            yield shown
        finally:
            with self._turn:
                self._users -= 1
                self._turn.notify_all()

    def _stamp(self) -> tuple[int, ...]:
        return tuple(_changed(self._host / name) for name in _TOLD_BY)

    def _make(self) -> Shown:
        found = [name for name in PROGRAMS if (self._host / name).exists()]
        links = {name: self._host / name for name in found if (self._host / name).is_symlink()}
        names = [name for name in found if name not in links]
        kept = [str(self._host / name) for name in found]
        gathered = as_nobody(lambda: gather(kept, self._host / "etc"))
        if not gathered.is_all:
            _log.warning("the host's /etc is too large: containers do not see all of it")
        with refusals(f"mkdir {self._directory}"):
            self._directory.mkdir(0o700, exist_ok=True)
        self._mounts.mount("tmpfs", self._directory, "tmpfs", _MEMORY)
        try:
            root = self._directory / "root"
            with refusals(f"write below {root}"):
                _write_root(root, names, links, gathered)
            return Shown(root, tuple(self._view(name) for name in names))
        except BaseException:
            put_away(self._mounts, self._directory)
            raise

    def _view(self, name: str) -> ProgramDirectory:
        """Mount the world-readable part of one directory."""
        masks, views = self._directory / "masks" / name, self._directory / "view"
        with refusals(f"write below {self._directory}"):
            masks.mkdir(0o755, parents=True)
            (views / name).mkdir(0o755, parents=True)
            self._mask(masks, self._host / name)
        with ExitStack() as stack:
            # By descriptors: the nobody user cannot traverse the path.
            lower = ":".join(
                opened(path, stack) for path in (masks, Path(os.path.realpath(self._host / name)))
            )
            target = Path(opened(views, stack)) / name
            as_nobody(
                lambda: self._mounts.mount(
                    "overlay", target, "overlay", ("ro", f"lowerdir={lower}")
                )
            )
        return ProgramDirectory(name, views / name)

    def _mask(self, masks: Path, source: Path) -> None:
        """Make our own data, if it is there, as if it were not: by an overlay's whiteout."""
        real = Path(os.path.realpath(source))
        for own in self._own_paths:
            if own != real and own.is_relative_to(real) and own.exists():
                place = masks / own.relative_to(real)
                place.parent.mkdir(0o755, parents=True, exist_ok=True)
                os.mknod(place, stat.S_IFCHR, os.makedev(0, 0))


def put_away(mounts: MountOps, directory: Path) -> None:
    """Unmount all of it, also what an earlier process made. Containers that have it keep it.

    Raises: HostError.
    """
    if examine(directory) is PathState.MISSING:
        return
    while mounts.is_mount_point(directory):
        for name in PROGRAMS:
            mounts.unmount(directory / "view" / name)
        mounts.unmount(directory)


def opened(path: Path, stack: ExitStack) -> str:
    """A short name for `path`, without commas and colons, valid for every user."""
    with refusals(f"open {path}"):
        descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return f"/proc/self/fd/{descriptor}"


def _write_root(
    root: Path, parts: Sequence[str], links: dict[str, Path], gathered: Gathered
) -> None:
    _make_directory(root, 0o755)
    for name, mode in {**dict.fromkeys(parts, 0o755), **_DIRECTORIES}.items():
        _make_directory(root / name, mode)
    for name, link in links.items():
        (root / name).symlink_to(link.readlink())
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for piece in gathered.pieces:
        _write(root / "etc" / piece.path, piece)


def _write(path: Path, piece: Piece) -> None:
    if piece.link:
        path.symlink_to(piece.link)
    elif piece.content is None:
        _make_directory(path, 0o755)
    else:
        path.write_bytes(piece.content)
        path.chmod(0o755 if piece.is_executable else 0o644)


def _make_directory(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)  # whatever the umask


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
