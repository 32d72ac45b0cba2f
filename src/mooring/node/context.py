"""What the parts of a node share: its two pictures, its plugins, its way to the API."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.host import loop_device
from mooring.model.node import Node
from mooring.node.actual import Actual
from mooring.node.desired import Desired
from mooring.node.metrics import NodeMetrics
from mooring.plugins.block_mapping import DeviceLocks
from mooring.plugins.registry import Registry
from mooring.plugins.volume_host import Host
from mooring.reconcile.recorder import Recorder


class OwnNode(Protocol):
    """This machine as the API knows it."""

    @property
    def name(self) -> str: ...

    def attached(self) -> Mapping[str, str]:
        """Volumes that were attached to it, with their devices, as of the last news."""
        ...

    def labels(self) -> Mapping[str, str]: ...

    async def read(self) -> Node:
        """The newest. Raises: ApiError, ConnectionLost."""
        ...


class NodeContext(msgspec.Struct, frozen=True):
    host: Host
    registry: Registry
    desired: Desired
    actual: Actual
    client: Client
    recorder: Recorder
    clock: Clock
    own_node: OwnNode
    metrics: NodeMetrics = msgspec.field(default_factory=NodeMetrics)
    attaches_itself: bool = False  # no controller attaches volumes to this node
    device_locks: DeviceLocks = loop_device
