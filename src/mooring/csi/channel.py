"""The connection to a driver: one gRPC channel per socket, and one method for every call.

The channel connects at the first call and, with a back-off of at most a second, again after the
driver went away. No call is retried here: only the caller knows what a repetition means.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar
from urllib.parse import quote

import grpc.aio
import msgspec
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from mooring import log as logs
from mooring.clock import Clock, RealClock
from mooring.csi.call_log import CALLS, VOLUME_FIELDS, CallLog, TracedCall
from mooring.csi.outcome import TABLES, Code, Done, Outcome, Refused, Table, Uncertain, judge
from mooring.csi.secrets import NO_SECRETS, Secrets, Unsendable
from mooring.csi.stripped import Stripped
from mooring.errors import MooringError

log = logs.get("mooring.csi")

LARGEST_MESSAGE = 16 << 20  # bytes; peers stop at 4 MiB, a long list of volumes must not
LONGEST_TEXT = 16 << 10  # characters of a failure that we keep

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
T = TypeVar("T")

_OPTIONS = (
    ("grpc.default_authority", "localhost"),  # some servers refuse a path for an authority
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    # A failure travels as metadata: too long a one must not look like RESOURCE_EXHAUSTED.
    ("grpc.max_metadata_size", LARGEST_MESSAGE),
    ("grpc.absolute_max_metadata_size", LARGEST_MESSAGE),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),  # a call is sent once
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # two connections share no back-off
)


_CLOSED = Uncertain(Code.CANCELLED, "the connection to the driver was closed")
TOO_LATE = Uncertain(Code.DEADLINE_EXCEEDED, "context deadline exceeded")
"""In the words of Kubernetes' own clients."""


class BadReply(MooringError):
    """The driver answered with what the specification does not allow."""


class Method(msgspec.Struct, Generic[Q, R], frozen=True):
    path: str
    request: type[Q]  # ties the type of the request to that of the reply
    reply: type[R]
    table: Table

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def method(service: ServiceDescriptor, name: str, request: type[Q], reply: type[R]) -> Method[Q, R]:
    """The RPC called `name`, with its table of codes."""
    described = service.methods_by_name[name]
    if (described.input_type, described.output_type) != (request.DESCRIPTOR, reply.DESCRIPTOR):
        raise TypeError(f"{service.full_name}.{name} does not take these messages")
    return Method(f"/{service.full_name}/{name}", request, reply, TABLES[name])


class Observation(msgspec.Struct, frozen=True):
    """One finished call, for metrics."""

    method: str  # its full path
    code: str  # as Kubernetes spells it
    seconds: float


Observer = Callable[[Observation], None]


def target_of(endpoint: str) -> str:
    """What gRPC dials for a path, `unix:///path`, `unix:path` or `host:port`."""
    if endpoint.startswith("unix:"):
        path = endpoint.removeprefix("unix:").removeprefix("//")
    elif "/" in endpoint and "://" not in endpoint:
        path = endpoint
    else:
        return endpoint.removeprefix("tcp://")
    return f"unix:{quote(path)}"


