"""Mounting and unmounting on this machine: the real `MountOps`.

Local file systems, memory and binds go straight to the kernel; types that need a helper program
go through mount(8), as do the options that only it understands.
"""

import errno
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from mooring import log
from mooring.errors import HostError, KernelRefused, TimedOut
from mooring.host import command, mount_calls
from mooring.host.mount_options import (
    MountFlag,
    bind_flags,
    bind_words,
    each,
    needs_program,
    translate,
)
from mooring.host.mountinfo import MountTable, canonical, read_table
from mooring.host.refusal import reason, refusals

logger = log.get("mooring.host.mount")

HELPER_DIRS = (Path("/sbin"), Path("/sbin/fs.d"), Path("/sbin/fs"))  # where mount(8) looks
PROBE_SECONDS = 10.0
# Types whose helper leaves no daemon behind that must outlive this process.
WITHOUT_SCOPE = frozenset(("nfs", "nfs4", "cifs"))

_RESTRICTIONS = {
    os.ST_RDONLY: MountFlag.RDONLY,
    os.ST_NOSUID: MountFlag.NOSUID,
    os.ST_NODEV: MountFlag.NODEV,
    os.ST_NOEXEC: MountFlag.NOEXEC,
    os.ST_NOATIME: MountFlag.NOATIME,
    os.ST_NODIRATIME: MountFlag.NODIRATIME,
    os.ST_RELATIME: MountFlag.RELATIME,
    0x2000: MountFlag.NOSYMFOLLOW,  # ST_NOSYMFOLLOW, which Python has no name for
}


