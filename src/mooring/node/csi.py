"""CSI on a node: the plugin, the drivers that register, and the watch of their objects."""

from functools import partial

from mooring.client.contract import EVERYTHING
from mooring.csi.channel import Connection
from mooring.csi.metrics import OF_NODE, calls_histogram, observing
from mooring.model.csi_driver import CsiDriver
from mooring.node.actual import ActualVolume
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.own_node import WatchedNode
from mooring.node.registration.announce import Announcer
from mooring.node.registration.limits import VolumeLimits
from mooring.node.registration.metrics import RegistrationMetrics
from mooring.node.registration.run import Registrations
from mooring.node.run import NodeVolumes
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.plugin import CsiPlugin
from mooring.plugins.csi.source import find_driver_name
from mooring.plugins.volume_host import Host
from mooring.reconcile.loops import Loops
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import lasting


class NodeCsi:
    """Added to `loops`, which run it; before that, `serve` says whose volumes wait for drivers."""

    def __init__(self, loops: Loops, host: Host, own_node: WatchedNode) -> None:
        client, clock, rng = loops.client, loops.clock, loops.rng
        self.drivers = Drivers()
        self._objects = Reflector(client, CsiDriver, EVERYTHING, clock, rng)
        self.plugin = CsiPlugin(host, client, self.drivers, self._objects)
        self._clock = clock
        self._calls = calls_histogram(OF_NODE)
        announcer = Announcer(client, own_node, clock, rng)
        registrations = Registrations(
            host.layout.registrations, self.drivers, announcer, clock, self._connect
        )
        limits = VolumeLimits(self.drivers, self._objects, announcer, clock)
        own_node.informer.on_change(registrations.node_changed)
        self._objects.on_change(limits.changed)
        loops.add(self._objects.run)
        loops.add(registrations.run, {"node_registrations": registrations.queue})
        loops.add(partial(lasting, "volume limits", clock, limits.run))
        watches = LoopMetrics()
        watches.add_informer("node/csidrivers", self._objects.counts)
        loops.count(watches, self._calls, RegistrationMetrics(registrations))

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
        self._objects.on_change(changed)

    def _connect(self, endpoint: str, driver: str) -> Connection:
        """Calls of registration itself, which is no part of CSI, are not measured."""
        observer = observing(self._calls, driver) if driver else None
        return Connection(endpoint, driver=driver, observer=observer, clock=self._clock)


def volumes_of(context: NodeContext, driver: str) -> tuple[str, ...]:
    """The names of the volumes, wanted or here, that a driver serves: they may wait for it."""
    volumes: tuple[WantedVolume | ActualVolume, ...] = (
        *context.desired.volumes(),
        *context.actual.volumes(),
    )
    return tuple(sorted({one.name for one in volumes if find_driver_name(one.use) == driver}))
