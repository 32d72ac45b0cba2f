"""Deleting and recycling volumes that their claims have left: the two slow ends of a volume."""

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.controllers.binding.cache_indexes import find_named_by
from mooring.controllers.binding.context import BinderContext
from mooring.controllers.binding.decide.bind import unbind
from mooring.controllers.binding.decide.reclaim import (
    JUDGED,
    External,
    InTree,
    Nobody,
    fail,
    find_deleter,
    find_holder,
    find_recycler,
    is_released,
)
from mooring.controllers.binding.effects.writes import Writes
from mooring.controllers.binding.metrics import DELETE, NOT_KNOWN
from mooring.controllers.binding.plan import Delete, Reason, Recycle, Write
from mooring.errors import ApiError, Conflict, ConnectionLost, MooringError, NotFound
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.may_destroy import Go, Stay, VolumeOrder
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.plugins.contract import PluginError, VolumeInUse
from mooring.reconcile.apply import NotNow
from mooring.reconcile.live_gate import LiveGate
from mooring.reconcile.pods_by_claim import pods_using

NO_RECYCLER = "No recycler plugin found for the volume!"


class ReclaimOperations:
    """The operations `delete-<volume>[<uid>]` and `recycle-<volume>[<uid>]`."""

    def __init__(self, context: BinderContext) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._caches = context.caches
        self._plugins = context.plugins
        self._abilities = context.abilities
        self._metrics = context.metrics
        self._gate = LiveGate(context.client)

    def measure_delete(self, order: Delete) -> None:
        """From now on until the volume is gone, here or by a provisioner outside."""
        self._metrics.began(order.volume, self._deleter_name(order.volume), DELETE)

    async def delete(self, order: Delete) -> None:
        """Raises: MooringError when it must be tried again."""
        volume = await self._find_left(order, ReclaimPolicy.DELETE)
        if volume is None:
            return
        try:
            match find_deleter(volume, self._abilities):
                case External():
                    return
                case Nobody(message):
                    raise PluginError(message)
                case InTree(plugin):
                    await self._delete_asset(volume, plugin)
        except VolumeInUse as error:
            self._metrics.failed(volume.name, DELETE)
            self._context.record(volume, EventType.NORMAL, Reason.VOLUME_DELETE, str(error))
            raise
        except PluginError as error:
            self._metrics.failed(volume.name, DELETE)
            await self._fail(volume, Reason.VOLUME_FAILED_DELETE, str(error))
            raise
        await self._delete_volume(volume)

    async def recycle(self, order: Recycle) -> None:
        """Raises: MooringError when it must be tried again."""
        volume = await self._find_left(order, ReclaimPolicy.RECYCLE)
        if volume is None or volume.spec.claim_ref is None:
            return
        key = volume.spec.claim_ref.key
        users = self._users(key)
        if users and self._caches.claims.get(key) is None:
            # with a claim of that name, it must be a newer one, and the pods are its pods
            message = f"Volume is used by pods: {','.join(users)}"
            self._context.record(volume, EventType.NORMAL, Reason.VOLUME_FAILED_RECYCLE, message)
            return  # the pods wake the volume when they go
        try:
            await self._wipe(volume)
        except PluginError as error:
            await self._fail(volume, Reason.VOLUME_FAILED_RECYCLE, str(error))
            raise
        self._context.record(volume, EventType.NORMAL, Reason.VOLUME_RECYCLED, "Volume recycled")
        await self._write(unbind(volume, volume), "it is clean")

    async def _find_left(self, order: Delete | Recycle, policy: ReclaimPolicy) -> Volume | None:
        """The volume, if its claim has really left it and its policy still says so: asked anew."""
        seen = self._caches.volumes.get(Key("", order.volume))
        if seen is None or seen.uid != order.uid:
            return None
        reference = seen.spec.claim_ref
        if reference is None or not is_released(seen, self._caches.claims.get(reference.key)):
            return None
        if find_holder(seen, find_named_by(self._caches.claims, seen)) is not None:
            return None
        verdict, live = await self._gate.volume(VolumeOrder(seen, policy, JUDGED))
        if isinstance(verdict, Stay) and verdict.is_for_people:
            raise NotNow(verdict.because)
        return live if isinstance(verdict, Go) else None

    async def _delete_asset(self, volume: Volume, plugin: str) -> None:
        began = self._clock.monotonic()
        try:
            await self._plugins.deleters[plugin].delete(volume)
        except PluginError:
            seconds = self._clock.monotonic() - began
            self._metrics.called(plugin, "volume_delete", seconds, ok=False)
            raise
        self._metrics.called(plugin, "volume_delete", self._clock.monotonic() - began, ok=True)

    async def _delete_volume(self, volume: Volume) -> None:
        """Delete the object after its storage. After a crash here the storage is deleted again."""
        ours = Finalizer.IN_TREE_PROVISIONER
        try:
            if ours in volume.metadata.finalizers:
                kept = tuple(name for name in volume.metadata.finalizers if name != ours)
                wanted = replace(volume, metadata=replace(volume.metadata, finalizers=kept))
                volume = await Writes(self._context).save_volume(
                    volume, wanted, "its asset is gone"
                )
            await self._client.delete(volume)
        except (NotFound, Conflict):
            return  # gone, or changed: then its own news brings us back

    async def _wipe(self, volume: Volume) -> None:
        plugin = find_recycler(volume, self._abilities)
        if plugin is None:
            raise PluginError(NO_RECYCLER)

        def record(kind: EventType, message: str) -> None:
            self._context.record(volume, kind, Reason.RECYCLER_POD, f"Recycler pod: {message}")

        try:
            await self._plugins.recyclers[plugin].recycle(volume, record)
        except (PluginError, ApiError, ConnectionLost) as error:
            raise PluginError(f"Recycle failed: {error}") from error

    async def _fail(self, volume: Volume, reason: Reason, message: str) -> None:
        try:
            await self._write(fail(volume, volume, reason, message), "reclaiming failed")
        except MooringError:
            return  # it has changed meanwhile, so it is reconciled again anyway

    async def _write(self, steps: Iterable[Write], because: str) -> None:
        writes = Writes(self._context)
        for step in steps:
            await writes.carry_out(step, because)

    def _deleter_name(self, name: str) -> str:
        volume = self._caches.volumes.get(Key("", name))
        match Nobody("") if volume is None else find_deleter(volume, self._abilities):
            case InTree(plugin):
                return plugin
            case Nobody():
                return NOT_KNOWN
            case External():
                pass
        storage_class = self._caches.classes.get(Key("", volume.storage_class if volume else ""))
        return NOT_KNOWN if storage_class is None else storage_class.provisioner

    def _users(self, claim: Key) -> list[str]:
        pods = pods_using(self._caches.pods, claim)
        return sorted(str(pod.key) for pod in pods if not pod.is_terminated)
