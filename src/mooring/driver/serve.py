"""Serving the driver on a unix socket."""

import errno
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

import grpc
from google.protobuf.message import Message

from mooring import log
from mooring.clock import Clock
from mooring.csi import serve
from mooring.csi.proto import csi_pb2 as csi
from mooring.csi.serve import LONGEST_PATH
from mooring.driver.backends.block_ranges import Step
from mooring.driver.backends.lvm_home import check_no_home
from mooring.driver.backends.open_lvm import open_lvm
from mooring.driver.block_metadata import MetadataCalls, Scan
from mooring.driver.controller import VolumeCalls
from mooring.driver.core import Core, new_core
from mooring.driver.groups import GroupCalls
from mooring.driver.health import HealthCalls
from mooring.driver.identity import IdentityCalls
from mooring.driver.listing import ListingCalls
from mooring.driver.node import NodeCalls
from mooring.driver.recover import prepare, recover
from mooring.driver.refusal import CallRefused, host_refusals
from mooring.driver.settings import NAME, DriverSettings
from mooring.driver.snapshots import SnapshotCalls
from mooring.driver.stand_in import StandIn
from mooring.driver.state import open_state
from mooring.errors import HostError, StillRunning, UsageError
from mooring.host.blocking import in_thread, taking, within_volume
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.contract import MountOps

GRACE_SECONDS = 30.0  # for running calls when the driver is stopped
RECOVER_SECONDS = 5.0
CALL_SECONDS = LONG_SECONDS  # without progress; callers time out sooner, and retry

_log = log.get("mooring.driver")

_PLACE_FIELDS = ("volume_id", "snapshot_id", "source_volume_id", "group_snapshot_id", "name")

Call = Callable[[Message], Message]


class Context(Protocol):
    """The used part of gRPC's servicer context."""

    async def abort(self, code: grpc.StatusCode, details: str) -> None: ...


def open_driver(settings: DriverSettings, mounts: MountOps, clock: Clock) -> Core:
    """A driver on its state directory, for `serving`. Blocks. Raises: UsageError."""
    if settings.pool is None:
        check_no_home(settings.state_dir)
        return new_core(settings, open_state(settings.state_dir), mounts, clock)
    backend = open_lvm(settings.pool, settings.state_dir, clock)
    state = open_state(settings.state_dir, backend.images.discard)
    return new_core(settings, state, mounts, clock, backend)


async def recover_all(core: Core) -> None:
    """Recover from a crash before the first call. A volume that hangs does not stop the others:
    calls about it are refused until it answers."""
    try:
        with within_volume(NAME), taking(2 * RECOVER_SECONDS):
            await in_thread(prepare, core)
    except HostError as error:  # recovering each volume reports its own error
        _log.warning("the machine does not tell what is mounted", error=error)
    for volume in core.state.volumes.all():
        try:
            with within_volume(f"{NAME}/{volume.id}"), taking(RECOVER_SECONDS):
                await in_thread(recover, core, volume)
        except HostError as error:
            _log.warning("a volume could not be recovered", volume=volume.id, error=error)


@asynccontextmanager
async def serving(core: Core, endpoint: str) -> AsyncIterator[None]:
    """Serve the driver at `endpoint` while the context is entered, after recovering from a crash.

    After: running calls have ended, and the socket is gone. Volumes stay mounted.
    Raises: UsageError when the socket cannot be created.
    """
    path = socket_path(endpoint)
    await in_thread(_make_place, path)
    await recover_all(core)
    offered = {
        csi.DESCRIPTOR.services_by_name[name]: _Service(name, calls, core)
        for name, calls in services(core).items()
    }
    async with serve.serving(path, offered, grace=GRACE_SECONDS):
        yield


def services(core: Core) -> dict[str, tuple[object, ...]]:
    """The objects that implement each gRPC service, by the service's name."""
    found: dict[str, tuple[object, ...]] = {
        "Identity": (IdentityCalls(core),),
        "Controller": (VolumeCalls(core), SnapshotCalls(core), ListingCalls(core)),
        "GroupController": (GroupCalls(core),),
        "Node": (NodeCalls(core), HealthCalls(core)),
    }
    if core.backend.tells_changed_blocks:
        found["SnapshotMetadata"] = (MetadataCalls(core),)
    return found


