"""emptyDir: room for a pod, on disk, in memory or in huge pages, that goes when the pod goes.

Other plugins put their files into such room too, see `wrapped_scratch`. Quotas of the file system
(`LocalStorageCapacityIsolationFSQuotaMonitoring`, off upstream) are not set: a size limit of room
on disk is kept by the node's eviction.
"""

import os
import stat
from pathlib import Path
from typing import assert_never

from mooring import log
from mooring.errors import HostError
from mooring.host import ownership, tree
from mooring.host.blocking import in_thread
from mooring.host.contract import MountOps
from mooring.host.ownership import FsGroup
from mooring.host.refusal import refusals
from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, Uncertain, Usage, VolumeError
from mooring.plugins.directories import is_ready, make_directories, mark_ready, remove_marks
from mooring.plugins.measure import measure_tree
from mooring.plugins.medium import (
    InHugePages,
    InMemory,
    Medium,
    OnDisk,
    Swap,
    choose_medium,
    mounted_page_size,
    swap_rule_here,
    tmpfs_options,
)
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.empty_dir")

NAME = "kubernetes.io/empty-dir"
_FOR_ALL = 0o777
_TMPFS = "tmpfs"
_HUGETLBFS = "hugetlbfs"


class ScratchDirectory:
    """An empty directory of one pod, wherever it is. Knows nothing that is not on disk."""

    def __init__(self, mounts: MountOps, path: Path, marks: Path) -> None:
        self.path = path
        self._mounts = mounts
        self._marks = marks  # the directory of its ready file

    async def set_up(self, request: MountRequest, medium: Medium) -> None:
        """Make the directory, open to all, and give it to the group.

        Repeated: what is ready is left as it is, content and owners.
        Raises: VolumeError, HostError: nothing new is left behind. Uncertain when it is.
        """
        await in_thread(self._set_up, request, medium)

    async def tear_down(self) -> None:
        """Remove it and all that is in it, whatever it was made of. Nothing there is a success.

        Raises: HostError; then it is not ready any more, and can be torn down again.
        """
        await in_thread(self._tear_down)

    def _set_up(self, request: MountRequest, medium: Medium) -> None:
        if self._is_ready(medium):
            return
        was_there = os.path.lexists(self.path)
        was_mounted = self._mounts.is_mount_point(self.path)
        try:
            if not was_mounted:
                self._make_directory()
            self._fill(medium)
            if request.fs_group is not None:
                self._give_to(request.fs_group)
            mark_ready(self._marks)
        except (VolumeError, HostError) as error:
            self._undo(error, was_there=was_there, was_mounted=was_mounted)
            raise

    def _is_ready(self, medium: Medium) -> bool:
        if not is_ready(self._marks):
            return False
        match medium:
            case OnDisk():
                is_there = self.path.is_dir()
            case InMemory():
                is_there = self._mounts.is_mount_point(self.path)
            case InHugePages():
                return False  # the page size has to be looked at
            case _:
                assert_never(medium)
        if not is_there:  # removed by hand, or the machine has started anew
            _log.warning("a volume was ready, but is gone: making it anew", path=self.path)
            remove_marks(self._marks)
        return is_there

    def _make_directory(self) -> None:
        make_directories(self.path.parent)
        make_directories(self.path, _FOR_ALL)
        with refusals(f"chmod {self.path}"):
            if stat.S_IMODE(self.path.lstat().st_mode) & _FOR_ALL != _FOR_ALL:  # the umask
                self.path.chmod(_FOR_ALL)

    def _fill(self, medium: Medium) -> None:
        match medium:
            case OnDisk():
                pass
            case InMemory():
                if self._mounted_type() != _TMPFS:
                    self._mount_memory(medium)
            case InHugePages():
                if self._mounted_type() == _HUGETLBFS:
                    self._check_page_size(medium)
                else:
                    option = f"pagesize={medium.page_size}"
                    self._mounts.mount("nodev", self.path, _HUGETLBFS, (option,))
            case _:
                assert_never(medium)

    def _mount_memory(self, medium: InMemory) -> None:
        swap = swap_rule_here()
        if swap is Swap.TRY:
            try:
                options = tmpfs_options(medium, noswap=True)
                self._mounts.mount(_TMPFS, self.path, _TMPFS, options)
                return
            except HostError as error:
                _log.info("this kernel may swap out memory volumes", error=error)
        options = tmpfs_options(medium, noswap=swap is Swap.NEVER_OUT)
        self._mounts.mount(_TMPFS, self.path, _TMPFS, options)

    def _mounted_type(self) -> str:
        """The type of the file system mounted at the path itself; empty for none."""
        if not self._mounts.is_mount_point(self.path):
            return ""
        entry = self._mounts.table().find(self.path.resolve())
        return entry.fs_type if entry is not None else ""

    def _check_page_size(self, medium: InHugePages) -> None:
        if medium.takes_any:
            return
        entry = self._mounts.table().find(self.path.resolve())
        options = () if entry is None else (*entry.options, *entry.super_options)
        mounted = mounted_page_size(options)
        if mounted is None:
            raise VolumeError(f"mounted dir {self.path} pagesize is not determined")
        if mounted != medium.page_size:
            raise VolumeError(
                f"mounted dir {self.path} pagesize '{mounted}' "
                f"and requested medium size '{medium.page_size}' differ"
            )

    def _give_to(self, gid: int) -> None:
        try:
            ownership.apply(self.path, FsGroup(gid))
        except HostError as error:  # as upstream: the volume is usable without its group
            _log.warning("an emptyDir keeps its group", path=self.path, error=error)

    def _undo(self, error: Exception, *, was_there: bool, was_mounted: bool) -> None:
        """Take back what a set-up that failed has begun, and no more."""
        try:
            remove_marks(self._marks)
            if not was_mounted and self._mounts.is_mount_point(self.path):
                self._mounts.unmount(self.path)
            if not was_there and os.path.lexists(self.path):
                with refusals(f"rmdir {self.path}"):
                    self.path.rmdir()
        except HostError as left:
            raise Uncertain(f"{error}; and {left}") from error

    def _tear_down(self) -> None:
        remove_marks(self._marks)
        # Its medium is unknown after a restart: a mount there is unmounted, and never emptied,
        # since it could be another volume.
        while self._mounts.is_mount_point(self.path):
            self._mounts.unmount(self.path)
        if os.path.lexists(self.path):
            tree.remove_path(self.path)


