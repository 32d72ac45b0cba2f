"""What drivers are asked, and what they answer: values without a wire. Pure."""

from collections.abc import Mapping

import msgspec

from mooring.csi.capability import Expansion, PluginService, VolumeCapability
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology, TopologyRequirement
from mooring.csi.volume import CapacityRange, ContentSource

# the controller service


class CreateVolume(msgspec.Struct, frozen=True):
    name: str
    capabilities: tuple[VolumeCapability, ...]
    capacity: CapacityRange | None = None
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS
    source: ContentSource | None = None
    topology: TopologyRequirement | None = None
    mutable_parameters: Mapping[str, str] = msgspec.field(default_factory=dict)


class AttachVolume(msgspec.Struct, frozen=True):
    volume_id: str
    node_id: str
    capability: VolumeCapability
    readonly: bool = False
    secrets: Secrets = NO_SECRETS
    volume_context: Mapping[str, str] = msgspec.field(default_factory=dict)


class ValidateVolume(msgspec.Struct, frozen=True):
    volume_id: str
    capabilities: tuple[VolumeCapability, ...]
    volume_context: Mapping[str, str] = msgspec.field(default_factory=dict)
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    mutable_parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS


class Validation(msgspec.Struct, frozen=True):
    confirmed: bool  # all that was asked for, and understood as it was meant
    message: str = ""


class Capacity(msgspec.Struct, frozen=True):
    available_bytes: int
    maximum_volume_bytes: int | None = None
    minimum_volume_bytes: int | None = None


class ExpandVolume(msgspec.Struct, frozen=True):
    volume_id: str
    capacity: CapacityRange
    capability: VolumeCapability | None = None
    secrets: Secrets = NO_SECRETS


class Expanded(msgspec.Struct, frozen=True):
    capacity_bytes: int
    node_expansion_required: bool


# snapshots


class CreateSnapshot(msgspec.Struct, frozen=True):
    name: str
    source_volume_id: str
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS
    topology: TopologyRequirement | None = None  # for SNAPSHOT_ACCESSIBILITY_CONSTRAINTS


class ListSnapshots(msgspec.Struct, frozen=True):
    """Which ones; nothing set means all."""

    snapshot_id: str = ""
    source_volume_id: str = ""
    secrets: Secrets = NO_SECRETS


class CreateGroupSnapshot(msgspec.Struct, frozen=True):
    name: str
    source_volume_ids: tuple[str, ...]
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS


class GroupMembers(msgspec.Struct, frozen=True):
    """A group snapshot, and every snapshot in it: a driver may want to hear of both."""

    group_snapshot_id: str
    snapshot_ids: tuple[str, ...]


# the node service


class StageVolume(msgspec.Struct, frozen=True):
    volume_id: str
    staging_path: str  # the caller made this directory
    capability: VolumeCapability
    publish_context: Mapping[str, str] = msgspec.field(default_factory=dict)
    volume_context: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS


class PublishVolume(msgspec.Struct, frozen=True):
    volume_id: str
    target_path: str  # the driver makes it; the caller made its parent
    capability: VolumeCapability
    readonly: bool
    staging_path: str = ""
    publish_context: Mapping[str, str] = msgspec.field(default_factory=dict)
    volume_context: Mapping[str, str] = msgspec.field(default_factory=dict)
    secrets: Secrets = NO_SECRETS
    secret_context: Secrets = NO_SECRETS  # service account tokens that go into the volume context


class ExpandOnNode(msgspec.Struct, frozen=True):
    volume_id: str
    volume_path: str
    capacity: CapacityRange | None = None  # None: to the size of the device
    staging_path: str = ""
    capability: VolumeCapability | None = None
    secrets: Secrets = NO_SECRETS


class NodeInfo(msgspec.Struct, frozen=True):
    node_id: str
    max_volumes: int = 0  # 0: no limit is known
    topology: Topology | None = None


# the identity service


class DriverInfo(msgspec.Struct, frozen=True):
    name: str
    vendor_version: str
    manifest: Mapping[str, str] = msgspec.field(default_factory=dict)


class PluginCapabilities(msgspec.Struct, frozen=True):
    services: frozenset[PluginService] = frozenset()
    expansion: frozenset[Expansion] = frozenset()