class Mounts:
    """The `MountOps` of the mount namespace that this process runs in."""

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        words = [*each(options), *each(sensitive)]
        if "bind" in words:
            self.bind(Path(source), target, bind_words(words))
            return
        _refuse_link(target)
        shown = _arguments(source, target, fs_type, options, [command.MASK] * len(sensitive))
        logger.debug("mounting", arguments=" ".join(shown))
        if needs_program(fs_type, source, words) or _has_helper(fs_type):
            if source.startswith("-"):
                raise HostError(f"mount failed: {source} would be an option of mount(8)")
            argv = ["mount", *_arguments(source, target, fs_type, options, sensitive)]
            self._mount_by_program(argv, target, fs_type, shown, sensitive)
        else:
            self._mount_by_kernel(source, target, fs_type, words, shown)

    def bind(self, source: Path, target: Path, options: Sequence[str] = ()) -> None:
        _refuse_link(target)
        shown = _arguments(str(source), target, "", ("bind", *bind_words(options)), ())
        logger.debug("mounting", arguments=" ".join(shown))
        try:
            flags = bind_flags(options) | _flags_of(source)
            try:
                mount_calls.bind_at_once(source, target, flags)
            except KernelRefused as refused:
                if refused.errno not in (errno.ENOSYS, errno.EPERM):  # EPERM: a seccomp profile
                    raise
                mount_calls.bind_in_two_steps(source, target, flags)
        except KernelRefused as refused:
            raise _mount_failed(refused, shown) from refused

    def bind_mapped(
        self, source: Path, target: Path, user_namespace: int, *, recursive: bool
    ) -> None:
        _refuse_link(target)
        logger.debug("mounting with mapped ids", source=source, target=target)
        try:
            mount_calls.bind_mapped(source, target, user_namespace, recursive=recursive)
        except KernelRefused as refused:
            entry = self.table().covering(canonical(source))
            kind = entry.fs_type if entry is not None else "unknown"
            raise KernelRefused(
                f"the ids of {source} cannot be mapped (file system {kind}): "
                f"{reason(refused.errno)}",
                refused.errno,
            ) from refused

    def unmount(self, target: Path) -> None:
        self._take_away(mount_calls.unmount, target)

    def detach(self, target: Path) -> None:
        self._take_away(mount_calls.detach_lazily, target)

    def _take_away(self, call: Callable[[Path], None], target: Path) -> None:
        logger.debug("unmounting", target=target)
        try:
            call(target)
        except KernelRefused as refused:
            may_be_none = refused.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR)
            if may_be_none and not self.is_mount_point(target):
                logger.debug("nothing was mounted", target=target)
                return
            raise KernelRefused(
                f"unmount failed: {reason(refused.errno)}\n"
                f"Unmounting arguments: {target}\nOutput: {refused}",
                refused.errno,
            ) from refused

    def unmount_by_force(self, target: Path, after_seconds: float) -> None:
        # By a program: it can be killed, unlike a system call that waits for a dead server.
        if not self._is_in_table(target):
            return
        logger.debug("unmounting", target=target)
        try:
            self._unmount_by_program(["umount", str(target)], target, after_seconds)
        except TimedOut:
            logger.warning("unmounting takes too long, trying with force", target=target)
            self._unmount_forcibly(target, after_seconds)

    def is_mount_point(self, path: Path) -> bool:
        try:
            known = mount_calls.is_mount_root(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            # The mount may be broken, or closed to root (NFS root_squash): ask the mount table.
            logger.debug("stat says nothing of a mount", path=path, error=error.strerror)
            known = None
        return known if known is not None else self._is_in_table(path)

    def table(self) -> MountTable:
        return read_table()

    def make_shared(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        covering = self.table().covering(real)
        if covering is not None and covering.is_shared:
            return
        logger.info("sharing mounts with other namespaces", path=real)
        if covering is None or covering.mount_point != real:
            mount_calls.mount(str(real), real, "", MountFlag.BIND)
        mount_calls.mount("", real, "", MountFlag.SHARED | MountFlag.REC)

    def make_private(self, path: Path) -> None:
        mount_calls.mount("", Path(os.path.realpath(path)), "", MountFlag.PRIVATE)

    def make_unbindable(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        if not self.is_mount_point(real):
            mount_calls.mount(str(real), real, "", MountFlag.BIND)
        mount_calls.mount("", real, "", MountFlag.UNBINDABLE)

    def _is_in_table(self, path: Path) -> bool:
        """Whether the mount table has `path`; does not touch the mounted file system."""
        return self.table().find(canonical(path)) is not None

    def _mount_by_kernel(
        self, source: str, target: Path, fs_type: str, words: Sequence[str], shown: Sequence[str]
    ) -> None:
        options = translate(words)
        try:
            try:
                mount_calls.mount(source, target, fs_type, options.flags, options.data)
            except KernelRefused as refused:
                is_protected = refused.errno in (errno.EROFS, errno.EACCES)
                if not is_protected or MountFlag.RDONLY in options.flags or "rw" in words:
                    raise
                logger.warning(
                    "write-protected, mounting it read-only", source=source, target=target
                )
                read_only = options.flags | MountFlag.RDONLY
                mount_calls.mount(source, target, fs_type, read_only, options.data)
        except KernelRefused as refused:
            raise _mount_failed(refused, shown) from refused

    def _mount_by_program(
        self,
        argv: Sequence[str],
        target: Path,
        fs_type: str,
        shown: Sequence[str],
        sensitive: Sequence[str],
    ) -> None:
        program = "mount"
        if fs_type not in WITHOUT_SCOPE and self._has_scopes:
            # A FUSE daemon started by the helper must survive a restart of Mooring's own service.
            scope = (f"--description=Kubernetes transient mount for {target}", "--scope", "--")
            program, argv, shown = "systemd-run", ["systemd-run", *scope, *argv], [*scope, *shown]
        ended = command.run(argv, seconds=None, secrets=tuple(each(sensitive)))
        if ended.code != 0:
            raise ended.failed(_mount_text(ended.status, program, shown, ended.output))

    def _unmount_by_program(self, argv: Sequence[str], target: Path, seconds: float | None) -> None:
        ended = command.run(argv, seconds=seconds)
        if ended.code != 0 and self._is_in_table(target):
            raise ended.failed(
                f"unmount failed: {ended.status}\n"
                f"Unmounting arguments: {target}\nOutput: {ended.output}"
            )

    def _unmount_forcibly(self, target: Path, seconds: float) -> None:
        try:
            self._unmount_by_program(["umount", "-f", str(target)], target, seconds)
        except TimedOut:
            # Nothing is dropped: what was not yet written is, if the server comes back.
            logger.warning("even force takes too long, detaching the mount", target=target)
            mount_calls.detach_lazily(target)

    @cached_property
    def _has_scopes(self) -> bool:
        if command.find_program("systemd-run") is None:
            return False
        probe = ["systemd-run", "--description=Kubernetes systemd probe", "--scope", "true"]
        try:
            return command.run(probe, seconds=PROBE_SECONDS).code == 0
        except HostError:
            return False


def _flags_of(source: Path) -> MountFlag:
    """The flags (ro, nodev, noexec, nosuid, atime) of the mount that `source` is on."""
    with refusals(f"statfs {source}"):
        told = os.statvfs(source).f_flag
    flags = MountFlag(0)
    for bit, flag in _RESTRICTIONS.items():
        if told & bit:
            flags |= flag
    return flags


def _refuse_link(target: Path) -> None:
    if os.path.islink(target):  # never raises; the mount reports other errors
        raise HostError(f"mount failed: {target} is a symbolic link, which is no place to mount")


def _has_helper(fs_type: str) -> bool:
    return any((place / f"mount.{fs_type}").exists() for place in HELPER_DIRS)


def _arguments(
    source: str, target: Path, fs_type: str, options: Sequence[str], sensitive: Sequence[str]
) -> list[str]:
    """The arguments of mount(8)."""
    typed = ["-t", fs_type] if fs_type else []
    together = ",".join((*options, *sensitive))
    given = ["-o", together] if together else []
    return [*typed, *given, *([source] if source else []), str(target)]


def _mount_failed(refused: KernelRefused, shown: Sequence[str]) -> KernelRefused:
    text = _mount_text(reason(refused.errno), "mount", shown, str(refused))
    return KernelRefused(text, refused.errno)


def _mount_text(why: str, program: str, shown: Sequence[str], output: str) -> str:
    return (
        f"mount failed: {why}\nMounting command: {program}\n"
        f"Mounting arguments: {' '.join(shown)}\nOutput: {output}"
    )