def wrapped_scratch(host: Host, plugin: str, name: str, pod_uid: str) -> ScratchDirectory:
    """Room for the files of another plugin's volume, at that volume's own place."""
    return ScratchDirectory(
        host.mounts,
        host.layout.volume(pod_uid, plugin, name),
        host.layout.pod_plugin(pod_uid, NAME, f"wrapped_{name}"),
    )


class EmptyDirMounter:
    attributes = Attributes(is_managed=True, wants_relabel=True)

    def __init__(
        self, scratch: ScratchDirectory, source: EmptyDirSource, pod: Pod, host: Host
    ) -> None:
        self.path = scratch.path
        self._scratch = scratch
        self._source = source
        self._pod = pod
        self._host = host

    async def set_up(self, request: MountRequest) -> None:
        medium = choose_medium(self._source, self._pod, self._host.objects.allocatable())
        await self._scratch.set_up(request, medium)

    async def usage(self) -> Usage | None:
        return await in_thread(measure_tree, self.path)


class EmptyDir:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.empty_dir is not None

    def volume_name(self, use: VolumeUse) -> str:
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> EmptyDirMounter:
        if use.inline is None or use.inline.empty_dir is None:
            raise VolumeError("spec does not reference an emptyDir volume type")
        scratch = self.unmounter(use.name, pod.uid)
        return EmptyDirMounter(scratch, use.inline.empty_dir, pod, self._host)

    def unmounter(self, name: str, pod_uid: str) -> ScratchDirectory:
        layout = self._host.layout
        return ScratchDirectory(
            self._host.mounts,
            layout.volume(pod_uid, NAME, name),
            layout.pod_plugin(pod_uid, NAME, name),
        )

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, empty_dir=EmptyDirSource()))
