"""Mounts that exist only in memory, for machines (and tests) without the right to mount.

Nothing appears below a target; the directories themselves are real, and `is_mount_point` and
`table` answer as the kernel would.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from mooring.errors import HostError
from mooring.host.mountinfo import MountEntry, MountTable

ROOT = MountEntry(
    id=1,
    parent=0,
    device=(254, 0),
    root="/",
    at="/",
    options=("rw", "relatime"),
    tags=(),
    fs_type="ext4",
    source="/dev/vda",
    super_options=("rw",),
)


class MountCall(msgspec.Struct, frozen=True):
    """A change that was asked for, whether or not it was refused."""

    verb: str  # the name of the MountOps method
    target: Path
    source: str = ""
    fs_type: str = ""
    options: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()


class FakeMounts:
    """A `MountOps`. Changes are numbered from 1, in `calls`; `fail_at` makes one of them fail."""

    def __init__(self) -> None:
        self.calls: list[MountCall] = []
        self._entries: list[MountEntry] = [ROOT]
        self._before: dict[int, BaseException] = {}
        self._after: dict[int, BaseException] = {}
        self._busy: set[Path] = set()
        self._ids = 1

    def fail_at(self, number: int, error: BaseException | None = None) -> None:
        """Refuse the change with this number; it has no effect."""
        self._before[number] = error or HostError(f"mount failed: refused, call {number}")

    def cut_after(self, number: int, error: BaseException) -> None:
        """Let the change with this number happen, and its caller never hear of it."""
        self._after[number] = error

    def keep_busy(self, target: Path) -> None:
        """Refuse every unmount of `target`."""
        self._busy.add(target)

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        if "bind" in options:
            self.bind(Path(source), target, [word for word in options if word != "bind"])
            return
        call = MountCall("mount", target, source, fs_type, tuple(options), tuple(sensitive))
        number = self._start(call)
        self._need(target)
        device = self._device_of(source, fs_type)
        self._add(target, "/", device, fs_type, source, _visible(options))
        self._finish(number)

    def bind(self, source: Path, target: Path, options: Sequence[str] = ()) -> None:
        number = self._start(MountCall("bind", target, str(source), options=tuple(options)))
        self._bind(source, target, options)
        self._finish(number)

    def bind_mapped(
        self, source: Path, target: Path, user_namespace: int, *, recursive: bool
    ) -> None:
        """As `bind`: a fake has no ids to map."""
        del user_namespace, recursive
        self.bind(source, target)

    def unmount(self, target: Path) -> None:
        self._take_away(MountCall("unmount", target))

    def detach(self, target: Path) -> None:
        self._take_away(MountCall("detach", target))

    def unmount_by_force(self, target: Path, after_seconds: float) -> None:
        self._take_away(MountCall("unmount_by_force", target, options=(str(after_seconds),)))

    def is_mount_point(self, path: Path) -> bool:
        return not path.is_symlink() and self.table().find(_real(path)) is not None

    def table(self) -> MountTable:
        return MountTable(tuple(self._entries))

    def make_private(self, path: Path) -> None:
        assert self.is_mount_point(path)

    def make_unbindable(self, path: Path) -> None:
        if not self.is_mount_point(path):
            self.bind(path, path)

    def make_shared(self, path: Path) -> None:
        number = self._start(MountCall("make_shared", path))
        covering = self.table().covering(_real(path)) or ROOT
        if not covering.is_shared:
            self._bind(path, path, ())
            made = self._entries.pop()
            self._entries.append(msgspec.structs.replace(made, tags=(f"shared:{made.id}",)))
        self._finish(number)

    def mounted(self) -> tuple[Path, ...]:
        """Every mount point, the root left out; what a test compares with."""
        return tuple(entry.mount_point for entry in self._entries[1:])

    def _start(self, call: MountCall) -> int:
        self.calls.append(call)
        number = len(self.calls)
        if number in self._before:
            raise self._before[number]
        return number

    def _finish(self, number: int) -> None:
        if number in self._after:
            raise self._after[number]

    def _bind(self, source: Path, target: Path, options: Sequence[str]) -> None:
        self._need(source)
        self._need(target)
        real = source.resolve()
        under = self.table().covering(real) or ROOT
        below = real.relative_to(under.at)
        root = under.root if below == Path() else str(Path(under.root) / below)
        inherited = (*options, "ro") if under.is_read_only else options
        self._add(target, root, under.device, under.fs_type, under.source, _visible(inherited))

    def _take_away(self, call: MountCall) -> None:
        number = self._start(call)
        entry = self.table().find(_real(call.target))
        if entry is not None:
            has_mounts_inside = any(other.parent == entry.id for other in self._entries)
            if call.target in self._busy or has_mounts_inside:
                raise HostError(f"unmount failed: {call.target}: target is busy")
            self._entries.remove(entry)
        self._finish(number)

    def _need(self, path: Path) -> None:
        if not path.exists():
            raise HostError(f"mount failed: {path} does not exist")

    def _device_of(self, source: str, fs_type: str) -> tuple[int, int]:
        """The number of a device mounted before, or a new one; memory is new each time."""
        for entry in self._entries:
            if source.startswith("/") and (entry.source, entry.fs_type) == (source, fs_type):
                return entry.device
        return (0, 100 + self._ids)

    def _add(
        self,
        target: Path,
        root: str,
        device: tuple[int, int],
        fs_type: str,
        source: str,
        options: tuple[str, ...],
    ) -> None:
        at = _real(target)
        parent = self.table().covering(at) or ROOT
        self._ids += 1
        self._entries.append(
            MountEntry(
                id=self._ids,
                parent=parent.id,
                device=device,
                root=root,
                at=str(at),
                options=options,
                tags=(),
                fs_type=fs_type,
                source=source,
                super_options=("rw",),
            )
        )


def _real(path: Path) -> Path:
    return path.resolve()


def _visible(options: Sequence[str]) -> tuple[str, ...]:
    shown = ("nosuid", "nodev", "noexec", "noatime", "relatime", "nodiratime")
    return ("ro" if "ro" in options else "rw", *(name for name in shown if name in options))
