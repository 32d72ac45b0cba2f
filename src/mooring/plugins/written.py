"""Volumes whose files the kubelet writes from API objects; the common part of such plugins."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from mooring.errors import HostError
from mooring.host import atomic_dir, ownership
from mooring.host.blocking import in_thread
from mooring.host.nested_mounts import find_nested_mount_points, make_mount_points
from mooring.host.ownership import FsGroup
from mooring.host.payload_paths import clean_paths
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, Uncertain, Usage
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.measure import measure_tree
from mooring.plugins.medium import Medium, memory_for
from mooring.plugins.payload import Files, Room
from mooring.plugins.volume_host import Host

Gather = Callable[[MountRequest], Awaitable[Files]]
"""Asks the API for what the files are made of. Raises: Incomplete."""


class WrittenMounter:
    """Brings the files of one volume of a pod up to date, all at once.

    The pod cannot write to them. Whatever can be refused is refused before the disk is touched; and
    files that containers may be using are never taken away for want of newer ones.
    """

    attributes = Attributes(read_only=True, is_managed=True, wants_relabel=True)

    def __init__(
        self, scratch: ScratchDirectory, medium: Medium, name: str, pod: Pod, gather: Gather
    ) -> None:
        self.path = scratch.path
        self._scratch = scratch
        self._medium = medium
        self._name = name
        self._pod = pod
        self._gather = gather
        self._usage: Usage | None = None

    async def set_up(self, request: MountRequest) -> None:
        files = clean_paths(Room().take(await self._gather(request)))
        nested = find_nested_mount_points(self._name, self._pod.spec.all_containers)
        was_written = await in_thread(atomic_dir.is_written, self.path)
        await self._scratch.set_up(request, self._medium)
        try:
            await in_thread(self._write, files, nested, request.fs_group)
            self._usage = None
        except HostError as error:
            if not was_written:
                await self._undo(error)
            raise

    async def usage(self) -> Usage | None:
        """Counted once after each set-up: only the kubelet changes these files."""
        if self._usage is None:
            self._usage = await in_thread(measure_tree, self.path)
        return self._usage

    def _write(self, files: Files, nested: tuple[str, ...], gid: int | None) -> None:
        def give_to_group(directory: Path) -> None:
            if gid is not None:
                ownership.apply(directory, FsGroup(gid, read_only=True))

        make_mount_points(self.path, nested)
        atomic_dir.write(self.path, files, give_to_group)

    async def _undo(self, error: HostError) -> None:
        try:
            await self._scratch.tear_down()
        except HostError as left:
            raise Uncertain(f"{error}; and {left}") from error


def mounter_in_memory(
    host: Host, plugin: str, use: VolumeUse, pod: Pod, gather: Gather
) -> WrittenMounter:
    """For files that must never get onto a disk."""
    scratch = wrapped_scratch(host, plugin, use.name, pod.uid)
    medium = memory_for(pod, host.objects.allocatable())
    return WrittenMounter(scratch, medium, use.name, pod, gather)
