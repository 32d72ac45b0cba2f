"""What the controller looks at: one volume, and every node that has to do with it."""

from datetime import datetime

import msgspec

from mooring.controllers.attachment.actual import Memory, Spot, State, state_of
from mooring.controllers.attachment.resolve import CsiVolume
from mooring.model.attachment import Attachment
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import CsiName

MAX_WAIT_SECONDS = 360.0


class Policy(msgspec.Struct, frozen=True):
    """When a volume is taken away from a node that has not let go of it."""

    max_wait: float = MAX_WAIT_SECONDS  # seconds; of a node that is not ready
    forces_on_timeout: bool = True


class Place(msgspec.Struct, frozen=True):
    """The volume on one node."""

    spot: Spot
    node: Node | None
    is_read: bool  # `node` is no older than the moment it was told not to count on the volume
    attachment: Attachment | None
    is_reported: bool  # it is in what we tell the node to be attached
    pods: tuple[Pod, ...]  # that want it there
    memory: Memory

    @property
    def state(self) -> State:
        return state_of(self.attachment)

    @property
    def is_managed(self) -> bool:
        """Whether volumes are attached to it from here."""
        return self.node is not None and self.node.leaves_attaching_to_controller

    @property
    def is_in_use(self) -> bool:
        """Whether the node says so."""
        return self.node is not None and self.spot.volume in self.node.status.volumes_in_use


class VolumeView(msgspec.Struct, frozen=True):
    name: str
    csi: CsiName
    wanted: CsiVolume | None  # as the pods have it; None when nobody wants it
    volume: Volume | None  # the persistent volume, if there is one
    places: tuple[Place, ...]  # in the order of their nodes' names
    now: float  # monotonic
    wall: datetime
    policy: Policy

    @property
    def label(self) -> str:
        """How people know the volume."""
        if self.wanted is not None:
            return self.wanted.label
        return self.csi.handle if self.volume is None else self.volume.name
