"""The provisioner of one driver at work: claims and volumes wake it, and what they wait for."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from mooring.csi.cause import because_of
from mooring.model.attachment import Attachment
from mooring.model.backoff import Backoff
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.reference_grant import ReferenceGrant
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops
from mooring.reconcile.metrics import MeasuredQueue
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve
from mooring.sidecars.driver import Driver
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.indexes import BY_VOLUME
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.provisioner.caches import (
    BY_CLASS,
    BY_FOREIGN_NAMESPACE,
    BY_SOURCE,
    Caches,
    source_index,
)
from mooring.sidecars.provisioner.capacity import run as capacity
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.decide.claim import decide_claim
from mooring.sidecars.provisioner.decide.volume import decide_volume
from mooring.sidecars.provisioner.draft import volume_name
from mooring.sidecars.provisioner.effects.claim import ClaimEffects
from mooring.sidecars.provisioner.effects.preparing import Preparing
from mooring.sidecars.provisioner.effects.volume import VolumeEffects
from mooring.sidecars.provisioner.memory import Memory
from mooring.sidecars.provisioner.metrics import ProvisionerMetrics
from mooring.sidecars.provisioner.plan import INTENT
from mooring.sidecars.provisioner.sources import source_key
from mooring.sidecars.provisioner.topology import ClusterTopology
from mooring.sidecars.provisioner.turns import Turns
from mooring.sidecars.provisioner.view import (
    ClaimView,
    VolumeView,
    concerns,
    is_volume_of,
    wakes,
)
from mooring.sidecars.writing import ConflictBackoff

WORKERS = 100  # for claims, and as many for volumes
RETRY: Final = Backoff(first=1.0, cap=300.0)


def watch(loops: Loops, options: SidecarOptions) -> None:
    """Ask for all informers that provisioners share."""
    Caches(loops, options.node)
    capacity.CapacityCaches(loops, options.node)


def build(loops: Loops, driver: Driver, options: SidecarOptions) -> "Provisioner":
    """The provisioner of one driver, and what publishes the driver's capacity."""
    caches = Caches(loops, options.node)
    if options.provisioner.cross_namespace:
        caches.watch_grants(loops)
    publishing = capacity.build(loops, driver, caches, options)
    provisioner = Provisioner(loops, driver, caches, options, publishing.volumes_changed)
    queues: Mapping[str, MeasuredQueue] = {
        f"{driver.name}/claims": provisioner.claims_queue,
        f"{driver.name}/volumes": provisioner.volumes_queue,
    }
    loops.add(provisioner.run, queues)
    return provisioner