class Connection:
    """To one socket. Made without a running loop; `close` it when done."""

    def __init__(
        self,
        endpoint: str,
        *,
        driver: str = "",
        observer: Observer | None = None,
        clock: Clock | None = None,
        calls: CallLog = CALLS,
    ) -> None:
        self.endpoint = endpoint
        self.driver = driver  # its name, in the log of calls; empty: not known yet
        self._log = calls
        self._observer = observer
        self._clock = clock or RealClock()
        self._channel: grpc.aio.Channel | None = None
        self._calls: dict[str, Callable[..., Awaitable[bytes]]] = {}
        self._closed = False
        self._incarnation = 0
        self._stands = False

    @property
    def incarnation(self) -> int:
        """Counts up when the driver may be another than before: forget what you asked the old."""
        self._notice_loss()
        return self._incarnation

    async def call(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> Outcome[T]:
        """Send the request of `build`, once, and wait at most `within` seconds for the outcome.

        `secrets` are those inside the request: they are removed from error texts. `read` may raise
        BadReply; the outcome is then uncertain.
        Raises: only CancelledError.
        """
        traced = self._begin(method)
        label = Code.CANCELLED.label
        try:
            outcome = await self._attempt(method, build, read, within, secrets, traced)
            label = _label(outcome)
        finally:
            seconds = self._clock.monotonic() - traced.began
            self._log.end(traced, label, seconds)
        if self._observer is not None:
            self._observer(Observation(method.path, label, seconds))
        return outcome

    async def stream(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> AsyncGenerator[Outcome[T], None]:
        """As `call`, for many replies: each is Done, and a failure is the last item.

        Close the iterator (`aclosing`) to stop early. Raises: only CancelledError.
        """
        traced = self._begin(method)
        label = Code.CANCELLED.label
        try:
            async for outcome in self._stream(method, build, read, within, secrets, traced):
                label = _label(outcome)
                yield outcome
        finally:
            seconds = self._clock.monotonic() - traced.began
            self._log.end(traced, label, seconds)
            if self._observer is not None:
                self._observer(Observation(method.path, label, seconds))

    async def wait_ready(self) -> None:
        """Return when the driver listens; tried again and again until then."""
        self._notice_loss()
        await self._open().channel_ready()

    async def wait_lost(self) -> None:
        """Return when the connection does not stand, or no longer."""
        channel = self._open()
        while (state := channel.get_state()) is grpc.ChannelConnectivity.READY:
            await channel.wait_for_state_change(state)
        self._notice_loss()

    async def close(self) -> None:
        """Calls under way end as uncertain, as do all later ones."""
        self._closed = True
        if self._channel is not None:
            await self._channel.close()

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _begin(self, method: Method[Q, R]) -> TracedCall:
        clock = self._clock
        return self._log.begin(self.driver, method.path, clock.now(), clock.monotonic())

    async def _attempt(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        within: float,
        secrets: Secrets,
        traced: TracedCall,
    ) -> Outcome[T]:
        request = self._request(method, build, within, secrets, traced)
        if not isinstance(request, Done):
            return request
        sent = await self._send(method, request.value, within, secrets)
        if not isinstance(sent, Done):
            log.debug("the driver failed", method=method.name, why=sent.text)
            return sent
        return _decoded(method, read, sent.value, secrets)

    def _request(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        within: float,
        secrets: Secrets,
        traced: TracedCall,
    ) -> Outcome[bytes]:
        try:
            request = build()
        except Unsendable as error:
            return Refused(Code.INTERNAL, f"grpc: error while marshaling: {error}")
        except ValueError:  # its text shows the value, which may be a secret
            what = f"a field of {method.name} cannot be encoded"
            return Refused(Code.INTERNAL, f"grpc: error while marshaling: {what}")
        field = VOLUME_FIELDS.get(method.name)
        self._log.named(traced, "" if field is None else getattr(request, field))
        if self._closed:
            return _CLOSED
        if within <= 0:  # a deadline shared with earlier calls, which used it up
            return TOO_LATE
        self._notice_loss()
        log.debug("calls a driver", method=method.name, request=Stripped(request, secrets))
        return Done(request.SerializeToString())

    async def _stream(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        within: float,
        secrets: Secrets,
        traced: TracedCall,
    ) -> AsyncGenerator[Outcome[T], None]:
        request = self._request(method, build, within, secrets, traced)
        if not isinstance(request, Done):
            yield request
            return
        started = self._clock.monotonic()
        call = self._open().unary_stream(method.path)(request.value, timeout=within)
        try:
            async for reply in call:
                self._stands = True
                outcome = _decoded(method, read, reply, secrets)
                yield outcome
                if not isinstance(outcome, Done):
                    return
        except grpc.aio.AioRpcError as error:
            yield self._failed(method, error, started, within, secrets)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._closed or (task and task.cancelling()):
                raise
            yield _CLOSED
        finally:
            call.cancel()

    async def _send(
        self, method: Method[Q, R], request: bytes, within: float, secrets: Secrets
    ) -> Outcome[bytes]:
        started = self._clock.monotonic()
        try:
            reply = await self._prepared(method)(request, timeout=within)
        except grpc.aio.AioRpcError as error:
            return self._failed(method, error, started, within, secrets)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and not (task and task.cancelling()):
                return _CLOSED  # the channel was closed; the caller was not cancelled
            raise
        self._stands = True
        return Done(reply)

    def _failed(
        self,
        method: Method[Q, R],
        error: grpc.aio.AioRpcError,
        started: float,
        within: float,
        secrets: Secrets,
    ) -> Refused | Uncertain:
        code = Code(error.code().value[0])
        if code is Code.UNAVAILABLE:
            self._stands = False
            self._incarnation += 1
        if code is Code.DEADLINE_EXCEEDED and self._clock.monotonic() - started >= within:
            return TOO_LATE  # our own deadline, not one that the driver speaks of
        text = secrets.mask(error.details() or "")
        return judge(method.table, code, text[:LONGEST_TEXT])

    def _prepared(self, method: Method[Q, R]) -> Callable[..., Awaitable[bytes]]:
        """Takes and gives bytes: of a reply that it cannot decode, gRPC would make None."""
        prepared = self._calls.get(method.path)
        if prepared is None:
            prepared = self._calls[method.path] = self._open().unary_unary(method.path)
        return prepared

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(target_of(self.endpoint), options=_OPTIONS)
        return self._channel

    def _notice_loss(self) -> None:
        """A channel that lost its driver stays down until the next call: here it is seen."""
        if self._stands and self._open().get_state() is not grpc.ChannelConnectivity.READY:
            self._stands = False
            self._incarnation += 1


def _decoded(
    method: Method[Q, R], read: Callable[[R], T], sent: bytes, secrets: Secrets
) -> Outcome[T]:
    try:
        reply = method.reply.FromString(sent)
        log.debug("the driver answered", method=method.name, reply=Stripped(reply, secrets))
        return Done(read(reply))
    except DecodeError:
        return Uncertain(None, f"the answer to {method.name} cannot be decoded")
    except BadReply as error:
        return Uncertain(None, secrets.mask(str(error)))


def read_nothing(_: Message) -> None:
    """For replies that say no more than that it is done."""


def _label(outcome: Done[T] | Refused | Uncertain) -> str:
    match outcome:
        case Done():
            return Code.OK.label
        case Refused(code) | Uncertain(code):
            return "unknown-non-grpc" if code is None else code.label
