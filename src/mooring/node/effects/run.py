"""Dispatches each operation to the module that carries it out."""

from typing import assert_never

from mooring.csi.cause import because_of
from mooring.host.blocking import within_volume
from mooring.model.reference import ObjectReference
from mooring.node.actual import ActualVolume
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.effects.attach import attach, detach, verify_attached
from mooring.node.effects.device import unmap_device, unmount_device
from mooring.node.effects.events import failures_logged
from mooring.node.effects.expand import grow_in_use
from mooring.node.effects.map import map_volume
from mooring.node.effects.mount import mount
from mooring.node.effects.unmount import unmap, unmount
from mooring.node.metrics import plugin_label
from mooring.node.plan import (
    Attach,
    Detach,
    Forget,
    Grow,
    Map,
    Mount,
    Operation,
    Unmap,
    UnmapDevice,
    Unmount,
    UnmountDevice,
    VerifyAttached,
)


class Effects:
    def __init__(self, context: NodeContext) -> None:
        self._context = context

    async def run(self, operation: Operation) -> None:
        """Run the operation against the current pictures; vanished pods and volumes are skipped.

        Raises: MooringError, after an event on the pods concerned.
        """
        wanted = self._context.desired.find(operation.volume)
        here = self._context.actual.find(operation.volume)
        subject = here or wanted
        if subject is None:
            return
        began = self._context.clock.monotonic()
        try:
            with within_volume(operation.volume), because_of(_cause(operation, wanted, here)):
                await self._do(operation, wanted, here)
        except Exception:
            self._measure(operation, subject, began, ok=False)
            raise
        self._measure(operation, subject, began, ok=True)

    def _measure(
        self, operation: Operation, of: ActualVolume | WantedVolume, began: float, *, ok: bool
    ) -> None:
        if isinstance(operation, Forget):
            return  # only the picture changes
        self._context.metrics.operated(
            plugin_label(of.plugin, of.use),
            operation.label,
            self._context.clock.monotonic() - began,
            ok=ok,
            is_migrated=of.use.is_migrated,
        )

    async def _do(
        self, operation: Operation, wanted: WantedVolume | None, here: ActualVolume | None
    ) -> None:
        if isinstance(operation, VerifyAttached | Attach | Mount | Map):
            if wanted is not None:
                await self._bring(operation, wanted)
        elif isinstance(operation, Grow):
            if wanted is not None and here is not None:
                await grow_in_use(self._context, wanted, here)
        elif here is not None:
            await self._take_away(operation, here)

    async def _bring(
        self, operation: VerifyAttached | Attach | Mount | Map, wanted: WantedVolume
    ) -> None:
        by = wanted.pods.get(operation.pod_uid)
        match operation:
            case VerifyAttached():
                with failures_logged("VerifyControllerAttachedVolume failed", wanted.name):
                    await verify_attached(self._context, wanted)
            case Attach():
                await attach(self._context, wanted)
            case Mount():
                if by is not None:
                    await mount(self._context, wanted, by)
            case Map():
                if by is not None:
                    await map_volume(self._context, wanted, by)
            case _:
                assert_never(operation)

    async def _take_away(
        self,
        operation: Unmount | Unmap | UnmountDevice | UnmapDevice | Detach | Forget,
        here: ActualVolume,
    ) -> None:
        there = here.pods.get(operation.pod_uid)
        match operation:
            case Unmount():
                if there is not None:
                    await unmount(self._context, here, there)
            case Unmap():
                if there is not None:
                    await unmap(self._context, here, there)
            case UnmountDevice():
                with failures_logged("UnmountDevice failed", here.name):
                    await unmount_device(self._context, here)
            case UnmapDevice():
                with failures_logged("UnmapDevice failed", here.name):
                    await unmap_device(self._context, here)
            case Detach():
                with failures_logged("DetachVolume.Detach failed", here.name):
                    await detach(self._context, here)
            case Forget():
                self._context.actual.gone(here.name)
            case _:
                assert_never(operation)


def _cause(
    operation: Operation, wanted: WantedVolume | None, here: ActualVolume | None
) -> ObjectReference | None:
    """The pod that the operation is for, else the persistent volume."""
    by = None if wanted is None else wanted.pods.get(operation.pod_uid)
    if by is not None:
        return ObjectReference.to(by.pod)
    there = None if here is None else here.pods.get(operation.pod_uid)
    if there is not None and there.regarding is not None:
        return there.regarding
    subject = here or wanted
    volume = None if subject is None else subject.use.volume
    return None if volume is None else ObjectReference.to(volume)
