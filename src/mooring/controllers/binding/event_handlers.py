"""What wakes the binder: a change of an object queues those that it concerns, found by index."""

from mooring.controllers.binding.cache_indexes import (
    CLAIMS_BY_NODE,
    CLAIMS_BY_VOLUME,
    RECYCLED_BY_CLAIM,
)
from mooring.controllers.binding.context import BinderContext, OperationKey
from mooring.controllers.binding.metrics import DELETE, PROVISION, RECYCLE
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase

FRESH_SECONDS = 0.1
"""For how long a new volume is left alone: often its claim comes at once, and then marking it
Available first would be a write for nothing."""


class BinderEventHandlers:
    def __init__(self, context: BinderContext) -> None:
        self._context = context
        self._caches = context.caches
        self._metrics = context.metrics
        self._operations = context.operations
        self._wake = context.wake

    def listen(self) -> None:
        """Begin; what the caches hold already wakes everyone it concerns."""
        self._caches.classes.on_change(self._class_changed)
        self._caches.claims.on_change(self._claim_changed)
        self._caches.volumes.on_change(self._volume_changed)
        self._caches.pods.on_change(self._pod_changed)
        self._caches.nodes.on_change(self._node_changed)

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
            self._context.queue.add_after(unit, FRESH_SECONDS)
        else:
            self._wake(unit)
        self._context.offer(new)

    def _volume_gone(self, old: Volume) -> None:
        self._caches.index.discard(old.name)
        self._metrics.ended(old.name, DELETE)
        for act in (DELETE, RECYCLE):
            self._operations.forget(OperationKey(act, old.key, old.uid))
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
        self._operations.forget(OperationKey(PROVISION, old.key, old.uid))
        self._context.offer_again(caches.waiting.take_offers(old.key))
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
        for key in pod.claim_keys():
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
