"""What a node counts of its drivers, under the names that dashboards for Kubernetes know."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.node.registration.run import Registrations


class RegistrationMetrics(Collector):
    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "plugin_manager_total_plugins",
            "Number of plugins in Plugin Manager",
            labels=["socket_path", "state"],
        )
        there = self._registrations.sockets()
        known = tuple(one.socket for one in self._registrations.registered())
        for state, sockets in (
            ("actual_state_of_world", known),
            ("desired_state_of_world", there),
        ):
            for socket in sockets:
                family.add_metric([str(socket), state], 1)
        yield family
