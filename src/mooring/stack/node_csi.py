"""CSI on a node: the plugin, the drivers that register, and the watch of their objects."""

import asyncio
from collections.abc import Iterable

from prometheus_client.registry import Collector

from mooring.client.contract import EVERYTHING, Client
from mooring.csi.channel import Connection
from mooring.csi.metrics import OF_NODE, calls_histogram, observing
from mooring.model.csi_driver import CsiDriver
from mooring.node.own_node import WatchedNode
from mooring.node.registration.announce import Announcer
from mooring.node.registration.limits import Limits
from mooring.node.registration.metrics import RegistrationMetrics
from mooring.node.registration.run import Registrations
from mooring.node.registration.served import volumes_of
from mooring.node.run import NodeVolumes
from mooring.plugins.contract import Host
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.plugin import CsiPlugin
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import lasting


class NodeCsi:
    """`run` runs it until cancelled; before that, `serve` says whose volumes wait for drivers."""

    def __init__(self, host: Host, client: Client, own_node: WatchedNode) -> None:
        clock, chance = host.clock, host.chance
        self.drivers = Drivers()
        self.objects = Reflector(client, CsiDriver, EVERYTHING, clock, chance)
        self.plugin = CsiPlugin(host, client, self.drivers, self.objects)
        self._clock = clock
        self._calls = calls_histogram(OF_NODE)
        announcer = Announcer(client, own_node, clock, chance)
        self.registrations = Registrations(
            host.layout.registrations, self.drivers, announcer, clock, self._connect
        )
        self._limits = Limits(self.drivers, self.objects, announcer, clock)
        own_node.informer.on_change(self.registrations.node_changed)
        self.objects.on_change(self._limits.changed)

    def serve(self, volumes: NodeVolumes) -> None:
        """What failed for want of a driver, or of its object, is tried at once when that comes."""

        def came(driver: str) -> None:
            volumes.attached_changed(volumes_of(volumes.context, driver))

        def changed(before: CsiDriver | None, after: CsiDriver | None) -> None:
            volumes.attachability_changed()
            for one in (before, after):
                if one is not None:
                    came(one.name)

        self.drivers.on_come(came)
        self.objects.on_change(changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.objects.run())
            tasks.create_task(self.registrations.run())
            tasks.create_task(lasting("volume limits", self._clock, self._limits.run))

    def collectors(self) -> Iterable[Collector]:
        return (self._calls, RegistrationMetrics(self.registrations))

    def _connect(self, endpoint: str, driver: str) -> Connection:
        """Calls of registration itself, which is no part of CSI, are not measured."""
        observer = observing(self._calls, driver) if driver else None
        return Connection(endpoint, observer=observer, clock=self._clock)
