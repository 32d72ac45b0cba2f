"""Node: a machine that runs pods, and its attached volumes."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.condition import Condition, find_condition, is_condition_true
from mooring.model.meta import ApiObject, Resource
from mooring.model.taint import Taint
from mooring.model.wellknown import Annotation, TaintKey
from mooring.model.wire import Wire

LEFT = "NodeShutdown"
"""The reason of a Ready condition that is False because the node has left; see `has_left`."""
LEFT_VALUE = "left"
"""Of the out-of-service taint that `controllers/node_lifecycle` puts on a node which has left."""


class NodeSpec(Wire, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class AttachedVolume(Wire, frozen=True):
    name: str
    device_path: str = ""


class DaemonEndpoint(Wire, frozen=True):
    port: int = msgspec.field(name="Port", default=0)


class DaemonEndpoints(Wire, frozen=True):
    kubelet_endpoint: DaemonEndpoint = DaemonEndpoint()


class NodeImage(Wire, frozen=True):
    """An image that is on the node."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Wire, frozen=True):
    capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    allocatable: Mapping[str, str] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    images: tuple[NodeImage, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    daemon_endpoints: DaemonEndpoints = DaemonEndpoints()


class Node(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def selectable_fields(self) -> Mapping[str, str]:
        """The fields that node selectors may match (`matchFields`)."""
        return {"metadata.name": self.name}

    @property
    def is_ready(self) -> bool:
        return is_condition_true(self.status.conditions, "Ready")

    @property
    def is_out_of_service(self) -> bool:
        """It has the out-of-service taint, with any effect: volumes may be detached by force.

        The taint that only repeats the node's goodbye holds no longer than that: a node that came
        back may have mounted volumes before somebody takes the taint away.
        """
        taints = [taint for taint in self.spec.taints if taint.key == TaintKey.OUT_OF_SERVICE]
        return any(taint.value != LEFT_VALUE for taint in taints) or bool(taints and self.has_left)

    @property
    def has_left(self) -> bool:
        """It has said goodbye: its containers have ended, and nothing of its pods is mounted."""
        ready = find_condition(self.status.conditions, "Ready")
        said = ready is not None and (ready.status, ready.reason) == ("False", LEFT)
        return said and not self.status.volumes_in_use

    @property
    def leaves_attaching_to_controller(self) -> bool:
        return Annotation.CONTROLLER_ATTACHES in self.metadata.annotations
