"""What a process runs: parts that meet through the API alone (controllers, scheduler, node)."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from prometheus_client.registry import Collector


class Role(Protocol):
    @property
    def name(self) -> str: ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...

    async def synced(self) -> None:
        """Return when its caches hold what was there at the start."""
        ...

    def collectors(self) -> Iterable[Collector]:
        """What it counts."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A role that is of use only some time after its caches are full."""

    async def ready(self) -> None:
        """Return when its users can count on it."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """A role that knows of troubles, for the health check."""

    def troubles(self) -> str:
        """Empty: nothing."""
        ...
