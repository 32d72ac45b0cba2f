"""Which drivers `mooring up` serves."""

from typing import cast

from mooring.csi.health import NodeHealth
from mooring.csi.node import Node
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.stack.driver_sidecars import serve_drivers


class Served:
    def __init__(self) -> None:
        self.now: dict[str, str] = {}

    def add(self, driver: str, endpoint: str) -> None:
        self.now[driver] = endpoint

    def remove(self, driver: str) -> None:
        self.now.pop(driver, None)


def test_every_driver_is_served_but_those_with_sidecars_of_their_own() -> None:
    drivers, served = Drivers(), Served()
    serve_drivers(drivers, served, {"own.example.com"})
    for name in ("own.example.com", "d.example.com"):
        drivers.put(Driver(name, f"/run/{name}.sock", cast(Node, None), cast(NodeHealth, None)))
    assert served.now == {"d.example.com": "/run/d.example.com.sock"}
    for name in ("own.example.com", "d.example.com"):
        drivers.drop(name)
    assert served.now == {}
