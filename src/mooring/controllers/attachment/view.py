"""What the controller looks at: one volume, and every node that has to do with it."""

from datetime import datetime

import msgspec

from mooring.controllers.attachment.actual import Memory, State, VolumeOnNode, state_of
from mooring.controllers.attachment.resolve import AttachableVolume
from mooring.controllers.attachment.volume_name import VolumeName
from mooring.model.attachment import Attachment
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume

MAX_WAIT_SECONDS = 360.0


class Policy(msgspec.Struct, frozen=True):
    """When a volume is detached by force from a node that still reports it in use."""

    max_wait: float = MAX_WAIT_SECONDS  # seconds; of a node that is not ready
    forces_on_timeout: bool = True
    release: KubernetesVersion = NEWEST  # in whose words pods are told that they wait


class Departure(msgspec.Struct, frozen=True):
    """The end of a Node object. Of its machine it says nothing."""

    since: float  # monotonic
    in_use: frozenset[str] | None  # as the node said last; None: its last word was not heard

    def leaves_in_use(self, volume: str) -> bool:
        return self.in_use is None or volume in self.in_use


class VolumeOnNodeView(msgspec.Struct, frozen=True):
    """The volume on one node."""

    where: VolumeOnNode
    node: Node | None
    is_read: bool  # `node` is no older than the moment when the volume was off its list
    attachment: Attachment | None
    is_reported: bool  # it is in the list of attached volumes that we write to the node
    pods: tuple[Pod, ...]  # that want it there
    memory: Memory
    is_managed: bool  # volumes are attached to the node from here
    is_ours: bool  # `attachment` was made by a controller like us, or a pod has used it
    departure: Departure | None = None  # of a Node of this name, if none has become ready since

    @property
    def state(self) -> State:
        return state_of(self.attachment)

    @property
    def is_in_use(self) -> bool:
        """Whether the node reports it in use, or did so before its Node was deleted.

        For a deleted node whose last report was not seen it is assumed. The report of a recreated
        Node counts once the node is ready: a Node made by hand does not know what is mounted. A
        Node younger than the attachment counts as recreated, even if the deletion was not seen.
        """
        volume, node, departure = self.where.volume, self.node, self.departure
        if node is None:
            return departure is None or departure.leaves_in_use(volume)
        if volume in node.status.volumes_in_use:
            return True
        if node.is_ready:
            return False
        if departure is not None:
            return departure.leaves_in_use(volume)
        return self.attachment is not None and _is_younger(node, self.attachment)


def _is_younger(node: Node, attachment: Attachment) -> bool:
    """By the server's clock, in whole seconds."""
    born, made = node.metadata.creation_timestamp, attachment.metadata.creation_timestamp
    return born is not None and made is not None and born > made


class VolumeView(msgspec.Struct, frozen=True):
    name: str
    csi: VolumeName
    wanted: AttachableVolume | None  # as the pods have it; None when no pod wants it
    volume: Volume | None  # the persistent volume, if there is one
    on_nodes: tuple[VolumeOnNodeView, ...]  # in the order of their nodes' names
    now: float  # monotonic
    wall: datetime
    policy: Policy

    @property
    def label(self) -> str:
        """How people know the volume."""
        if self.wanted is not None:
            return self.wanted.label
        return self.csi.handle if self.volume is None else self.volume.name