class Provisioner:
    """Serves one driver while `run` runs."""

    def __init__(
        self,
        loops: Loops,
        driver: Driver,
        caches: Caches,
        process: SidecarOptions,
        changed: Callable[[], None],
    ) -> None:
        clock = loops.clock
        self.claims_queue: KeyedQueue[str] = KeyedQueue(clock, RETRY)
        self.volumes_queue: KeyedQueue[Key] = KeyedQueue(clock, RETRY)
        self._driver = driver
        self._caches = caches
        self._memory = Memory(clock)
        self._outruns = ConflictBackoff()
        self._turns = Turns(clock, loops.rng, process.provisioner.turns)
        self._takes_immediate = process.provisioner.takes_immediate
        self._cluster: ClusterTopology | None = None
        self._changed = changed  # called when volumes were created or deleted
        started = round(clock.now().timestamp() * 1000)
        context = ProvisionerContext(
            client=loops.client,
            clock=clock,
            recorder=loops.recorder(f"{driver.name}_{process.identity}", counted_as=driver.name),
            driver=driver,
            options=process.provisioner,
            caches=caches,
            memory=self._memory,
            turns=self._turns,
            metrics=loops.counter(ProvisionerMetrics),
            identity=_identity(driver, f"{started}-{loops.rng.randrange(10000)}"),
        )
        preparing = Preparing(context, self._topology)
        self._claim_effects = ClaimEffects(context, preparing)
        self._volume_effects = VolumeEffects(context)

    async def run(self) -> None:
        caches = self._caches
        await caches.synced()
        caches.claims.on_change(self._on_claim)
        caches.volumes.on_change(self._on_volume)
        caches.classes.on_change(self._on_class)
        if caches.nodes is not None and caches.csi_nodes is not None:
            caches.nodes.on_change(self._on_node)
            caches.csi_nodes.on_change(self._on_csi_node)
        caches.attachments.on_change(self._on_attachment)
        if caches.grants is not None:
            caches.grants.on_change(self._on_grant)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.claims_queue, self.reconcile_claim))
                tasks.create_task(serve(self.volumes_queue, self.reconcile_volume))

    async def reconcile_claim(self, uid: str) -> Verdict:
        claim = self._caches.find_claim(uid)
        known = self._memory.open.get(uid)
        if claim is None or claim.selected_node:
            self._turns.forget(uid)
        if claim is None and known is None:
            self._memory.forget(uid)
            return Settled()
        plan = decide_claim(self._look(claim, known))
        with because_of(claim or known):
            return await self._outruns.look_again(uid, self._claim_effects.perform(plan))

    async def reconcile_volume(self, key: Key) -> Verdict:
        volume = self._caches.volumes.get(key)
        if volume is None:
            return Settled()
        attached = self._caches.attachments.by_index(BY_VOLUME, volume.name)
        is_attached = self._driver.abilities.attaches and bool(attached)
        view = VolumeView(
            driver=self._driver.name,
            volume=volume,
            storage_class=self._caches.find_class(volume.storage_class),
            attached_to=attached[0].spec.node_name if is_attached else "",
            is_deleted_behind=volume.uid in self._volume_effects.deleted_behind,
            is_here=self._driver.reaches(volume),
        )
        performed = self._volume_effects.perform(decide_volume(view))
        with because_of(volume):
            return await self._outruns.look_again(key, performed)

    def _look(self, found: Claim | None, known: Claim | None) -> ClaimView:
        claim = found or known
        if claim is None:
            raise ValueError("no claim to look at")
        storage_class = self._caches.find_class(claim.storage_class)
        clones = self._caches.claims.by_index(
            BY_SOURCE, source_index(Claim.resource.kind, claim.key)
        )
        class_uid = storage_class.uid if storage_class else ""
        own_node = self._driver.own_node
        is_free = own_node is not None and not claim.selected_node
        return ClaimView(
            driver=self._driver.name,
            claim=claim,
            is_gone=found is None,
            storage_class=storage_class,
            has_volume=self._caches.find_volume(volume_name(claim)) is not None,
            is_known_open=known is not None,
            is_source=any(self._holds(clone, claim) for clone in clones),
            paused_seconds=self._memory.paused_seconds(claim.uid, class_uid),
            own_node=own_node,
            takes_immediate=self._takes_immediate,
            seconds_to_turn=self._turns.seconds_left(claim.uid) if is_free else 0.0,
        )

    def _holds(self, clone: Claim, source: Claim) -> bool:
        """A claim of another namespace, which any of its users can make, holds it only once a
        driver may be copying it; that its record says so is not enough."""
        if clone.is_bound or clone.namespace == source.namespace:
            return not clone.is_bound
        if clone.uid in self._memory.open:
            return True
        return has_finalizer(clone, INTENT) and self._caches.may_be_filled(clone)

    def _topology(self) -> ClusterTopology:
        if self._cluster is None:
            self._cluster = self._caches.cluster_of(self._driver)
        return self._cluster

    # what wakes it

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        claim = after or before
        if claim is None:
            return
        if after is not None and after.uid in self._memory.open:
            self._memory.open[after.uid] = after  # should it be taken away by force: its last word
        if after is not None and not wakes(self._driver.name, before, after):
            return
        if concerns(self._driver.name, claim):
            self.claims_queue.add(claim.uid)
        self._wake_source(claim)
        clones = source_index(Claim.resource.kind, claim.key)
        for clone in self._caches.claims.by_index(BY_SOURCE, clones):
            self.claims_queue.add(clone.uid)

    def _wake_source(self, clone: Claim) -> None:
        """It may be let go of."""
        source = clone.spec.data_source or clone.spec.data_source_ref
        if source is None or source.kind != Claim.resource.kind:
            return
        claim = self._caches.claims.get(source_key(clone, source))
        if claim is not None and claim.is_deleting:
            self.claims_queue.add(claim.uid)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        volume = after or before
        if volume is None or not is_volume_of(self._driver.name, volume):
            return
        if not self._driver.reaches(volume):
            return
        if after is None:
            self._volume_effects.deleted_behind.discard(volume.uid)
        else:
            self.volumes_queue.add(volume.key)
        if before is None or after is None:
            self._changed()

    def _on_class(self, before: StorageClass | None, after: StorageClass | None) -> None:
        if after is None or (before is not None and before.uid == after.uid):
            return
        for claim in self._caches.claims.by_index(BY_CLASS, after.name):
            self.claims_queue.add(claim.uid)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if before and after and before.metadata.labels == after.metadata.labels:
            return
        self._topology_changed()

    def _on_csi_node(self, _before: CsiNode | None, _after: CsiNode | None) -> None:
        self._topology_changed()

    def _topology_changed(self) -> None:
        self._cluster = None
        for uid in self._memory.waiting:
            self.claims_queue.add(uid)

    def _on_grant(self, before: ReferenceGrant | None, after: ReferenceGrant | None) -> None:
        grant = after or before
        if grant is None:
            return
        for claim in self._caches.claims.by_index(BY_FOREIGN_NAMESPACE, grant.namespace):
            if not claim.is_bound:
                self.claims_queue.add(claim.uid)
                self._wake_source(claim)

    def _on_attachment(self, before: Attachment | None, after: Attachment | None) -> None:
        if after is None and before is not None and before.volume_name:
            self.volumes_queue.add(Key("", before.volume_name))


def _identity(driver: Driver, process: str) -> str:
    """Drivers find it among the attributes of a volume."""
    own_node = driver.own_node
    return "-".join((process, driver.name, *((own_node.name,) if own_node else ())))
