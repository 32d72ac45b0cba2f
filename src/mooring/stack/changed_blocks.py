"""`mooring snapshot changed-blocks`: a client of the snapshot metadata service of a driver."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import msgspec
import uvloop

from mooring.client.connect import connect
from mooring.client.contract import Action, Client
from mooring.clock import RealClock
from mooring.csi.channel import LARGEST_MESSAGE
from mooring.csi.outcome import Code
from mooring.csi.proto import snapshotmetadata_pb2 as api
from mooring.csi.snapshot_metadata import BlockRange
from mooring.errors import ApiError, NotFound, UsageError
from mooring.model.keys import Key
from mooring.model.service_account import ServiceAccount
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.snapshot_metadata_service import SnapshotMetadataService

TOKEN_SECONDS = 600
MOST_RESUMED = 5  # times in a row without a new range
_AGAIN = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)  # after which a stream is taken up again
_PATH = f"/{api.DESCRIPTOR.services_by_name['SnapshotMetadata'].full_name}"
_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.enable_http_proxy", 0),
)

Take = Callable[["Found"], None]


class Wish(msgspec.Struct, frozen=True):
    namespace: str
    snapshot: str
    base: str = ""  # an older snapshot; empty: what is allocated
    account: Key = Key("", "default")  # whose token is sent; without a namespace: of the snapshot's


class Found(msgspec.Struct, frozen=True):
    """One message of the stream."""

    volume_bytes: int
    ranges: tuple[BlockRange, ...]


class _Stopped(Exception):
    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code


def run_changed_blocks(kubeconfig: Path | None, wish: Wish, take: Take) -> None:
    """Each message of the stream to `take`. Raises: UsageError."""

    async def run() -> None:
        async with connect(kubeconfig, RealClock()) as client:
            async for found in changed_blocks(client, wish):
                take(found)

    uvloop.run(run())


async def changed_blocks(client: Client, wish: Wish) -> AsyncIterator[Found]:
    """A stream that breaks is taken up again behind its last range. Raises: UsageError."""
    content = await _content_of(client, wish.namespace, wish.snapshot)
    base = ""
    if wish.base:
        older = await _content_of(client, wish.namespace, wish.base)
        base = older.snapshot_handle
        if older.spec.driver != content.spec.driver:
            raise UsageError(
                f"{wish.base} and {wish.snapshot} are of different drivers, "
                f"{older.spec.driver} and {content.spec.driver}: name two of one volume"
            )
    service = await _find_service(client, content.spec.driver)
    async with _channel(service) as channel:
        position, fruitless = 0, 0
        while True:
            token = await _token(client, wish, service.spec.audience)
            try:
                async for found in _ask(channel, wish, base, token, position):
                    yield found
                    if found.ranges:
                        position, fruitless = found.ranges[-1].end, 0
                return
            except _Stopped as stopped:
                fruitless += 1
                if stopped.code not in _AGAIN or not position or fruitless > MOST_RESUMED:
                    raise _explained(stopped, wish, service) from stopped


async def _content_of(client: Client, namespace: str, name: str) -> SnapshotContent:
    """Raises: UsageError."""
    try:
        snapshot = await client.get(Snapshot, Key(namespace, name))
        if not snapshot.is_ready or not snapshot.content_name:
            raise UsageError(
                f"the snapshot {namespace}/{name} is not ready: "
                f"kubectl describe volumesnapshot {name} -n {namespace} says why"
            )
        return await client.get(SnapshotContent, Key("", snapshot.content_name))
    except NotFound as error:
        raise UsageError(
            f"{error}: kubectl get volumesnapshots -n {namespace} lists those that exist"
        ) from error


async def _find_service(client: Client, driver: str) -> SnapshotMetadataService:
    """Raises: UsageError."""
    try:
        return await client.get(SnapshotMetadataService, Key("", driver))
    except NotFound as error:
        raise UsageError(
            f"nobody tells the changed blocks of {driver}: there is no SnapshotMetadataService of "
            "that name; run `mooring sidecar snapshot-metadata` for it, if it has the capability"
        ) from error


async def _token(client: Client, wish: Wish, audience: str) -> str:
    """Raises: UsageError."""
    account = _account(wish)
    spec = {"audiences": [audience], "expirationSeconds": TOKEN_SECONDS}
    try:
        answer = await client.post(ServiceAccount, account, Action.TOKEN, {"spec": spec})
    except ApiError as error:
        raise UsageError(
            f"no token for the service account {account.namespace}/{account.name}: {error}; "
            "name another with --service-account"
        ) from error
    return str(answer["status"]["token"])


def _account(wish: Wish) -> Key:
    return Key(wish.account.namespace or wish.namespace, wish.account.name)


@asynccontextmanager
async def _channel(service: SnapshotMetadataService) -> AsyncIterator[grpc.aio.Channel]:
    trust = grpc.ssl_channel_credentials(service.spec.ca_cert)
    async with grpc.aio.secure_channel(service.spec.address, trust, _OPTIONS) as channel:
        yield channel


async def _ask(
    channel: grpc.aio.Channel, wish: Wish, base: str, token: str, position: int
) -> AsyncIterator[Found]:
    """Raises: _Stopped."""
    request: Any
    reply: Callable[[bytes], Any]
    if base:
        method, reply = "GetMetadataDelta", api.GetMetadataDeltaResponse.FromString
        request = api.GetMetadataDeltaRequest(
            security_token=token,
            namespace=wish.namespace,
            base_snapshot_id=base,
            target_snapshot_name=wish.snapshot,
            starting_offset=position,
        )
    else:
        method, reply = "GetMetadataAllocated", api.GetMetadataAllocatedResponse.FromString
        request = api.GetMetadataAllocatedRequest(
            security_token=token,
            namespace=wish.namespace,
            snapshot_name=wish.snapshot,
            starting_offset=position,
        )
    start = channel.unary_stream(
        f"{_PATH}/{method}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=reply,
    )
    try:
        async for message in start(request):
            ranges = (
                BlockRange(each.byte_offset, each.size_bytes) for each in message.block_metadata
            )
            yield Found(message.volume_capacity_bytes, tuple(ranges))
    except grpc.aio.AioRpcError as error:
        raise _Stopped(Code(error.code().value[0]), error.details() or "") from error


def _explained(stopped: _Stopped, wish: Wish, service: SnapshotMetadataService) -> UsageError:
    account = _account(wish)
    match stopped.code:
        case Code.PERMISSION_DENIED:
            remedy = (
                f"let {account.namespace}/{account.name} get volumesnapshots in {wish.namespace}, "
                "or name another with --service-account"
            )
        case Code.UNAUTHENTICATED:
            remedy = (
                f"the service at {service.spec.address} takes no token for "
                f"{service.spec.audience}: check spec.audience of the SnapshotMetadataService "
                f"{service.name}"
            )
        case Code.UNAVAILABLE:
            remedy = (
                f"check that the service of {service.name} runs at {service.spec.address}, with a "
                "certificate of spec.caCert"
            )
        case Code.INVALID_ARGUMENT:
            remedy = "name two snapshots of one volume, the older with --base"
        case _:
            remedy = f"see the log of the service of {service.name}"
    text = " ".join(str(stopped).split()).rstrip(": ")
    return UsageError(f"cannot list the blocks of {wish.snapshot}: {text}; {remedy}")
