"""The driver behind a socket: its name, its capabilities, and its client."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from mooring.csi.capability import (
    ControllerCapability,
    Expansion,
    GroupCapability,
    PluginService,
    Writers,
    writers_of,
)
from mooring.csi.outcome import Outcome
from mooring.csi.requests import AttachVolume, Capacity, CreateVolume, Expanded, ExpandVolume
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import Volume, VolumeState
from mooring.csi.volume_health import VolumeHealth
from mooring.model import volume as model
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.snapshot_calls import GroupCalls, SnapshotCalls


class Calls(Protocol):
    """What sidecars ask of a driver's controller service; `csi.controller.Controller` does it."""

    async def create(self, volume: CreateVolume, *, within: float) -> Outcome[Volume]: ...

    async def delete(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]: ...

    async def attach(
        self, volume: AttachVolume, *, within: float
    ) -> Outcome[Mapping[str, str]]: ...

    async def detach(
        self, volume_id: str, node_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]: ...

    async def expand(self, volume: ExpandVolume, *, within: float) -> Outcome[Expanded]: ...

    async def modify(
        self,
        volume_id: str,
        mutable_parameters: Mapping[str, str],
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> Outcome[None]: ...

    async def list_all(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]: ...

    async def get_capacity(
        self,
        *,
        parameters: Mapping[str, str] | None = None,
        topology: Topology | None = None,
        within: float,
    ) -> Outcome[Capacity]: ...


class HealthCalls(Protocol):
    """What the health monitor asks; `sidecars.health.calls.HealthOfDriver` does it."""

    async def list_health(self, *, within: float) -> Outcome[tuple[VolumeHealth, ...]]: ...

    async def get_health(self, volume_id: str, *, within: float) -> Outcome[VolumeHealth]: ...

    async def list_states(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]: ...

    async def get_state(self, volume_id: str, *, within: float) -> Outcome[VolumeState]: ...


class Abilities(msgspec.Struct, frozen=True):
    """What a driver says that it can do."""

    services: frozenset[PluginService] = frozenset()
    controller: frozenset[ControllerCapability] = frozenset()
    expansion: frozenset[Expansion] = frozenset()  # whether in use; empty: it does not say
    node_expands: bool = False  # asked only of drivers whose controller does not expand
    groups: frozenset[GroupCapability] = frozenset()

    @property
    def has_topology(self) -> bool:
        return PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS in self.services

    @property
    def attaches(self) -> bool:
        return self.can(ControllerCapability.PUBLISH_UNPUBLISH_VOLUME)

    @property
    def takes_snapshots(self) -> bool:
        return self.can(ControllerCapability.CREATE_DELETE_SNAPSHOT)

    @property
    def takes_group_snapshots(self) -> bool:
        is_served = PluginService.GROUP_CONTROLLER_SERVICE in self.services
        return is_served and GroupCapability.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT in self.groups

    @property
    def expands(self) -> bool:
        return self.can(ControllerCapability.EXPAND_VOLUME)

    @property
    def is_offline_only(self) -> bool:
        """It grows no volume that is published somewhere."""
        return self.expansion == {Expansion.OFFLINE}

    @property
    def modifies(self) -> bool:
        return self.can(ControllerCapability.MODIFY_VOLUME)

    @property
    def needs_snapshotter(self) -> bool:
        return self.takes_snapshots or self.takes_group_snapshots

    @property
    def needs_resizer(self) -> bool:
        return self.expands or self.node_expands or self.modifies

    @property
    def writers(self) -> Writers:
        return writers_of(self.controller)

    def can(self, capability: ControllerCapability) -> bool:
        """Without a controller service, whatever else is said, nothing of it can be called."""
        return PluginService.CONTROLLER_SERVICE in self.services and capability in self.controller


class Driver(msgspec.Struct, frozen=True):
    name: str
    abilities: Abilities
    calls: Calls
    snapshots: SnapshotCalls
    groups: GroupCalls
    health: HealthCalls | None = None
    own_node: OwnNode | None = None  # None: it reaches all volumes, from wherever it runs

    @property
    def node_name(self) -> str:
        return "" if self.own_node is None else self.own_node.name

    @property
    def place(self) -> Topology | None:
        """Of its own node, if it has one, and names its place."""
        return None if self.own_node is None else self.own_node.place

    def reaches(self, volume: model.Volume) -> bool:
        return self.own_node is None or self.own_node.reaches(volume)

    def reaches_node(self, node: str) -> bool:
        return self.own_node is None or self.own_node.name == node
