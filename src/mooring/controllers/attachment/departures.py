"""Nodes whose Node object was deleted while volumes are there: the machine may go on using them."""

from mooring.clock import Clock
from mooring.controllers.attachment.actual import Actual
from mooring.controllers.attachment.view import Departure
from mooring.model.node import Node


class Departures:
    def __init__(self, clock: Clock, actual: Actual) -> None:
        self._clock = clock
        self._actual = actual
        self._departures: dict[str, Departure] = {}  # by node, as long as volumes are there

    def __len__(self) -> int:
        return len(self._departures)

    def find(self, node: str) -> Departure | None:
        return self._departures.get(node)

    def forget(self, node: str) -> None:
        """A Node of that name is ready: it speaks for its machine."""
        self._departures.pop(node, None)

    def note(self, node: Node, *, has_missed: bool) -> None:
        """`has_missed`: only a list shows that it is gone, and not what it said in the end."""
        for name in [name for name in self._departures if not self._actual.volumes_on(name)]:
            del self._departures[name]
        if not self._actual.volumes_on(node.name):
            return
        in_use = None if has_missed else frozenset(node.status.volumes_in_use)
        earlier = self._departures.get(node.name)
        if earlier is not None:  # a Node in between that never became ready has said nothing
            in_use = None if earlier.in_use is None or in_use is None else earlier.in_use | in_use
        self._departures[node.name] = Departure(self._clock.monotonic(), in_use)
