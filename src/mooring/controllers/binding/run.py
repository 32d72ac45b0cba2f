"""The binder at work: what it is built from, when it looks, and what it looks at.

A queue of claims and volumes, several workers, and the slow operations beside them. A pass goes
from the caches through a view and `decide` to a plan, which `effects` carry out.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from math import ceil
from typing import TypeVar

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.binding.cache_indexes import find_named_by
from mooring.controllers.binding.caches import Caches, Informers
from mooring.controllers.binding.context import BinderContext
from mooring.controllers.binding.decide.claim import decide_claim
from mooring.controllers.binding.decide.match import is_free
from mooring.controllers.binding.decide.volume import decide_volume, needs_second_look
from mooring.controllers.binding.effects.carry_out import Effects
from mooring.controllers.binding.effects.recycle import PodRecycler
from mooring.controllers.binding.effects.writes import Writes
from mooring.controllers.binding.event_handlers import FRESH_SECONDS, BinderEventHandlers
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.metrics import PROVISION
from mooring.controllers.binding.plan import Plan, SaveVolume
from mooring.controllers.binding.view import ClaimView, Provisioning, VolumeView
from mooring.controllers.options import Options
from mooring.errors import NotFound
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Plugin
from mooring.plugins.glusterfs.volumes import GlusterVolumes
from mooring.plugins.quobyte.volumes import QuobyteVolumes
from mooring.plugins.rbd.volumes import RbdVolumes
from mooring.reconcile.loops import Loops
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import AT_ONCE
from mooring.reconcile.turn import Turn
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, work

T = TypeVar("T")

COMPONENT = "persistentvolume-controller"
"""The reporting component of its events."""

_BATCH = 100  # keys that a resync queues at once
_MOST_PUT_OFF = 20


class BinderSettings(msgspec.Struct, frozen=True):
    provisioning: Provisioning = Provisioning.ON
    workers: int = 32
    resync_seconds: float = 600.0  # in which everything is reconciled once
    notes_use: bool = False  # claims become Bound with the condition Unused, which others keep true


def build(loops: Loops, options: Options) -> None:
    """Add the binder to the role."""
    settings = BinderSettings(notes_use=options.notes_use)
    add_binder(loops, _plugins(loops.client, loops.clock, options), settings)


def add_binder(
    loops: Loops,
    plugins: InTreePlugins,
    settings: BinderSettings = BinderSettings(),  # noqa: B008 - immutable
) -> "Binder":
    informers = Informers(
        loops.informer(Volume),
        loops.informer(Claim),
        loops.informer(StorageClass),
        loops.informer(Pod),
        loops.informer(Node),
        loops.informer(CsiDriver),
        loops.informer(CsiNode),
    )
    recorder = loops.recorder(COMPONENT)
    binder = Binder(loops.client, loops.clock, informers, recorder, plugins, settings)
    loops.add(binder.run, {"claims": binder.queue})  # upstream has a second queue for volumes
    loops.count(binder.metrics)
    return binder


def _plugins(client: Client, clock: Clock, options: Options) -> InTreePlugins:
    recycling = options.recycling
    makers = {
        Plugin.HOST_PATH: options.host_path,
        Plugin.GLUSTERFS: GlusterVolumes(client, clock),
        Plugin.QUOBYTE: QuobyteVolumes(client),
        Plugin.RBD: RbdVolumes(client),
    }
    return InTreePlugins(
        provisioners=makers,
        deleters=makers,
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
        settings: BinderSettings = BinderSettings(),  # noqa: B008 - immutable
    ) -> None:
        self._informers = informers
        self._settings = settings
        self._caches = Caches(
            informers,
            plugins.abilities(),
            settings.provisioning,
            use_noted_by=clock if settings.notes_use else None,
        )
        self._context = BinderContext(client, clock, recorder, plugins, self._caches)
        self._effects = Effects(self._context)
        self._without_cause: set[Key] = set()  # keys that only the resync asked for
        self._put_off: dict[Key, int] = {}  # how often a new volume had to wait for busy workers
        self.metrics = self._context.metrics
        self.queue = self._context.queue
        BinderEventHandlers(self._context).listen()

    async def run(self) -> None:
        """Work until cancelled; if one part dies, all of it stops."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._context.operations.run())
            tasks.create_task(lasting("resync of claims", self._context.clock, self._resync))
            tasks.create_task(
                work(self._informers.needed(), self.queue, self.reconcile, self._settings.workers)
            )

    async def reconcile(self, key: Key) -> Verdict:
        """Reconcile a claim with its volumes, or a volume without a claim."""
        if not key.namespace and self._can_wait(key):
            return Again(FRESH_SECONDS)
        without_cause = key in self._without_cause
        self._without_cause.discard(key)
        writes = Writes(self._context, key)
        if key.namespace:
            await self._reconcile_claim(key, writes)
        else:
            await self._reconcile_volume(key, writes)
        if without_cause and writes.has_written:
            self.metrics.resync_caught()
        return Settled()

    # what it looks at

    async def _reconcile_claim(self, key: Key, writes: Writes) -> None:
        waiting = self._caches.waiting
        offers = waiting.take_offers(key)
        waiting.discard(key)
        try:
            claim = self._caches.claims.get(key)
            if claim is not None:
                await self._look_at_claim(claim, writes)
                for volume in self._caches.index.reserved_for(claim):
                    await self._look_at_volume(volume, writes)
        finally:
            self._context.offer_again(offers)

    async def _reconcile_volume(self, key: Key, writes: Writes) -> None:
        volume = self._caches.volumes.get(key)
        if volume is None or self._caches.unit_of(volume) != key:
            return
        if is_free(volume) and not self._caches.index.is_offered(volume.name):
            return  # a claim is about to have it
        await self._look_at_volume(volume, writes)

    async def _look_at_claim(self, claim: Claim, writes: Writes) -> None:
        view = self._caches.view_claim(claim)
        plan = decide_claim(view)
        target = _free_target(view, plan)
        if target is None:
            if view.match is None and not (claim.spec.volume_name or claim.is_bind_completed):
                # before any write: what comes meanwhile must find it here
                self._caches.waiting.put(claim, takes_any=not view.is_delayed)
            await self._effects.carry_out(plan, writes)
        else:
            self._caches.index.take(target.name)
            try:
                await self._effects.carry_out(plan, writes)
            finally:
                self._give_back(target.name)
        if view.match is not None:
            self.metrics.ended(str(claim.key), PROVISION)

    async def _look_at_volume(self, volume: Volume, writes: Writes) -> None:
        claim = await self._find_claim(volume)
        is_bound = claim is not None and claim.spec.volume_name == volume.name
        named_by = None if is_bound else find_named_by(self._caches.claims, volume)
        plan = decide_volume(VolumeView(volume, claim, self._context.abilities, named_by))
        await self._effects.carry_out(plan, writes)

    async def _find_claim(self, volume: Volume) -> Claim | None:
        """The claim that the volume serves; before it counts as gone, the API is asked."""
        reference = volume.spec.claim_ref
        if reference is None:
            return None
        claim = self._caches.claims.get(reference.key)
        if needs_second_look(volume, claim):
            claim = None
            with suppress(NotFound):
                claim = await self._context.client.get(Claim, reference.key)
        return claim if claim is not None and claim.uid == reference.uid else None

    # when it looks, besides when something changes (event_handlers.py)

    def _give_back(self, name: str) -> None:
        self._caches.index.give_back(name)
        if self._caches.index.is_offered(name):  # it was not to be
            self.queue.add_after(Key("", name), FRESH_SECONDS)
            self._context.offer_again([name])

    def _can_wait(self, key: Key) -> bool:
        """A new volume is reconciled when the queue is idle, or after a while anyway."""
        volume = self._caches.volumes.get(key)
        is_new = volume is not None and volume.status.phase is VolumePhase.PENDING
        put_off = self._put_off.pop(key, 0)
        if not is_new or not len(self.queue) or put_off >= _MOST_PUT_OFF:
            return False
        self._put_off[key] = put_off + 1
        return True

    async def _resync(self) -> None:
        """A slow look at everything, a little at a time, in case an event was missed."""
        for informer in self._informers.needed():
            await informer.synced.wait()
        clock = self._context.clock
        while True:
            units = await self._units()
            pause = self._settings.resync_seconds / max(ceil(len(units) / _BATCH), 1)
            if not units:
                await clock.sleep(pause)
            for batch in _in_batches(units, _BATCH):
                await clock.sleep(pause)
                self._without_cause.update(batch)
                for key in batch:
                    self.queue.add(key)

    async def _units(self) -> set[Key]:
        """The keys of everything there is, while others work."""
        keys: set[Key] = set()
        for some in _in_batches(list(self._caches.claims.all()), AT_ONCE):
            keys.update(claim.key for claim in some)
            await Turn()
        for others in _in_batches(list(self._caches.volumes.all()), AT_ONCE):
            keys.update(map(self._caches.unit_of, others))
            await Turn()
        return keys


def _writes_volume(plan: Plan) -> bool:
    return any(isinstance(step, SaveVolume) for step in plan.steps)


def _free_target(view: ClaimView, plan: Plan) -> Volume | None:
    """The free volume that this plan binds, if it does."""
    target = view.match or view.volume
    if target is None or not is_free(target) or not _writes_volume(plan):
        return None
    return target


def _in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