def socket_path(endpoint: str) -> Path:
    """The path in `unix:///path`, `unix:/path`, or a plain path. Raises: UsageError."""
    text = endpoint.removeprefix("unix://") if endpoint.startswith("unix://") else endpoint
    path = Path(text.removeprefix("unix:"))
    if not path.is_absolute():
        text = f"--endpoint {endpoint!r} names no absolute path: unix:///run/csi.sock would"
        raise UsageError(text)
    if len(os.fsencode(path)) > LONGEST_PATH:
        text = f"--endpoint {endpoint!r} is too long: a socket's path has {LONGEST_PATH} bytes"
        raise UsageError(text)
    return path


def _make_place(path: Path) -> None:
    """Remove the socket of a dead driver. Raises: UsageError when a process listens on it."""
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"the driver cannot listen at {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(mode):
        raise UsageError(
            f"the driver cannot listen at {path}: something else than a socket is there"
        )
    if _is_listening(path):
        raise UsageError(f"another driver listens at {path}: stop it, or choose another --endpoint")
    path.unlink(missing_ok=True)


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(0)
        try:
            trial.connect(str(path))
        except OSError as error:
            return error.errno not in (errno.ECONNREFUSED, errno.ENOENT)
    return True


def place_of(request: Message) -> str:
    """The bulkhead key of a call: the id of its volume or snapshot, or its name if it has no id."""
    for field in _PLACE_FIELDS:
        if named := getattr(request, field, ""):
            return f"{NAME}/{named}"
    return ""


class _Service:
    """One gRPC service: an async method for each RPC that an object in `answering` implements."""

    def __init__(self, name: str, answering: tuple[object, ...], core: Core) -> None:
        for method in csi.DESCRIPTOR.services_by_name[name].methods:
            found = (getattr(each, method.name, None) for each in answering)
            call = next((one for one in found if one is not None), None)
            if call is not None:
                handler = _stream_handler if method.server_streaming else _handler
                setattr(self, method.name, handler(method.name, call, core))


def _handler(
    name: str, call: Call, core: Core
) -> Callable[[Message, Context], Awaitable[Message | None]]:
    other = core.settings.stands_in_for
    stand_in = StandIn(other, core.state.volumes) if other else None

    def answer(request: Message) -> Message:
        with host_refusals():
            answered = call(request)
        return answered if stand_in is None else stand_in.outward(answered)

    async def handle(request: Message, context: Context) -> Message | None:
        request = request if stand_in is None else stand_in.inward(request)
        async with _answering(name, core.clock, context):
            with _at_place(name, request):
                return await in_thread(answer, request)
        return None

    return handle


def _stream_handler(
    name: str, call: Callable[[Message], Scan], core: Core
) -> Callable[[Message, Context], AsyncIterator[Message]]:
    def look(scan: Scan, position: int) -> Step:
        with host_refusals():
            return scan.look(position)

    async def handle(request: Message, context: Context) -> AsyncIterator[Message]:
        async with _answering(name, core.clock, context):
            scan = call(request)
            with core.in_flight.holding(reading=scan.snapshots):
                position: int | None = scan.begin
                while position is not None:
                    with _at_place(name, request):
                        step = await in_thread(look, scan, position)
                    position = step.go_on
                    if step.ranges or position is None:
                        yield scan.message(step)

    return handle


@contextmanager
def _at_place(name: str, request: Message) -> Iterator[None]:
    with within_volume(place_of(request) or f"{NAME} {name}"), taking(CALL_SECONDS):
        yield


@asynccontextmanager
async def _answering(name: str, clock: Clock, context: Context) -> AsyncIterator[None]:
    """Inside the block a call is answered; what it raises becomes its code."""
    began = clock.monotonic()
    code, because = grpc.StatusCode.OK, ""
    try:
        yield
    except CallRefused as refused:
        code, because = refused.code, refused.message
    except StillRunning as stuck:  # it may still take effect: a retry learns how it ended
        code, because = grpc.StatusCode.DEADLINE_EXCEEDED, str(stuck)
    except HostError as error:
        code, because = grpc.StatusCode.UNAVAILABLE, str(error)
    except Exception as error:  # noqa: BLE001  a bug must not look like an unknown outcome
        _log.exception("a call failed", call=name)
        code, because = grpc.StatusCode.INTERNAL, f"a bug in the driver: {type(error).__name__}"
    finally:
        took_ms = f"{(clock.monotonic() - began) * 1000:.1f}"
        _log.debug("called", call=name, code=code.name, took_ms=took_ms)
    if code is not grpc.StatusCode.OK:
        _log.info("a call was refused", call=name, code=code.name, because=because)
        await context.abort(code, because)
