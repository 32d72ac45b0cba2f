"""The node whose volumes alone sidecars serve that run on each node (`--node-deployment`).

The driver on a node reaches no other node's volumes: asked to delete one, it would say that it is
gone.
"""

import msgspec

from mooring.csi.topology import Topology
from mooring.model.volume import Volume


class OwnNode(msgspec.Struct, frozen=True):
    name: str
    place: Topology | None = None  # by the driver's own word; None: it names none

    def reaches(self, volume: Volume) -> bool:
        """Whether the volume is here; one that names no place is on no node."""
        if self.place is None or volume.spec.node_affinity is None:
            return False
        required = volume.spec.node_affinity.required
        return required is not None and required.matches_labels(self.place.segments)
