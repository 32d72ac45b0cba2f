"""The drivers that have registered on this node."""

from collections.abc import Callable, Iterator

import msgspec

from mooring.csi.health import NodeHealth
from mooring.csi.node import Node
from mooring.plugins.contract import NotStarted


class Driver(msgspec.Struct, frozen=True):
    name: str
    endpoint: str
    node: Node
    health: NodeHealth


class Drivers:
    """Registration fills it, volumes use it. Handlers must be quick, and must not raise."""

    def __init__(self) -> None:
        self._by_name: dict[str, Driver] = {}
        self._came: list[Callable[[str], None]] = []
        self._gone: list[Callable[[str], None]] = []
        self._full: list[Callable[[str], None]] = []

    def put(self, driver: Driver) -> None:
        """From now on this is the driver of its name."""
        self._by_name[driver.name] = driver
        for handler in self._came:
            handler(driver.name)

    def drop(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None:
            for handler in self._gone:
                handler(name)

    def find(self, name: str) -> Driver | None:
        return self._by_name.get(name)

    def get(self, name: str) -> Driver:
        """Raises: NotStarted; a driver that is not there may come."""
        found = self.find(name)
        if found is None:
            raise NotStarted(f"driver name {name} not found in the list of registered CSI drivers")
        return found

    def __iter__(self) -> Iterator[Driver]:
        return iter(tuple(self._by_name.values()))

    def on_come(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the name of a driver that has registered."""
        self._came.append(handler)

    def on_go(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the name of a driver that has deregistered."""
        self._gone.append(handler)

    def on_full(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the name of a driver that is full below its reported limit."""
        self._full.append(handler)

    def found_full(self, name: str) -> None:
        for handler in self._full:
            handler(name)
