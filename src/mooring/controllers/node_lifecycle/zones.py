"""How many nodes of each zone are ready, and how fast those that are not are emptied.

Counts are kept up to date node by node, so a change costs the same however many nodes there are.
"""

from collections.abc import Callable, Iterable
from enum import Enum

import msgspec

from mooring.model.node import Node
from mooring.model.wellknown import Label

INTERVAL_SECONDS = 10.0  # between two nodes of a zone
SLOW_INTERVAL_SECONDS = 100.0
LARGE_ZONE = 50  # nodes
UNHEALTHY_SHARE = 0.55
FEW = 2  # nodes that are not ready; so many disrupt no zone in part


class Zone(msgspec.Struct, frozen=True):
    region: str
    zone: str

    def __str__(self) -> str:
        return f"{self.region}:{self.zone}" if self.region or self.zone else ""


class Disruption(Enum):
    NONE = "none"
    PARTIAL = "partial"
    FULL = "full"


def zone_of(node: Node) -> Zone:
    labels = node.metadata.labels
    region = labels.get(Label.REGION) or labels.get(Label.REGION_BETA, "")
    return Zone(region, labels.get(Label.ZONE) or labels.get(Label.ZONE_BETA, ""))


class Tally(msgspec.Struct):
    nodes: int = 0
    ready: int = 0

    @property
    def disruption(self) -> Disruption:
        missing = self.nodes - self.ready
        if missing and not self.ready:
            return Disruption.FULL
        if missing > FEW and missing / self.nodes >= UNHEALTHY_SHARE:
            return Disruption.PARTIAL
        return Disruption.NONE

    @property
    def interval(self) -> float | None:
        """Seconds between two nodes that are emptied; None: none is."""
        if self.disruption is not Disruption.PARTIAL:
            return INTERVAL_SECONDS
        return SLOW_INTERVAL_SECONDS if self.nodes > LARGE_ZONE else None


class Zones:
    def __init__(self) -> None:
        self._tallies: dict[Zone, Tally] = {}
        self._places: dict[str, tuple[Zone, bool]] = {}  # zone and readiness, by node
        self._ready = 0

    @property
    def has_ready_nodes(self) -> bool:
        return self._ready > 0

    def tally(self, zone: Zone) -> Tally:
        return self._tallies.get(zone) or Tally()

    def tallies(self) -> Iterable[tuple[Zone, Tally]]:
        return self._tallies.items()

    def find(self, name: str) -> Zone | None:
        place = self._places.get(name)
        return None if place is None else place[0]

    def follow(self, name: str, node: Node | None) -> None:
        """The node has come, changed or gone."""
        place = None if node is None else (zone_of(node), node.is_ready)
        known = self._places.get(name)
        if place == known:
            return
        if known is not None:
            del self._places[name]
            self._count(*known, by=-1)
        if place is not None:
            self._places[name] = place
            self._count(*place, by=1)

    def _count(self, zone: Zone, is_ready: bool, *, by: int) -> None:  # noqa: FBT001  a fact
        tally = self._tallies.setdefault(zone, Tally())
        tally.nodes += by
        tally.ready += by * is_ready
        self._ready += by * is_ready
        if not tally.nodes:
            del self._tallies[zone]


class _Line(msgspec.Struct):
    waiting: dict[str, None] = msgspec.field(default_factory=dict)  # nodes, in order
    granted: set[str] = msgspec.field(default_factory=set)
    due: float = 0.0  # monotonic; of the next turn


class Turns:
    """Whose turn it is to be emptied: one node of a zone after the other."""

    def __init__(self, wake: Callable[[str], None]) -> None:
        self._wake = wake
        self._lines: dict[Zone, _Line] = {}

    def take(self, zone: Zone, node: str, interval: float | None, now: float) -> float | None:
        """Seconds until its turn; 0.0: now, until `leave`; None: it will be woken."""
        line = self._lines.setdefault(zone, _Line())
        if node in line.granted:
            return 0.0
        line.waiting.setdefault(node)
        if interval is None or next(iter(line.waiting)) != node:
            return None
        if now < line.due:
            return line.due - now
        del line.waiting[node]
        line.granted.add(node)
        line.due = now + interval
        self.look(zone)
        return 0.0

    def leave(self, zone: Zone, node: str) -> None:
        """It is emptied, or need not be any more."""
        line = self._lines.get(zone)
        if line is None:
            return
        line.granted.discard(node)
        if node in line.waiting:
            was_first = next(iter(line.waiting)) == node
            del line.waiting[node]
            if was_first:
                self.look(zone)

    def look(self, zone: Zone) -> None:
        """Wake who is first."""
        line = self._lines.get(zone)
        if line is not None and line.waiting:
            self._wake(next(iter(line.waiting)))
