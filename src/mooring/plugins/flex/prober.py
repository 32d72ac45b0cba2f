"""The drivers as plugins of a node's registry."""

from threading import Lock

from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.drivers import Drivers
from mooring.plugins.flex.plugin import flex_plugin
from mooring.plugins.registry import Found, Gone, Probed
from mooring.plugins.volume_host import Host


class FlexProber:
    """`Prober` of the registry."""

    def __init__(self, drivers: Drivers, host: Host) -> None:
        self._drivers = drivers
        self._host = host
        self._told: dict[str, Driver] = {}
        self._turn = Lock()  # asked from threads too

    def probe(self) -> Probed:
        with self._turn:
            now = self._drivers.all()
            gone = [Gone(name) for name in self._told if name not in now]
            found = [
                Found(flex_plugin(driver, self._host))
                for name, driver in now.items()
                if self._told.get(name) is not driver
            ]
            self._told = dict(now)
        return Probed((*gone, *found))
