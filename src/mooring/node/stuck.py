"""Telling of calls to the operating system that do not return, and going on when they do."""

from collections.abc import Callable

from mooring import log
from mooring.host.bulkhead import Bulkheads, StuckCall
from mooring.model.event import EventType
from mooring.node.run import NodeVolumes
from mooring.reconcile.recorder import reference_to

STUCK = "VolumeStuck"
MOST_TOLD = 5  # in one text

_log = log.get("mooring.node")


class StuckVolumes:
    """Hears from the bulkheads what is stuck on this node."""

    def __init__(self, volumes: NodeVolumes, bulkheads: Bulkheads) -> None:
        self._volumes = volumes
        self._context = volumes.context
        self._bulkheads = bulkheads
        self._known: frozenset[StuckCall] = frozenset()
        self._handlers: list[Callable[[], None]] = []
        bulkheads.on_change(self._changed)

    def on_change(self, handler: Callable[[], None]) -> None:
        """`handler` is called whenever `text` answers otherwise than before."""
        self._handlers.append(handler)

    def text(self) -> str:
        """For people; empty when nothing is stuck."""
        return _few([f"{call.place.key}: {call.text}" for call in self._bulkheads.stuck()])

    def names(self) -> str:
        """What is stuck, without paths or reasons, for unauthenticated readers."""
        return _few(list(dict.fromkeys(call.place.key for call in self._bulkheads.stuck())))

    def _changed(self) -> None:
        now = frozenset(self._bulkheads.stuck())
        new, gone, self._known = now - self._known, self._known - now, now
        for call in new:
            self._tell_pods(call)
        # What failed while it was stuck need not wait any longer.
        self._volumes.attached_changed({call.place.key for call in gone})
        for handler in self._handlers:
            handler()

    def _tell_pods(self, call: StuckCall) -> None:
        """Those that have or want the volume, each once for this call."""
        wanted = self._context.desired.find(call.place.key)
        for by in () if wanted is None else wanted.pods.values():
            text = f'Volume "{by.use.name}" does not answer: {call.text}'
            self._context.recorder.record(reference_to(by.pod), EventType.WARNING, STUCK, text)


def _few(texts: list[str]) -> str:
    more = [f"and {len(texts) - MOST_TOLD} more"] if len(texts) > MOST_TOLD else []
    return "; ".join([*texts[:MOST_TOLD], *more])
