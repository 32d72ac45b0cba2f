"""Which drivers of this machine's node the sidecars of `mooring up` serve."""

from collections.abc import Collection
from typing import Protocol

from mooring.plugins.csi.drivers import Drivers


class Serving(Protocol):
    """`sidecars.role.SidecarsRole` does it."""

    def add(self, driver: str, endpoint: str) -> None: ...

    def remove(self, driver: str) -> None: ...


def serve_drivers(drivers: Drivers, sidecars: Serving, left_alone: Collection[str]) -> None:
    """Every driver that registers, from when it comes until it goes, but not those `left_alone`."""

    def come(name: str) -> None:
        if name not in left_alone:
            sidecars.add(name, drivers.get(name).endpoint)

    drivers.on_come(come)
    drivers.on_go(sidecars.remove)
