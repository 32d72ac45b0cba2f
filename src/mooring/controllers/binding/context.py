"""What the binder's effects and event handlers share, from the start to the end of its process."""

from collections.abc import Iterable

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.binding.caches import Caches
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.metrics import BinderMetrics
from mooring.controllers.binding.plan import Reason
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.steps import Emit
from mooring.model.volume import Volume
from mooring.reconcile.apply import apply
from mooring.reconcile.operations import Operations
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder


class OperationKey(msgspec.Struct, frozen=True):
    """What is done to which object; another object of its name is another."""

    act: str
    subject: Key
    uid: str

    def __str__(self) -> str:
        return f"{self.act}-{self.subject}[{self.uid}]"


class BinderContext:
    """The API to write to, the caches to fold into, the queue to wake, the operations to start.

    The queue holds keys of claims, and of volumes without a claim; a volume with a claim is
    reconciled together with it, so that one pair has one worker. Keys of volumes have no namespace.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        plugins: InTreePlugins,
        caches: Caches,
    ) -> None:
        self.client = client
        self.clock = clock
        self.recorder = recorder
        self.plugins = plugins
        self.abilities = plugins.abilities()
        self.caches = caches
        self.metrics = BinderMetrics(clock)
        self.metrics.census = caches
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self.operations: Operations[OperationKey] = Operations(
            "volume operations", clock, self._look_later
        )
        self._writer: Key | None = None  # whose own write is being folded in right now

    def fold(self, written: Claim | Volume, writer: Key | None) -> None:
        """Take in what was written for `writer`: that wakes only others."""
        self._writer = writer
        try:
            if isinstance(written, Claim):
                self.caches.claims.fold(written)
            else:
                self.caches.volumes.fold(written)
        finally:
            self._writer = None

    def record(self, about: Claim | Volume, kind: EventType, reason: Reason, message: str) -> None:
        apply(Emit(about, kind, reason, message), self.recorder)

    def wake(self, key: Key) -> None:
        """Unless the change is its own doing."""
        if key != self._writer:
            self.queue.add(key)

    def offer(self, volume: Volume) -> None:
        """Wake one waiting claim that fits a free volume."""
        if self.caches.index.is_offered(volume.name):
            claim = self.caches.waiting.offer(volume)
            if claim is not None:
                self.wake(claim)

    def offer_again(self, names: Iterable[str]) -> None:
        """Offer the volumes that woke a claim, and that it did not take, to other claims."""
        for name in names:
            volume = self.caches.volumes.get(Key("", name))
            if volume is not None:
                self.offer(volume)

    def _look_later(self, operation: OperationKey, seconds: float) -> None:
        subject = operation.subject
        volume = None if subject.namespace else self.caches.volumes.get(subject)
        unit = subject if volume is None else self.caches.unit_of(volume)
        self.queue.add_after(unit, seconds)
