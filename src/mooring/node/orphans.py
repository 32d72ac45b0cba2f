"""Orphans: directories of pods that do not exist any more.

Reconstructed volumes are unmounted as any others. Volumes that could not be reconstructed are
cleaned up with repeated attempts; then the pod's directory is removed. Below `volumes` only empty
directories are removed, and no mount is ever entered: a file there is a user's data.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from mooring import log
from mooring.errors import HostError, MooringError
from mooring.host import no_follow, subpath, tree
from mooring.host.blocking import in_thread, within_own
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.model.backoff import OPERATION_BACKOFF
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.disk_scan import Trace, TraceKind
from mooring.node.pod_directory import place_of, remove_pod
from mooring.node.reconstruct import Reconstructed
from mooring.plugins.contract import VolumeError
from mooring.plugins.layout import Layout, escaped
from mooring.reconcile.worker import lasting

SWEEP_SECONDS = 60.0
CSI = "kubernetes.io/csi"

_log = log.get("mooring.node.orphans")


class LeavingVolumes(Protocol):
    """Of all pods here: `run.NodeVolumes`."""

    @property
    def context(self) -> NodeContext: ...

    async def complete(self) -> None: ...

    async def let_go(self, pod_uid: str) -> None: ...

    def has_traces(self, pod_uid: str) -> bool: ...


class Swept(msgspec.Struct, frozen=True):
    """One look at the directories of pods."""

    orphans: tuple[str, ...]
    errors: tuple[str, ...]  # one for each that is still there
    leaving: tuple[str, ...] = ()  # of those, the ones whose volumes have to go first


class StillThere(HostError):
    """A pod has volumes, or may have."""


class Orphans:
    """`run` runs it until cancelled."""

    def __init__(
        self, volumes: LeavingVolumes, reconstructed: Reconstructed, knows: Callable[[str], bool]
    ) -> None:
        """`knows` says whether a pod worker still cleans up the pod itself."""
        self._volumes = volumes
        self._context = volumes.context
        self._knows = knows
        self._not_reconstructed = [one.trace for one in reconstructed.not_reconstructed]
        self._leaving: set[str] = set()  # orphans whose volumes are going

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for trace in tuple(self._not_reconstructed):
                tasks.create_task(self._lasting(partial(self._clean, trace), trace.pod_uid))
            await self._volumes.complete()
            await self._lasting(partial(self._sweep_for_ever, tasks), "")

    async def _lasting(self, run: Callable[[], Awaitable[None]], pod_uid: str) -> None:
        await lasting("orphans", self._context.clock, run, pod_uid)

    async def _sweep_for_ever(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            try:
                swept = await self.sweep()
            except HostError as error:
                _log.warning("nobody can see what gone pods have left", error=error)
            else:
                for uid in swept.leaving:
                    if uid not in self._leaving and not self._has_not_reconstructed(uid):
                        self._leaving.add(uid)
                        tasks.create_task(self._lasting(partial(self._see_off, uid), uid))
            luck = 1 + 0.1 * self._context.host.rng.random()
            await self._context.clock.sleep(SWEEP_SECONDS * luck)

    async def sweep(self) -> Swept:
        """Remove the directories of orphans that have no volumes any more.

        Raises: HostError when the directories cannot be listed.
        """
        found = await in_thread(_list_pods, self._context.host.layout)
        orphans = tuple(uid for uid in found if not self._knows(uid))
        errors, leaving = [], []
        for uid in orphans:
            try:
                await self._remove(uid)
            except StillThere as error:
                leaving.append(uid)
                errors.append(_told(uid, error))
            except HostError as error:
                errors.append(_told(uid, error))
        self._context.metrics.swept(len(orphans), len(errors))
        if errors:
            _log.warning("directories of gone pods are left", first=errors[0], count=len(errors))
        return Swept(orphans, tuple(errors), tuple(leaving))

    # volumes that made no sense

    async def _clean(self, trace: Trace) -> None:
        """Try to take it away once its pod, which may set it up anew, has gone."""
        failures = 0
        while True:
            await self._volumes.let_go(trace.pod_uid)
            try:
                with within_own(place_of(trace.pod_uid)):
                    if not await in_thread(_is_left, self._context.host.layout, trace):
                        break  # its pod has mounted it again, and unmounted it
                    await self._take(trace)
                self._context.metrics.force_cleaned(ok=True)
                break
            except MooringError as error:
                failures += 1
                self._context.metrics.force_cleaned(ok=False)
                _log.warning(
                    "a volume that makes no sense is left",
                    pod=trace.pod_uid,
                    plugin=trace.plugin,
                    volume=trace.name,
                    because=error,
                )
            await self._context.clock.sleep(OPERATION_BACKOFF.delay(failures))
        with suppress(ValueError):  # begun anew after a bug
            self._not_reconstructed.remove(trace)
        if not self._knows(trace.pod_uid) and not self._has_not_reconstructed(trace.pod_uid):
            await self._see_off(trace.pod_uid)

    async def _take(self, trace: Trace) -> None:
        """Tear it down as a volume that may be mounted. Raises: MooringError."""
        if trace.kind is TraceKind.PARTS:
            host = self._context.host
            pod = host.layout.pod(trace.pod_uid)
            await in_thread(subpath.clean, pod, trace.name, host.mounts)
            return
        registry, uid = self._context.registry, trace.pod_uid
        plugin = registry.find_by_name(trace.plugin)
        if trace.kind is TraceKind.FILES:
            plugin.unmounter(trace.name, uid)
        else:
            block = registry.find_block_by_name(trace.plugin)
            if block is None:
                raise VolumeError(f"no block volume plugin matched name: {trace.plugin}")
            block.block_unmapper(trace.name, uid)
        use = _stub(trace)
        volume = ActualVolume(f"{plugin.name}/{uid}-{trace.name}", plugin.name, use)
        self._context.actual.reconstructed(volume, PodMount(uid, use, PodState.UNCERTAIN))

    # directories

    def _has_not_reconstructed(self, pod_uid: str) -> bool:
        return any(trace.pod_uid == pod_uid for trace in self._not_reconstructed)

    async def _see_off(self, pod_uid: str) -> None:
        """Remove the directory when the last volume has gone."""
        await self._volumes.let_go(pod_uid)
        try:
            await self._remove(pod_uid)
        except HostError as error:
            _log.warning("the directory of a gone pod is left", pod=pod_uid, because=error)
        self._leaving.discard(pod_uid)

    async def _remove(self, pod_uid: str) -> None:
        if self._has_not_reconstructed(pod_uid) or self._volumes.has_traces(pod_uid):
            raise StillThere("its volumes are not cleaned up")
        host = self._context.host
        with within_own(place_of(pod_uid)):
            await in_thread(_remove, host.layout, host.mounts, pod_uid)


def _told(pod_uid: str, error: HostError) -> str:
    return f'orphaned pod "{pod_uid}" found, but {error}'


def _is_left(layout: Layout, trace: Trace) -> bool:
    match trace.kind:
        case TraceKind.FILES:
            return os.path.lexists(layout.volume(trace.pod_uid, trace.plugin, trace.name))
        case TraceKind.PARTS:
            return os.path.lexists(layout.subpaths(trace.pod_uid) / trace.name)
        case TraceKind.BLOCK:
            return True  # where its plugin has it, only that one knows


def _stub(trace: Trace) -> VolumeUse:
    """As much of a volume as its tear-down needs: a name, and whether it was a device."""
    if trace.kind is TraceKind.FILES:
        return VolumeUse(inline=PodVolume(name=trace.name))
    spec = VolumeSpec(volume_mode=VolumeMode.BLOCK)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=trace.name), spec=spec))


def _list_pods(layout: Layout) -> tuple[str, ...]:
    with refusals(f"list {layout.pods}"), os.scandir(layout.pods) as entries:
        return tuple(sorted(one.name for one in entries if one.is_dir(follow_symlinks=False)))


def _remove(layout: Layout, mounts: MountOps, pod_uid: str) -> None:
    for path in _mount_points(layout, pod_uid):
        if mounts.is_mount_point(path):
            raise HostError(f"{path} is still mounted")
    _remove_directories(layout.volumes(pod_uid))
    remove_pod(layout, pod_uid)
    _log.info("the directory of a gone pod is removed", pod=pod_uid)


def _mount_points(layout: Layout, pod_uid: str) -> Iterator[Path]:
    """Where volumes are mounted, if they are."""
    top = layout.volumes(pod_uid)
    with refusals(f"list {top}"):
        for path in top.glob("*/*"):
            yield path / "mount" if path.parent.name == escaped(CSI) else path


def _remove_directories(top: Path) -> None:
    """Everything below `top`, if there are only directories. Raises: HostError."""
    with refusals(f"remove the directories below {top}"):
        try:
            root = os.open(top, no_follow.DIRECTORY)
        except FileNotFoundError:
            return
        try:
            for _, name, kind in _visits(root):
                if kind is tree.EntryKind.OTHER:
                    raise HostError(f"there is a file {name} below {top}")
            for parent, name, _ in _visits(root):
                os.rmdir(name, dir_fd=parent)
        finally:
            os.close(root)


def _visits(root: int) -> Iterator[tuple[int, str, tree.EntryKind]]:
    with closing(tree.walk(root)) as visits:
        for parent, name, _, kind in visits:
            yield parent, name, kind
