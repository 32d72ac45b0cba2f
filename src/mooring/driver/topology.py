"""Topology: volumes are reachable only from the machine that has their images."""

from collections.abc import Iterable

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.refusal import EXHAUSTED, CallRefused
from mooring.driver.settings import DriverSettings


def of_node(settings: DriverSettings) -> csi.Topology:
    return csi.Topology(segments={settings.topology_key: settings.node_id})


def is_here(topology: csi.Topology, settings: DriverSettings) -> bool:
    """Whether a topology includes this machine; keys of other drivers are ignored."""
    return topology.segments.get(settings.topology_key, settings.node_id) == settings.node_id


def check_reachable(wanted: csi.TopologyRequirement, settings: DriverSettings) -> None:
    """Raises: CallRefused when the required topologies do not include this machine."""
    allowed: Iterable[csi.Topology] = wanted.requisite
    if wanted.requisite and not any(is_here(topology, settings) for topology in allowed):
        node = settings.node_id
        text = f"volumes can be made on node {node} only, which is not in the requisite topology"
        raise CallRefused(EXHAUSTED, text)
