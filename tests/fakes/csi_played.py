"""A CSI driver without a socket: each call is answered at once, from a `CsiState`.

For tests in which time stands still, or that cut an operation anywhere, the driver's part included.
`tests/fakes/csi_driver.py` is the one with a socket.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import Message

from mooring.csi.channel import Connection, Method
from mooring.csi.health import NodeHealth
from mooring.csi.node import Node
from mooring.csi.outcome import Code, Done, Outcome, judge
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.testing.csi_state import CsiState, Refuse

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    code: Code
    is_done: bool = False  # the work is done all the same
    message: str = "scripted"


class PlayedConnection(Connection):
    """To `state`; `requests` has what was asked, in order."""

    def __init__(self, state: CsiState) -> None:
        super().__init__("played")
        self.state = state
        self.requests: list[Message] = []
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)

    def fail(self, rpc: str, *faults: Fault) -> None:
        """The next calls of `rpc` go so, one each."""
        self._faults[rpc].extend(faults)

    def restart(self) -> None:
        """The driver may be another than before."""
        self._incarnation += 1

    def of(self, kind: type[Q]) -> list[Q]:
        return [request for request in self.requests if isinstance(request, kind)]

    def rpcs(self) -> list[str]:
        """What was to change something, in order."""
        names = (type(request).__name__.removesuffix("Request") for request in self.requests)
        return [name for name in names if not name.startswith("NodeGet")]

    async def call(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> Outcome[T]:
        request = build()
        self.requests.append(request)
        faults = self._faults[method.name]
        fault = faults.popleft() if faults else None
        if fault is not None and not fault.is_done:
            return judge(method.table, fault.code, secrets.mask(fault.message))
        try:
            reply = self.state.answer(method.name, request)
        except Refuse as refusal:
            return judge(method.table, refusal.code, secrets.mask(refusal.message))
        if fault is not None:
            return judge(method.table, fault.code, secrets.mask(fault.message))
        assert isinstance(reply, method.reply)
        return Done(read(reply))


@dataclass
class MountingState(CsiState):
    """A driver that really mounts: a directory per volume, bound where it is staged, and on."""

    mounts: MountOps = field(kw_only=True)
    backing: Path = field(kw_only=True)
    lies: bool = False  # it says that it has unpublished, and has not

    def NodeStageVolume(self, request: pb.NodeStageVolumeRequest) -> pb.NodeStageVolumeResponse:
        if not request.volume_capability.HasField("block"):
            self._bind(self._backing(request.volume_id), Path(request.staging_target_path))
        return super().NodeStageVolume(request)

    def NodeUnstageVolume(
        self, request: pb.NodeUnstageVolumeRequest
    ) -> pb.NodeUnstageVolumeResponse:
        self._unbind(Path(request.staging_target_path))
        return super().NodeUnstageVolume(request)

    def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest
    ) -> pb.NodePublishVolumeResponse:
        reply = super().NodePublishVolume(request)
        if not request.volume_capability.HasField("block"):
            staged = request.staging_target_path
            is_staged = bool(staged) and Path(staged).exists()
            source = Path(staged) if is_staged else self._backing(request.volume_id)
            self._bind(source, Path(request.target_path))
        return reply

    def NodeUnpublishVolume(
        self, request: pb.NodeUnpublishVolumeRequest
    ) -> pb.NodeUnpublishVolumeResponse:
        if self.lies:
            return pb.NodeUnpublishVolumeResponse()
        self._unbind(Path(request.target_path))
        return super().NodeUnpublishVolume(request)

    def _backing(self, volume_id: str) -> Path:
        path = self.backing / volume_id
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _bind(self, source: Path, target: Path) -> None:
        try:
            if not self.mounts.is_mount_point(target):
                self.mounts.bind(source, target)
        except HostError as error:
            raise Refuse(Code.INTERNAL, str(error)) from error

    def _unbind(self, target: Path) -> None:
        try:
            if self.mounts.is_mount_point(target):
                self.mounts.unmount(target)
        except HostError as error:
            raise Refuse(Code.INTERNAL, str(error)) from error


def registered(*connections: PlayedConnection) -> Drivers:
    """The drivers behind these, as registration would have them."""
    drivers = Drivers()
    for connection in connections:
        services = Node(connection), NodeHealth(connection)
        drivers.put(Driver(connection.state.name, "played", *services))
    return drivers
