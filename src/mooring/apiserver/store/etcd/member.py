"""The connection to one member of etcd: a gRPC channel, its calls and its one watch stream."""

import asyncio
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import grpc
import grpc.aio
import msgspec
from google.protobuf.message import Message

from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.proto.etcd_pb2 import WatchRequest, WatchResponse
from mooring.apiserver.store.etcd.wire import TOO_LARGE, WATCH_PATH, Method
from mooring.errors import UsageError

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

DEFAULT_PORT = 2379
CONNECT_SECONDS = 2.0
_LONGEST_TEXT = 1000  # characters of a failure that are kept

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),  # only the caller knows what a repetition means
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 10_000),  # etcd refuses more often than every 5 s
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
)


class WatchStream(Protocol):
    async def send(self, request: WatchRequest) -> None:
        """Raises: Failed."""
        ...

    async def receive(self) -> WatchResponse:
        """Raises: Failed, also when it has ended."""
        ...

    def close(self) -> None: ...


class Member(Protocol):
    @property
    def name(self) -> str: ...

    async def is_reachable(self) -> bool:
        """Whether there is a connection, or can be one within moments."""
        ...

    async def call(self, method: Method[Q, R], request: Q, within: float) -> R:
        """Send once. Raises: Failed."""
        ...

    def watch(self) -> WatchStream: ...

    async def close(self) -> None: ...


class TlsFiles(msgspec.Struct, frozen=True):
    """PEM files; without any of them nothing is encrypted."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class GrpcMember:
    def __init__(self, url: str, credentials: grpc.ChannelCredentials | None) -> None:
        target = _target(url)
        self.name = url
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=_OPTIONS)

    async def is_reachable(self) -> bool:
        if self._channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY:
            return True
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._channel.channel_ready()
        except TimeoutError:
            return False
        return True

    async def call(self, method: Method[Q, R], request: Q, within: float) -> R:
        send = self._channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.reply.FromString,
        )
        try:
            reply: R = await send(request, timeout=within)
        except grpc.aio.AioRpcError as error:
            raise _failed(error) from None
        return reply

    def watch(self) -> WatchStream:
        # Without a leader the member ends the stream instead of falling silent.
        return _GrpcWatch(
            self._channel.stream_stream(
                WATCH_PATH,
                request_serializer=WatchRequest.SerializeToString,
                response_deserializer=WatchResponse.FromString,
            )(metadata=(("hasleader", "true"),))
        )

    async def close(self) -> None:
        await self._channel.close()


class _GrpcWatch:
    def __init__(self, call: "grpc.aio.StreamStreamCall[WatchRequest, WatchResponse]") -> None:
        self._call = call

    async def send(self, request: WatchRequest) -> None:
        try:
            await self._call.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            raise _ended() from None
        except asyncio.CancelledError:
            self._check_closed()
            raise

    async def receive(self) -> WatchResponse:
        try:
            answer = await self._call.read()
        except grpc.aio.AioRpcError as error:
            raise _failed(error) from None
        except asyncio.CancelledError:
            self._check_closed()
            raise
        if not isinstance(answer, WatchResponse):
            raise _ended()
        return answer

    def close(self) -> None:
        self._call.cancel()

    def _check_closed(self) -> None:
        """A call that was cancelled here looks like a cancelled task. Raises: Failed."""
        task = asyncio.current_task()
        if self._call.cancelled() and not (task and task.cancelling()):
            raise _ended() from None


def read_credentials(urls: tuple[str, ...], files: TlsFiles) -> grpc.ChannelCredentials | None:
    """For all members alike. Raises: UsageError."""
    secure = {urlsplit(url).scheme == "https" for url in urls}
    if not urls or len(secure) > 1:
        raise UsageError("--etcd-servers: give one or more addresses, all http or all https")
    if bool(files.certificate) is not bool(files.key):
        raise UsageError("--etcd-certfile and --etcd-keyfile belong together: give both")
    if not secure.pop():
        if files.authority or files.certificate:
            raise UsageError("--etcd-cafile and --etcd-certfile need https:// in --etcd-servers")
        return None
    return grpc.ssl_channel_credentials(
        _content(files.authority), _content(files.key), _content(files.certificate)
    )


def _content(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if b"-----BEGIN " not in content:
        raise UsageError(f"{path} is no PEM file: it has no -----BEGIN line")
    return content


def _target(url: str) -> str:
    parts = urlsplit(url)
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port:
        raise UsageError(f"--etcd-servers: {url} is no address such as https://10.0.0.1:2379")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"dns:///{host}:{port}"


def _failed(error: grpc.aio.AioRpcError) -> Failed:
    text = (error.details() or error.code().name.lower())[:_LONGEST_TEXT]
    if "received message larger than max" in text:  # refused before etcd itself looks at it
        text = TOO_LARGE
    return Failed(error.code(), text)


def _ended() -> Failed:
    return Failed(grpc.StatusCode.UNAVAILABLE, "the watch stream has ended")
