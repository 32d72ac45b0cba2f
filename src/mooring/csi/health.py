"""Asking for the health of volumes and backends, by the RPCs of CSI 1.13."""

from mooring.csi.channel import BadReply, Connection, method
from mooring.csi.outcome import Outcome
from mooring.csi.pages import Page, every_page
from mooring.csi.proto import csi_pb2
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume_health import (
    HealthEntry,
    StorageEntry,
    StorageTrouble,
    VolumeHealth,
    VolumeTrouble,
)
from mooring.csi.wire import capability_from_wire

_CONTROLLER = csi_pb2.DESCRIPTOR.services_by_name["Controller"]
_NODE = csi_pb2.DESCRIPTOR.services_by_name["Node"]
_LIST = method(
    _CONTROLLER,
    "ControllerListVolumeHealth",
    csi_pb2.ControllerListVolumeHealthRequest,
    csi_pb2.ControllerListVolumeHealthResponse,
)
_GET = method(
    _CONTROLLER,
    "ControllerGetVolumeHealth",
    csi_pb2.ControllerGetVolumeHealthRequest,
    csi_pb2.ControllerGetVolumeHealthResponse,
)
_GET_ON_NODE = method(
    _NODE,
    "NodeGetVolumeHealth",
    csi_pb2.NodeGetVolumeHealthRequest,
    csi_pb2.NodeGetVolumeHealthResponse,
)
_GET_STORAGE = method(
    _NODE,
    "NodeGetStorageHealth",
    csi_pb2.NodeGetStorageHealthRequest,
    csi_pb2.NodeGetStorageHealthResponse,
)


class ControllerHealth:
    """Of all volumes, as the controller part of a driver sees them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list_page(
        self,
        starting_token: str = "",
        *,
        secrets: Secrets = NO_SECRETS,
        max_entries: int = 0,
        within: float,
    ) -> Outcome[Page[VolumeHealth]]:
        """Refused with ABORTED: the token is of no use any more, start from the beginning."""

        def build() -> csi_pb2.ControllerListVolumeHealthRequest:
            return csi_pb2.ControllerListVolumeHealthRequest(
                max_entries=max_entries, starting_token=starting_token, secrets=secrets.reveal()
            )

        return await self._connection.call(_LIST, build, _read_page, within=within, secrets=secrets)

    async def list_all(self, *, within: float) -> Outcome[tuple[VolumeHealth, ...]]:
        """Every page; `within` seconds for each. Healthy volumes may be left out."""
        return await every_page(lambda token: self.list_page(token, within=within))

    async def get(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[VolumeHealth]:
        def build() -> csi_pb2.ControllerGetVolumeHealthRequest:
            return csi_pb2.ControllerGetVolumeHealthRequest(
                volume_id=volume_id, secrets=secrets.reveal()
            )

        return await self._connection.call(_GET, build, _read_one, within=within, secrets=secrets)


class NodeHealth:
    """Of volumes and backends, as they are seen from this machine."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(
        self, volume_id: str, publish_path: str = "", staging_path: str = "", *, within: float
    ) -> Outcome[VolumeHealth]:
        """The paths may be those of a mount that was only tried."""

        def build() -> csi_pb2.NodeGetVolumeHealthRequest:
            return csi_pb2.NodeGetVolumeHealthRequest(
                volume_id=volume_id,
                volume_publish_path=publish_path,
                staging_target_path=staging_path,
            )

        return await self._connection.call(_GET_ON_NODE, build, _read_one, within=within)

    async def get_storage(
        self, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[tuple[StorageEntry, ...]]:
        """Empty: nothing bad is known of the backends."""

        def build() -> csi_pb2.NodeGetStorageHealthRequest:
            return csi_pb2.NodeGetStorageHealthRequest(secrets=secrets.reveal())

        return await self._connection.call(
            _GET_STORAGE, build, _read_storage, within=within, secrets=secrets
        )


def _read_page(reply: csi_pb2.ControllerListVolumeHealthResponse) -> Page[VolumeHealth]:
    return Page(tuple(_health(each) for each in reply.entries), reply.next_token)


def _read_one(
    reply: csi_pb2.ControllerGetVolumeHealthResponse | csi_pb2.NodeGetVolumeHealthResponse,
) -> VolumeHealth:
    return _health(reply.volume_health)


def _health(message: csi_pb2.VolumeHealth) -> VolumeHealth:
    """Statuses of a newer specification are passed over. Raises: BadReply."""
    if not message.volume_id:
        raise BadReply("the driver returned the health of a volume without an id")
    known = VolumeTrouble.__members__.values()
    entries: dict[tuple[VolumeTrouble, str], HealthEntry] = {}
    for each in message.health_statuses:
        if int(each.status) in known and each.reason:
            status = VolumeTrouble(int(each.status))
            entries.setdefault(
                (status, each.reason), HealthEntry(status, each.reason, each.message)
            )
    return VolumeHealth(message.volume_id, tuple(entries.values()))


def _read_storage(reply: csi_pb2.NodeGetStorageHealthResponse) -> tuple[StorageEntry, ...]:
    known = StorageTrouble.__members__.values()
    entries: dict[StorageEntry, None] = {}
    for each in reply.backend_health:
        if int(each.status) not in known or not each.reason:
            continue
        capability = None
        if each.HasField("volume_capability"):
            capability = capability_from_wire(each.volume_capability)
            if capability is None:
                raise BadReply("the driver reports backend health of an unknown capability")
        status = StorageTrouble(int(each.status))
        entries.setdefault(StorageEntry(status, each.reason, each.message, capability))
    return tuple(entries)
