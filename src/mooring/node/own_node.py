"""This machine as the API knows it: its Node object, watched by its name alone."""

from collections.abc import Callable, Iterable, Mapping
from random import Random

from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.selector import escape_field
from mooring.reconcile.reflector import Reflector


class WatchedNode:
    """`OwnNode` of `context.py`, and the `NodeObject` of `objects.py`. `informer` feeds it."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        name: str,
        labels: Mapping[str, str],
        allocatable: Mapping[str, str],
    ) -> None:
        """`labels` and `allocatable` are what is true while the API has no Node of this name."""
        self.name = name
        self.key = Key("", name)
        self._client = client
        self._labels = labels
        self._allocatable = allocatable
        scope = Scope(fields=f"metadata.name={escape_field(name)}")
        self.informer = Reflector(client, Node, scope, clock, rng)

    @property
    def known(self) -> Node | None:
        """As of the last news."""
        return self.informer.get(self.key)

    def attached(self) -> Mapping[str, str]:
        return _attached(self.known)

    def labels(self) -> Mapping[str, str]:
        known = self.known
        return self._labels if known is None else known.metadata.labels

    def allocatable(self) -> Mapping[str, str]:
        known = self.known
        return (known.status.allocatable if known is not None else {}) or self._allocatable

    async def read(self) -> Node:
        """The newest. Raises: ApiError, ConnectionLost."""
        found = await self._client.get(Node, self.key)
        self.informer.fold(found)
        return found

    def on_attached_change(self, handler: Callable[[Iterable[str]], None]) -> None:
        """Call `handler` with the names of volumes whose attachment has changed."""

        def compare(before: Node | None, after: Node | None) -> None:
            then, now = _attached(before), _attached(after)
            if changed := {name for name, _ in then.items() ^ now.items()}:
                handler(sorted(changed))

        self.informer.on_change(compare)


def _attached(node: Node | None) -> Mapping[str, str]:
    if node is None:
        return {}
    return {one.name: one.device_path for one in node.status.volumes_attached}
