"""Every RPC of the CSI clients, ready to be called: for tests that hold for all of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from mooring.csi.capability import Mount, VolumeCapability, WireMode
from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.group_snapshots import GroupSnapshots
from mooring.csi.health import ControllerHealth, NodeHealth
from mooring.csi.identity import Identity
from mooring.csi.node import Node
from mooring.csi.outcome import Outcome
from mooring.csi.requests import (
    AttachVolume,
    CreateGroupSnapshot,
    CreateSnapshot,
    CreateVolume,
    ExpandOnNode,
    ExpandVolume,
    GroupMembers,
    ListSnapshots,
    PublishVolume,
    StageVolume,
    ValidateVolume,
)
from mooring.csi.secrets import Secrets
from mooring.csi.snapshot_metadata import SnapshotMetadata
from mooring.csi.snapshots import Snapshots
from mooring.csi.volume import CapacityRange

CAPABILITY = VolumeCapability(Mount("ext4"), WireMode.SINGLE_NODE_WRITER)
GROUP = GroupMembers("group-1", ("snap-1",))
GIB = CapacityRange(required_bytes=1 << 30)

RpcCall = Callable[[Connection, Secrets, float], Awaitable[Outcome[Any]]]


async def the_last(items: AsyncIterator[Outcome[Any]]) -> Outcome[Any]:
    """How a stream ended."""
    *_, last = [item async for item in items]
    return last


WITH_SECRETS: dict[str, RpcCall] = {
    "CreateVolume": lambda c, s, within: Controller(c).create(
        CreateVolume("pvc-1", (CAPABILITY,), GIB, secrets=s), within=within
    ),
    "DeleteVolume": lambda c, s, within: Controller(c).delete("vol-1", s, within=within),
    "ControllerPublishVolume": lambda c, s, within: Controller(c).attach(
        AttachVolume("vol-1", "node-1", CAPABILITY, secrets=s), within=within
    ),
    "ControllerUnpublishVolume": lambda c, s, within: Controller(c).detach(
        "vol-1", "node-1", s, within=within
    ),
    "ValidateVolumeCapabilities": lambda c, s, within: Controller(c).validate(
        ValidateVolume("vol-1", (CAPABILITY,), secrets=s), within=within
    ),
    "ControllerExpandVolume": lambda c, s, within: Controller(c).expand(
        ExpandVolume("vol-1", GIB, CAPABILITY, s), within=within
    ),
    "ControllerModifyVolume": lambda c, s, within: Controller(c).modify(
        "vol-1", {"iops": "100"}, s, within=within
    ),
    "CreateSnapshot": lambda c, s, within: Snapshots(c).create(
        CreateSnapshot("snap", "vol-1", secrets=s), within=within
    ),
    "DeleteSnapshot": lambda c, s, within: Snapshots(c).delete("snap-1", s, within=within),
    "ListSnapshots": lambda c, s, within: Snapshots(c).list_page(
        ListSnapshots(secrets=s), within=within
    ),
    "GetSnapshot": lambda c, s, within: Snapshots(c).get("snap-1", s, within=within),
    "CreateVolumeGroupSnapshot": lambda c, s, within: GroupSnapshots(c).create(
        CreateGroupSnapshot("group", ("vol-1",), secrets=s), within=within
    ),
    "DeleteVolumeGroupSnapshot": lambda c, s, within: GroupSnapshots(c).delete(
        GROUP, s, within=within
    ),
    "GetVolumeGroupSnapshot": lambda c, s, within: GroupSnapshots(c).get(GROUP, s, within=within),
    "ControllerListVolumeHealth": lambda c, s, within: ControllerHealth(c).list_page(
        secrets=s, within=within
    ),
    "ControllerGetVolumeHealth": lambda c, s, within: ControllerHealth(c).get(
        "vol-1", s, within=within
    ),
    "GetMetadataAllocated": lambda c, s, within: the_last(
        SnapshotMetadata(c).allocated("snap-1", secrets=s, within=within)
    ),
    "GetMetadataDelta": lambda c, s, within: the_last(
        SnapshotMetadata(c).delta("snap-1", "snap-2", secrets=s, within=within)
    ),
    "NodeGetStorageHealth": lambda c, s, within: NodeHealth(c).get_storage(s, within=within),
    "NodeStageVolume": lambda c, s, within: Node(c).stage(
        StageVolume("vol-1", "/nowhere/staging", CAPABILITY, secrets=s), within=within
    ),
    "NodePublishVolume": lambda c, s, within: Node(c).publish(
        PublishVolume(
            "vol-1",
            "/nowhere/target",
            CAPABILITY,
            readonly=False,
            staging_path="/nowhere/staging",
            secrets=s,
        ),
        within=within,
    ),
    "NodeExpandVolume": lambda c, s, within: Node(c).expand(
        ExpandOnNode("vol-1", "/nowhere/target", GIB, secrets=s), within=within
    ),
}

EVERY_CALL: dict[str, RpcCall] = {
    **WITH_SECRETS,
    "GetPluginInfo": lambda c, _, within: Identity(c).get_info(within=within),
    "GetPluginCapabilities": lambda c, _, within: Identity(c).capabilities(within=within),
    "Probe": lambda c, _, within: Identity(c).probe(within=within),
    "ListVolumes": lambda c, _, within: Controller(c).list_page(within=within),
    "GetCapacity": lambda c, _, within: Controller(c).get_capacity(within=within),
    "ControllerGetCapabilities": lambda c, _, within: Controller(c).capabilities(within=within),
    "ControllerGetVolume": lambda c, _, within: Controller(c).get("vol-1", within=within),
    "GroupControllerGetCapabilities": lambda c, _, within: GroupSnapshots(c).capabilities(
        within=within
    ),
    "NodeUnstageVolume": lambda c, _, within: Node(c).unstage(
        "vol-1", "/nowhere/staging", within=within
    ),
    "NodeUnpublishVolume": lambda c, _, within: Node(c).unpublish(
        "vol-1", "/nowhere/target", within=within
    ),
    "NodeGetVolumeStats": lambda c, _, within: Node(c).get_stats(
        "vol-1", "/nowhere/target", within=within
    ),
    "NodeGetCapabilities": lambda c, _, within: Node(c).capabilities(within=within),
    "NodeGetVolumeHealth": lambda c, _, within: NodeHealth(c).get("vol-1", within=within),
    "NodeGetInfo": lambda c, _, within: Node(c).get_info(within=within),
}
