"""The binder at work: one queue, several workers, and the slow operations beside them."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.binding.caches import Caches, Informers
from mooring.controllers.binding.decide.claim import decide_claim
from mooring.controllers.binding.decide.match import is_free
from mooring.controllers.binding.decide.reclaim import External, InTree, Nobody, find_deleter
from mooring.controllers.binding.decide.volume import decide_volume, needs_second_look
from mooring.controllers.binding.effects import Effects
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.indexes import find_named_by
from mooring.controllers.binding.metrics import (
    DELETE,
    NOT_KNOWN,
    PROVISION,
    RECYCLE,
    BinderMetrics,
)
from mooring.controllers.binding.operations import Later, Operations, Work, name_of
from mooring.controllers.binding.plan import (
    Delete,
    Plan,
    Provision,
    Recycle,
    SaveVolume,
)
from mooring.controllers.binding.provision import Provisioning as ProvisionOperation
from mooring.controllers.binding.reclaim import Reclaiming
from mooring.controllers.binding.recycle import PodRecycler
from mooring.controllers.binding.view import ClaimView, Provisioning, VolumeView
from mooring.controllers.binding.wakes import FRESH_SECONDS, Wakes
from mooring.controllers.options import Options
from mooring.errors import NotFound
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Plugin
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, work

COMPONENT = "persistentvolume-controller"
"""Whom events come from."""

_LOT = 100  # keys that a resync queues at once
_MOST_PUT_OFF = 20


class Settings(msgspec.Struct, frozen=True):
    provisioning: Provisioning = Provisioning.ON
    workers: int = 32
    resync_seconds: float = 600.0  # in which everything is looked at once, without cause


def build(loops: Loops, options: Options) -> None:
    """Add the binder to the role."""
    add_binder(loops, _plugins(loops.client, options))


def add_binder(
    loops: Loops,
    plugins: InTreePlugins,
    settings: Settings = Settings(),  # noqa: B008 - immutable
) -> "Binder":
    informers = Informers(
        loops.informer(Volume),
        loops.informer(Claim),
        loops.informer(StorageClass),
        loops.informer(Pod),
        loops.informer(Node),
    )
    recorder = loops.recorder(COMPONENT)
    binder = Binder(loops.client, loops.clock, informers, recorder, plugins, settings)
    loops.add(binder.run, {"claims": binder.queue})  # upstream has a second queue for volumes
    loops.count(binder.metrics)
    return binder


def _plugins(client: Client, options: Options) -> InTreePlugins:
    recycling = options.recycling
    return InTreePlugins(
        provisioners={Plugin.HOST_PATH: options.host_path},
        deleters={Plugin.HOST_PATH: options.host_path},
        recyclers={
            Plugin.HOST_PATH: PodRecycler(client, recycling.host_path, recycling.host_path_pod),
            Plugin.NFS: PodRecycler(client, recycling.nfs, recycling.nfs_pod),
        },
    )


class Binder:
    """Give it informers that are run elsewhere, then `run` it."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        informers: Informers,
        recorder: Recorder,
        plugins: InTreePlugins,
        settings: Settings = Settings(),  # noqa: B008 - immutable
    ) -> None:
        self.metrics = BinderMetrics(clock)
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._client = client
        self._clock = clock
        self._informers = informers
        self._settings = settings
        self._abilities = plugins.abilities()
        self._caches = Caches(informers, self._abilities, settings.provisioning)
        self._effects = Effects(client, recorder, self.metrics)
        self._operations = Operations(clock)
        self._wakes = Wakes(self._caches, self.queue, self._operations, self.metrics)
        self._provision = ProvisionOperation(
            client, clock, self._effects, plugins, informers.nodes, self.metrics
        )
        self._reclaim = Reclaiming(
            client,
            clock,
            self._effects,
            plugins,
            informers,
            self.metrics,
        )
        self._without_cause: set[Key] = set()  # keys that only the resync asked for
        self._put_off: dict[Key, int] = {}  # how often a new volume had to wait for busy workers
        self.metrics.census = self._caches
        self._wakes.listen()

    async def run(self) -> None:
        """Work until cancelled; if one part dies, all of it stops."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._operations.run())
            tasks.create_task(lasting("resync of claims", self._clock, self._resync))
            tasks.create_task(
                work(self._informers.all(), self.queue, self.reconcile, self._settings.workers)
            )

    async def reconcile(self, key: Key) -> Verdict:
        """Look once at a claim and the volumes that are its own, or at a volume of nobody."""
        if not key.namespace and self._can_wait(key):
            return Again(FRESH_SECONDS)
        without_cause = key in self._without_cause
        self._without_cause.discard(key)
        desk = _Desk(self, key)
        if key.namespace:
            await self._reconcile_claim(key, desk)
        else:
            await self._reconcile_volume(key, desk)
        if without_cause and desk.has_written:
            self.metrics.resync_caught()
        return Settled()

    async def _reconcile_claim(self, key: Key, desk: "_Desk") -> None:
        waiting = self._caches.waiting
        offers = waiting.take_offers(key)
        waiting.discard(key)
        try:
            claim = self._caches.claims.get(key)
            if claim is not None:
                await self._look_at_claim(claim, desk)
                for volume in self._caches.index.reserved_for(claim):
                    await self._look_at_volume(volume, desk)
        finally:
            self._wakes.offer_again(offers)

    async def _look_at_claim(self, claim: Claim, desk: "_Desk") -> None:
        view = self._caches.view_claim(claim)
        plan = decide_claim(view)
        target = _free_target(view, plan)
        if target is None:
            if view.match is None and not (claim.spec.volume_name or claim.is_bind_completed):
                # before any write: what comes meanwhile must find it here
                self._caches.waiting.put(claim, takes_any=not view.is_delayed)
            await self._effects.carry_out(plan, desk)
        else:
            self._caches.index.take(target.name)
            try:
                await self._effects.carry_out(plan, desk)
            finally:
                self._give_back(target.name)
        if view.match is not None:
            self.metrics.ended(str(claim.key), PROVISION)

    def _give_back(self, name: str) -> None:
        self._caches.index.give_back(name)
        if self._caches.index.is_offered(name):  # it was not to be
            self.queue.add_after(Key("", name), FRESH_SECONDS)
            self._wakes.offer_again([name])

    def _can_wait(self, key: Key) -> bool:
        """A new volume is looked at when nobody else wants a worker, or after a while anyway."""
        volume = self._caches.volumes.get(key)
        is_new = volume is not None and volume.status.phase is VolumePhase.PENDING
        put_off = self._put_off.pop(key, 0)
        if not is_new or not len(self.queue) or put_off >= _MOST_PUT_OFF:
            return False
        self._put_off[key] = put_off + 1
        return True

    async def _reconcile_volume(self, key: Key, desk: "_Desk") -> None:
        volume = self._caches.volumes.get(key)
        if volume is None or self._caches.unit_of(volume) != key:
            return
        if is_free(volume) and not self._caches.index.is_offered(volume.name):
            return  # a claim is about to have it
        await self._look_at_volume(volume, desk)

    async def _look_at_volume(self, volume: Volume, desk: "_Desk") -> None:
        claim = await self._find_claim(volume)
        is_bound = claim is not None and claim.spec.volume_name == volume.name
        named_by = None if is_bound else find_named_by(self._caches.claims, volume)
        plan = decide_volume(VolumeView(volume, claim, self._abilities, named_by))
        await self._effects.carry_out(plan, desk)

    async def _find_claim(self, volume: Volume) -> Claim | None:
        """The claim that the volume serves; before it counts as gone, the API is asked."""
        reference = volume.spec.claim_ref
        if reference is None:
            return None
        claim = self._caches.claims.get(reference.key)
        if needs_second_look(volume, claim):
            claim = None
            with suppress(NotFound):
                claim = await self._client.get(Claim, reference.key)
        return claim if claim is not None and claim.uid == reference.uid else None

    async def _resync(self) -> None:
        """A slow look at everything, a little at a time, in case an event was missed."""
        for informer in self._informers.all():
            await informer.synced.wait()
        while True:
            keys = {claim.key for claim in self._caches.claims.all()}
            keys.update(self._caches.unit_of(volume) for volume in self._caches.volumes.all())
            lots = list(_in_lots(keys))
            pause = self._settings.resync_seconds / max(len(lots), 1)
            if not lots:
                await self._clock.sleep(pause)
            for lot in lots:
                await self._clock.sleep(pause)
                self._without_cause.update(lot)
                for key in lot:
                    self.queue.add(key)

    # what a desk hands on

    def start(self, order: Provision | Delete | Recycle) -> None:
        desk = _Desk(self, None)
        match order:
            case Provision(claim, uid):
                name = name_of(PROVISION, claim, uid)
                self._start(name, lambda: self._provision_for(order), claim)
            case Delete(volume, uid, is_external):
                self.metrics.began(volume, self._deleter_name(volume), DELETE)
                if not is_external:  # else its own provisioner sees that it is released
                    name = name_of(DELETE, volume, uid)
                    self._start(name, lambda: self._reclaim.delete(order, desk), Key("", volume))
            case Recycle(volume, uid):
                name = name_of(RECYCLE, volume, uid)
                self._start(name, lambda: self._reclaim.recycle(order, desk), Key("", volume))

    def _start(self, name: str, operation: Work, subject: Key) -> None:
        self._operations.start(name, operation, self._look_later(subject))

    def _look_later(self, subject: Key) -> Later:
        def later(seconds: float) -> None:
            volume = None if subject.namespace else self._caches.volumes.get(subject)
            unit = subject if volume is None else self._caches.unit_of(volume)
            self.queue.add_after(unit, seconds)

        return later

    async def _provision_for(self, order: Provision) -> None:
        claim = self._caches.claims.get(order.claim)
        storage_class = self._caches.classes.get(Key("", order.storage_class))
        if claim is None or claim.uid != order.uid or claim.spec.volume_name:
            return  # it is not needed any more
        if storage_class is not None:
            desk = _Desk(self, order.claim)
            await self._provision.run(order, claim, storage_class, desk)

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

    def fold(self, written: Claim | Volume, writer: Key | None) -> None:
        with self._wakes.written_by(writer or Key("", "")):
            if isinstance(written, Claim):
                self._caches.claims.fold(written)
            else:
                self._caches.volumes.fold(written)


class _Desk:
    """The binder, as one plan sees it: writes made for `writer` do not wake it again."""

    def __init__(self, binder: Binder, writer: Key | None) -> None:
        self._binder = binder
        self._writer = writer
        self.has_written = False

    def fold(self, written: Claim | Volume) -> None:
        self.has_written = True
        self._binder.fold(written, self._writer)

    def start(self, order: Provision | Delete | Recycle) -> None:
        self._binder.start(order)

    def wake(self, claim: Key) -> None:
        if claim != self._writer:
            self._binder.queue.add(claim)

    def look_again(self, claim: Key) -> None:
        self._binder.queue.add(claim)


def _writes_volume(plan: Plan) -> bool:
    return any(isinstance(step, SaveVolume) for step in plan.steps)


def _free_target(view: ClaimView, plan: Plan) -> Volume | None:
    """The free volume that this plan binds, if it does."""
    target = view.match or view.volume
    if target is None or not is_free(target) or not _writes_volume(plan):
        return None
    return target


def _in_lots(keys: Iterable[Key]) -> Iterable[list[Key]]:
    rest = iter(keys)
    while lot := list(islice(rest, _LOT)):
        yield lot
