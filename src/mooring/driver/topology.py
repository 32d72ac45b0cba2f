"""Topology: volumes are reachable only from the machine that has their images."""

from collections.abc import Iterable

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.refusal import EXHAUSTED, CallRefused
from mooring.driver.settings import TOPOLOGY_KEY


def of_node(node_id: str) -> csi.Topology:
    return csi.Topology(segments={TOPOLOGY_KEY: node_id})


def is_here(topology: csi.Topology, node_id: str) -> bool:
    """Whether a topology includes this machine; keys of other drivers are ignored."""
    return topology.segments.get(TOPOLOGY_KEY, node_id) == node_id


def check_reachable(wanted: csi.TopologyRequirement, node_id: str) -> None:
    """Raises: CallRefused when the required topologies do not include this machine."""
    allowed: Iterable[csi.Topology] = wanted.requisite
    if wanted.requisite and not any(is_here(topology, node_id) for topology in allowed):
        text = f"volumes can be made on node {node_id} only, which is not in the requisite topology"
        raise CallRefused(EXHAUSTED, text)
