"""The Controller service: listing volumes and snapshots, and the free capacity.

Lists come in pages, in the order of ids. A token is the last id of a page: it stays valid when
volumes are created or deleted between two pages.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.wrappers_pb2 import Int64Value

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import answers, troubles
from mooring.driver.capability import read_use
from mooring.driver.core import Core
from mooring.driver.identifiers import is_snapshot_id, is_volume_id
from mooring.driver.parameters import volume_parameters
from mooring.driver.records import Record, VolumeRecord
from mooring.driver.refusal import ABORTED, INVALID, CallRefused
from mooring.driver.room import LEAST_BYTES
from mooring.driver.topology import is_here

R = TypeVar("R", bound=Record)
Rpc = csi.ControllerServiceCapability.RPC

CAPABILITIES = (
    Rpc.CREATE_DELETE_VOLUME,
    Rpc.PUBLISH_UNPUBLISH_VOLUME,
    Rpc.LIST_VOLUMES,
    Rpc.GET_CAPACITY,
    Rpc.CREATE_DELETE_SNAPSHOT,
    Rpc.LIST_SNAPSHOTS,
    Rpc.CLONE_VOLUME,
    Rpc.PUBLISH_READONLY,
    Rpc.EXPAND_VOLUME,
    Rpc.LIST_VOLUMES_PUBLISHED_NODES,
    Rpc.VOLUME_CONDITION,
    Rpc.GET_VOLUME,
    Rpc.SINGLE_NODE_MULTI_WRITER,
    Rpc.MODIFY_VOLUME,
    Rpc.GET_SNAPSHOT,
    Rpc.GET_VOLUME_HEALTH,
    Rpc.LIST_VOLUME_HEALTH,
)


class ListingCalls:
    """RPCs that change nothing. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def ControllerGetCapabilities(
        self, _: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        return csi.ControllerGetCapabilitiesResponse(
            capabilities=[
                csi.ControllerServiceCapability(rpc=Rpc(type=capability))
                for capability in CAPABILITIES
            ]
        )

    def ListVolumes(self, request: csi.ListVolumesRequest) -> csi.ListVolumesResponse:
        page, token = _page(
            self._volumes(), request.max_entries, request.starting_token, is_volume_id
        )
        entries = [
            csi.ListVolumesResponse.Entry(
                volume=answers.volume(volume, self._core.settings),
                status=csi.ListVolumesResponse.VolumeStatus(
                    published_node_ids=_nodes(volume),
                    volume_condition=troubles.condition(troubles.of_volume(self._core, volume)),
                ),
            )
            for volume in page
        ]
        return csi.ListVolumesResponse(entries=entries, next_token=token)

    def ControllerGetVolume(
        self, request: csi.ControllerGetVolumeRequest
    ) -> csi.ControllerGetVolumeResponse:
        volume = self._core.get_volume(request.volume_id)
        return csi.ControllerGetVolumeResponse(
            volume=answers.volume(volume, self._core.settings),
            status=csi.ControllerGetVolumeResponse.VolumeStatus(
                published_node_ids=_nodes(volume),
                volume_condition=troubles.condition(troubles.of_volume(self._core, volume)),
            ),
        )

    def ControllerListVolumeHealth(
        self, request: csi.ControllerListVolumeHealthRequest
    ) -> csi.ControllerListVolumeHealthResponse:
        """Volumes in order are left out; so a page may hold fewer than were asked for."""
        page, token = _page(
            self._volumes(), request.max_entries, request.starting_token, is_volume_id
        )
        found = ((each.id, troubles.of_volume(self._core, each)) for each in page)
        return csi.ControllerListVolumeHealthResponse(
            entries=[troubles.health(identifier, these) for identifier, these in found if these],
            next_token=token,
        )

    def ControllerGetVolumeHealth(
        self, request: csi.ControllerGetVolumeHealthRequest
    ) -> csi.ControllerGetVolumeHealthResponse:
        volume = self._core.get_volume(request.volume_id)
        these = troubles.of_volume(self._core, volume)
        return csi.ControllerGetVolumeHealthResponse(
            volume_health=troubles.health(volume.id, these)
        )

    def _volumes(self) -> list[VolumeRecord]:
        """Those that the controller service has made."""
        return [volume for volume in self._core.state.volumes.all() if not volume.is_inline]

    def ListSnapshots(self, request: csi.ListSnapshotsRequest) -> csi.ListSnapshotsResponse:
        snapshots = [
            snapshot
            for snapshot in self._core.state.all_snapshots()
            if request.snapshot_id in ("", snapshot.id)
            and request.source_volume_id in ("", snapshot.volume_id)
        ]
        page, token = _page(snapshots, request.max_entries, request.starting_token, is_snapshot_id)
        return csi.ListSnapshotsResponse(
            entries=[
                csi.ListSnapshotsResponse.Entry(
                    snapshot=answers.snapshot(snapshot, self._core.settings)
                )
                for snapshot in page
            ],
            next_token=token,
        )

    def GetCapacity(self, request: csi.GetCapacityRequest) -> csi.GetCapacityResponse:
        volume_parameters(request.parameters, pool=self._core.settings.pool)
        uses = [read_use(capability) for capability in request.volume_capabilities]
        least = max((LEAST_BYTES[use.fs_type] for use in uses), default=min(LEAST_BYTES.values()))
        if not is_here(request.accessible_topology, self._core.settings):
            return csi.GetCapacityResponse(available_capacity=0)
        available = self._core.room.available_bytes()
        return csi.GetCapacityResponse(
            available_capacity=available,
            maximum_volume_size=Int64Value(value=available),
            minimum_volume_size=Int64Value(value=least),
        )


def _nodes(volume: VolumeRecord) -> list[str]:
    return [attachment.node_id for attachment in volume.attachments]


def _page(
    records: Sequence[R], most: int, token: str, is_id: Callable[[str], bool]
) -> tuple[Sequence[R], str]:
    """A page of the records after `token`, and the next token. Raises: CallRefused."""
    if most < 0:
        raise CallRefused(INVALID, f"max_entries is negative: {most}")
    if token and not is_id(token):
        raise CallRefused(ABORTED, "starting_token was never given out; start anew without it")
    rest = [record for record in records if record.id > token]
    if not most or len(rest) <= most:
        return rest, ""
    return rest[:most], rest[most - 1].id
