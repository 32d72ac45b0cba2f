"""Who has to be looked at when something changes: exactly those whom it concerns, by index.

The queue holds keys of claims, and of volumes that belong to no claim; a volume that belongs to one
is looked at together with it, so that one pair has one worker. Keys of volumes have no namespace.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mooring.controllers.binding.caches import Caches
from mooring.controllers.binding.indexes import (
    CLAIMS_BY_NODE,
    CLAIMS_BY_VOLUME,
    RECYCLED_BY_CLAIM,
)
from mooring.controllers.binding.metrics import DELETE, PROVISION, RECYCLE, BinderMetrics
from mooring.controllers.binding.operations import Operations, name_of
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.reconcile.queue import KeyedQueue

FRESH_SECONDS = 0.1
"""For how long a new volume is left alone: often its claim comes at once, and then marking it
Available first would be a write for nothing."""


class Wakes:
    def __init__(
        self,
        caches: Caches,
        queue: KeyedQueue[Key],
        operations: Operations,
        metrics: BinderMetrics,
    ) -> None:
        self._caches = caches
        self._queue = queue
        self._operations = operations
        self._metrics = metrics
        self._writer: Key | None = None  # whose own write is being folded in right now

    def listen(self) -> None:
        """Begin; what the caches hold already wakes everyone it concerns."""
        self._caches.classes.on_change(self._class_changed)
        self._caches.claims.on_change(self._claim_changed)
        self._caches.volumes.on_change(self._volume_changed)
        self._caches.pods.on_change(self._pod_changed)
        self._caches.nodes.on_change(self._node_changed)

    @contextmanager
    def written_by(self, key: Key) -> Iterator[None]:
        """What changes meanwhile is its own doing, and wakes only others."""
        self._writer = key
        try:
            yield
        finally:
            self._writer = None

    def offer(self, volume: Volume) -> None:
        """A volume that anybody may have wakes one claim that can use it."""
        if self._caches.index.is_offered(volume.name):
            claim = self._caches.waiting.offer(volume)
            if claim is not None:
                self._wake(claim)

    def offer_again(self, names: list[str]) -> None:
        """These volumes woke a claim; those it did not take may be for somebody else."""
        for name in names:
            volume = self._caches.volumes.get(Key("", name))
            if volume is not None:
                self.offer(volume)

    def _wake(self, key: Key) -> None:
        if key != self._writer:
            self._queue.add(key)

    def _volume_changed(self, old: Volume | None, new: Volume | None) -> None:
        if new is None:
            if old is not None:
                self._volume_gone(old)
            return
        caches = self._caches
        caches.index.put(new)
        for claim in caches.claims.by_index(CLAIMS_BY_VOLUME, new.name):
            self._wake(claim.key)
        unit = caches.unit_of(new)
        if unit == new.key and new.status.phase is VolumePhase.PENDING:
            self._queue.add_after(unit, FRESH_SECONDS)
        else:
            self._wake(unit)
        self.offer(new)

    def _volume_gone(self, old: Volume) -> None:
        self._caches.index.discard(old.name)
        self._metrics.ended(old.name, DELETE)
        for act in (DELETE, RECYCLE):
            self._operations.forget(name_of(act, old.name, old.uid))
        for claim in self._caches.claims.by_index(CLAIMS_BY_VOLUME, old.name):
            self._wake(claim.key)
        unit = self._caches.unit_of(old)
        if unit != old.key:
            self._wake(unit)

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        if new is not None:
            self._wake(new.key)
        elif old is not None:
            self._claim_gone(old)

    def _claim_gone(self, old: Claim) -> None:
        caches = self._caches
        caches.waiting.discard(old.key)
        self._metrics.forgotten(str(old.key), PROVISION)
        self._operations.forget(name_of(PROVISION, old.key, old.uid))
        self.offer_again(caches.waiting.take_offers(old.key))
        for volume in caches.index.reserved_for(old):
            self._wake(volume.key)
        if old.spec.volume_name:  # it may have forgotten the claim
            self._wake(Key("", old.spec.volume_name))

    def _class_changed(self, old: StorageClass | None, new: StorageClass | None) -> None:
        changed = new or old
        if changed is None:
            return
        waiting = self._caches.waiting
        for claim in waiting.of_class(changed.name):
            self._wake(claim.key)
        if self._caches.choose_default_class():
            for claim in waiting.of_class(""):
                if not claim.has_class:
                    self._wake(claim.key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Only where a pod begins or ceases to need its claims, or gets a node."""
        if _need(old) == _need(new):
            return
        pod = new or old
        if pod is None:
            return
        for name in pod.claim_names():
            key = Key(pod.namespace, name)
            if key in self._caches.waiting:
                self._wake(key)
            for volume in self._caches.volumes.by_index(RECYCLED_BY_CLAIM, key):
                self._wake(self._caches.unit_of(volume))

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        """A node that appears may be the one a claim was waiting for."""
        if old is None and new is not None:
            for claim in self._caches.claims.by_index(CLAIMS_BY_NODE, new.name):
                self._wake(claim.key)


def _need(pod: Pod | None) -> tuple[bool, bool]:
    """Whether it needs its claims, and whether it has a node."""
    return (pod is not None and not pod.is_terminated, pod is not None and pod.is_scheduled)
