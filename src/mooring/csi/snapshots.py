"""The part of the controller service that makes, deletes, gets and lists snapshots."""

from mooring.csi.channel import Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.pages import Page, every_page
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import CreateSnapshot, ListSnapshots
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import Snapshot
from mooring.csi.wire import requirement_to_wire, snapshot_from_wire

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["Controller"]
_CREATE = method(
    _SERVICE, "CreateSnapshot", csi_pb2.CreateSnapshotRequest, csi_pb2.CreateSnapshotResponse
)
_DELETE = method(
    _SERVICE, "DeleteSnapshot", csi_pb2.DeleteSnapshotRequest, csi_pb2.DeleteSnapshotResponse
)
_LIST = method(
    _SERVICE, "ListSnapshots", csi_pb2.ListSnapshotsRequest, csi_pb2.ListSnapshotsResponse
)
_GET = method(_SERVICE, "GetSnapshot", csi_pb2.GetSnapshotRequest, csi_pb2.GetSnapshotResponse)


class Snapshots:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, snapshot: CreateSnapshot, *, within: float) -> Outcome[Snapshot]:
        """Done, but not `ready_to_use`: it is cut; repeat the same words until it is ready."""

        def build() -> csi_pb2.CreateSnapshotRequest:
            return csi_pb2.CreateSnapshotRequest(
                source_volume_id=snapshot.source_volume_id,
                name=snapshot.name,
                secrets=snapshot.secrets.reveal(),
                parameters=snapshot.parameters,
                accessibility_requirements=requirement_to_wire(snapshot.topology),
            )

        return await self._connection.call(
            _CREATE, build, _read_created, within=within, secrets=snapshot.secrets
        )

    async def delete(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        """A snapshot that does not exist counts as Done."""

        def build() -> csi_pb2.DeleteSnapshotRequest:
            return csi_pb2.DeleteSnapshotRequest(snapshot_id=snapshot_id, secrets=secrets.reveal())

        return await self._connection.call(
            _DELETE, build, read_nothing, within=within, secrets=secrets
        )

    async def list_page(
        self,
        which: ListSnapshots,
        starting_token: str = "",
        *,
        max_entries: int = 0,
        within: float,
    ) -> Outcome[Page[Snapshot]]:
        """Refused with ABORTED: the token is of no use any more, start from the beginning."""

        def build() -> csi_pb2.ListSnapshotsRequest:
            return csi_pb2.ListSnapshotsRequest(
                max_entries=max_entries,
                starting_token=starting_token,
                source_volume_id=which.source_volume_id,
                snapshot_id=which.snapshot_id,
                secrets=which.secrets.reveal(),
            )

        return await self._connection.call(
            _LIST, build, _read_page, within=within, secrets=which.secrets
        )

    async def list_all(
        self, which: ListSnapshots, *, within: float
    ) -> Outcome[tuple[Snapshot, ...]]:
        """Every page; `within` seconds for each."""
        return await every_page(lambda token: self.list_page(which, token, within=within))

    async def get(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[Snapshot]:
        """Refused with NOT_FOUND: there is none of that id."""

        def build() -> csi_pb2.GetSnapshotRequest:
            return csi_pb2.GetSnapshotRequest(snapshot_id=snapshot_id, secrets=secrets.reveal())

        return await self._connection.call(
            _GET, build, _read_created, within=within, secrets=secrets
        )


def _read_created(
    reply: csi_pb2.CreateSnapshotResponse | csi_pb2.GetSnapshotResponse,
) -> Snapshot:
    return snapshot_from_wire(reply.snapshot)


def _read_page(reply: csi_pb2.ListSnapshotsResponse) -> Page[Snapshot]:
    return Page(
        tuple(snapshot_from_wire(each.snapshot) for each in reply.entries), reply.next_token
    )
