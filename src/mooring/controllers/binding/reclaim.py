"""Deleting and recycling volumes that their claims have left: the two slow ends of a volume."""

from msgspec.structs import replace

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.binding.caches import Informers
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
from mooring.controllers.binding.effects import Desk, Effects
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.indexes import PODS_BY_CLAIM, find_named_by
from mooring.controllers.binding.metrics import DELETE, BinderMetrics
from mooring.controllers.binding.plan import Delete, Reason, Recycle
from mooring.errors import ApiError, Conflict, ConnectionLost, MooringError, NotFound
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.may_destroy import Go, Stay, VolumeOrder
from mooring.model.steps import plan
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.plugins.contract import PluginError, VolumeInUse
from mooring.reconcile.apply import NotNow
from mooring.reconcile.live_gate import LiveGate

NO_RECYCLER = "No recycler plugin found for the volume!"


class Reclaiming:
    """The operations `delete-<volume>[<uid>]` and `recycle-<volume>[<uid>]`."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        effects: Effects,
        plugins: InTreePlugins,
        informers: Informers,
        metrics: BinderMetrics,
    ) -> None:
        self._client = client
        self._clock = clock
        self._effects = effects
        self._plugins = plugins
        self._abilities = plugins.abilities()
        self._claims = informers.claims
        self._volumes = informers.volumes
        self._gate = LiveGate(client)
        self._pods = informers.pods
        self._metrics = metrics

    async def delete(self, order: Delete, desk: Desk) -> None:
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
            self._effects.tell(volume, EventType.NORMAL, Reason.VOLUME_DELETE, str(error))
            raise
        except PluginError as error:
            self._metrics.failed(volume.name, DELETE)
            await self._fail(volume, Reason.VOLUME_FAILED_DELETE, str(error), desk)
            raise
        await self._delete_volume(volume, desk)

    async def recycle(self, order: Recycle, desk: Desk) -> None:
        """Raises: MooringError when it must be tried again."""
        volume = await self._find_left(order, ReclaimPolicy.RECYCLE)
        if volume is None or volume.spec.claim_ref is None:
            return
        key = volume.spec.claim_ref.key
        users = self._users(key)
        if users and self._claims.get(key) is None:
            # with a claim of that name, it must be a newer one, and the pods are its pods
            message = f"Volume is used by pods: {','.join(users)}"
            self._effects.tell(volume, EventType.NORMAL, Reason.VOLUME_FAILED_RECYCLE, message)
            return  # the pods wake the volume when they go
        try:
            await self._wipe(volume)
        except PluginError as error:
            await self._fail(volume, Reason.VOLUME_FAILED_RECYCLE, str(error), desk)
            raise
        self._effects.tell(volume, EventType.NORMAL, Reason.VOLUME_RECYCLED, "Volume recycled")
        await self._effects.carry_out(plan("it is clean", *unbind(volume, volume)), desk)

    async def _find_left(self, order: Delete | Recycle, policy: ReclaimPolicy) -> Volume | None:
        """The volume, if its claim has really left it and its policy still says so: asked anew."""
        seen = self._volumes.get(Key("", order.volume))
        if seen is None or seen.uid != order.uid:
            return None
        reference = seen.spec.claim_ref
        if reference is None or not is_released(seen, self._claims.get(reference.key)):
            return None
        if find_holder(seen, find_named_by(self._claims, seen)) is not None:
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

    async def _delete_volume(self, volume: Volume, desk: Desk) -> None:
        """Nothing stands behind it any more. Cut off here, the asset is deleted again: harmless."""
        ours = Finalizer.IN_TREE_PROVISIONER
        try:
            if ours in volume.metadata.finalizers:
                kept = tuple(name for name in volume.metadata.finalizers if name != ours)
                wanted = replace(volume, metadata=replace(volume.metadata, finalizers=kept))
                volume = await self._effects.save_volume(volume, wanted, "its asset is gone", desk)
            await self._client.delete(volume)
        except (NotFound, Conflict):
            return  # gone, or changed: then its own news brings us back

    async def _wipe(self, volume: Volume) -> None:
        plugin = find_recycler(volume, self._abilities)
        if plugin is None:
            raise PluginError(NO_RECYCLER)

        def tell(kind: EventType, message: str) -> None:
            self._effects.tell(volume, kind, Reason.RECYCLER_POD, f"Recycler pod: {message}")

        try:
            await self._plugins.recyclers[plugin].recycle(volume, tell)
        except (PluginError, ApiError, ConnectionLost) as error:
            raise PluginError(f"Recycle failed: {error}") from error

    async def _fail(self, volume: Volume, reason: Reason, message: str, desk: Desk) -> None:
        steps = fail(volume, volume, reason, message)
        try:
            await self._effects.carry_out(plan("reclaiming failed", *steps), desk)
        except MooringError:
            return  # whoever changed it meanwhile gets another try anyway

    def _users(self, claim: Key) -> list[str]:
        pods = self._pods.by_index(PODS_BY_CLAIM, claim)
        return sorted(str(pod.key) for pod in pods if not pod.is_terminated)
