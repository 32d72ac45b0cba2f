"""A fake CSI driver: a real gRPC server on a unix socket, whose every answer can be scripted.

    async with FakeCsiDriver(tmp_path / "csi.sock") as driver:
        driver.next("CreateVolume", After(Hangs()), Fails(Code.ABORTED))
        ...
        assert driver.rpcs() == ["CreateVolume", "CreateVolume"]

What it keeps (`driver.state`) outlives `stop` and `start`, as the volumes of a driver do.
Run as a program, `python -m tests.fakes.csi_driver SOCKET [RPC ...]`, it is a process to kill; it
hangs in the RPCs that are named.
"""

import asyncio
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import grpc.aio
from google.protobuf.message import Message

from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.serve import serving
from mooring.testing.csi_state import CsiState, Refuse

SERVICES = ("Identity", "Controller", "GroupController", "SnapshotMetadata", "Node")


@dataclass(frozen=True)
class Fails:
    """With a code; nothing is done."""

    code: Code
    message: str = "scripted"


@dataclass(frozen=True)
class Hangs:
    """Until the caller gives up; nothing is done."""


@dataclass(frozen=True)
class Dies:
    """The whole driver, in the middle of the call; nothing is done. `start` brings it back."""


@dataclass(frozen=True)
class Waits:
    """Slow: nothing is done before the gate opens, all is done after."""

    gate: asyncio.Event


@dataclass(frozen=True)
class Replies:
    """Something else than what is so."""

    change: Callable[[Message], Message]


@dataclass(frozen=True)
class After:
    """The work is done, and only then this happens."""

    then: "Fails | Hangs | Dies | Waits"


Behaviour = Fails | Hangs | Dies | Waits | Replies | After


def wrong_volume_id(volume_id: str) -> Replies:
    """For CreateVolume: an id that is of another volume."""

    def change(reply: Message) -> Message:
        assert isinstance(reply, pb.CreateVolumeResponse)
        volume = pb.Volume()
        volume.CopyFrom(reply.volume)
        volume.volume_id = volume_id
        return pb.CreateVolumeResponse(volume=volume)

    return Replies(change)


@dataclass
class Call:
    rpc: str
    request: Message
    done: bool = False  # the work was done; the caller may not know


@dataclass
class FakeCsiDriver:
    socket: Path
    state: CsiState = field(default_factory=CsiState)
    calls: list[Call] = field(default_factory=list)
    secrets_seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # rpc, secrets
    breaks: deque[int] = field(default_factory=deque)
    """After how many ranges the next streams break, one each."""

    def __post_init__(self) -> None:
        self._queued: dict[str, deque[Behaviour]] = defaultdict(deque)
        self._lasting: dict[str, Behaviour] = {}
        self._arrived = asyncio.Condition()
        self._server: AsyncExitStack | None = None
        self._death: asyncio.Task[None] | None = None

    def next(self, rpc: str, *behaviours: Behaviour) -> None:
        """The next calls of `rpc` go so, one each; then all is normal again."""
        self._queued[rpc].extend(behaviours)

    def always(self, rpc: str, behaviour: Behaviour | None) -> None:
        """All calls of `rpc` go so; None: normal again."""
        if behaviour is None:
            self._lasting.pop(rpc, None)
        else:
            self._lasting[rpc] = behaviour

    def rpcs(self, *, asking: bool = False) -> list[str]:
        """The calls in order; those that only ask are left out unless `asking`."""
        return [
            call.rpc for call in self.calls if asking or not call.rpc.startswith(_ASKING_PREFIXES)
        ]

    def requests(self, rpc: str) -> list[Message]:
        return [call.request for call in self.calls if call.rpc == rpc]

    async def arrived(self, rpc: str, count: int = 1) -> None:
        """Return when `rpc` was called that often in all."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests(rpc)) >= count)

    async def start(self) -> None:
        if self._death is not None:
            await self._death
            self._death = None
        services = {pb.DESCRIPTOR.services_by_name[name]: self._servicer(name) for name in SERVICES}
        stack = AsyncExitStack()
        await stack.enter_async_context(serving(self.socket, services))
        self._server = stack

    async def stop(self) -> None:
        """Calls under way are cut off. Again: nothing."""
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()

    async def __aenter__(self) -> "FakeCsiDriver":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._death is not None:
            await self._death
        await self.stop()

    def _servicer(self, service: str) -> SimpleNamespace:
        methods = pb.DESCRIPTOR.services_by_name[service].methods
        return SimpleNamespace(
            **{
                each.name: partial(
                    self._play_stream if each.server_streaming else self._play, each.name
                )
                for each in methods
                if hasattr(CsiState, each.name)
            }
        )

    async def _play_stream(
        self, rpc: str, request: Message, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[Message]:
        """The whole answer, cut into messages of `max_results` ranges."""
        reply = await self._play(rpc, request, context)
        assert isinstance(reply, pb.GetMetadataAllocatedResponse | pb.GetMetadataDeltaResponse)
        assert isinstance(request, pb.GetMetadataAllocatedRequest | pb.GetMetadataDeltaRequest)
        ranges = list(reply.block_metadata)
        broken = self.breaks.popleft() if self.breaks else None
        ranges = ranges[:broken]
        size = request.max_results or max(1, len(ranges))
        for begin in range(0, max(1, len(ranges)), size):
            del reply.block_metadata[:]
            reply.block_metadata.extend(ranges[begin : begin + size])
            yield reply
        if broken is not None:
            await _abort(context, Code.UNAVAILABLE, "the stream broke")

    async def _play(self, rpc: str, request: Message, context: grpc.aio.ServicerContext) -> Message:
        call = Call(rpc, request)
        self.calls.append(call)
        secrets = dict(getattr(request, "secrets", {}))
        if secrets:
            self.secrets_seen.append((rpc, secrets))
        async with self._arrived:
            self._arrived.notify_all()
        queue = self._queued[rpc]
        behaviour = queue.popleft() if queue else self._lasting.get(rpc)
        if behaviour is not None and not isinstance(behaviour, After | Replies):
            await self._behave(behaviour, context)
        try:
            reply = self.state.answer(rpc, request)
        except Refuse as refusal:
            await _abort(context, refusal.code, refusal.message)
            raise  # abort does not come back
        call.done = True
        if isinstance(behaviour, After):
            await self._behave(behaviour.then, context)
        assert isinstance(reply, Message)
        return behaviour.change(reply) if isinstance(behaviour, Replies) else reply

    async def _behave(
        self, behaviour: Fails | Hangs | Dies | Waits, context: grpc.aio.ServicerContext
    ) -> None:
        match behaviour:
            case Fails(code, message):
                await _abort(context, code, message)
            case Hangs():
                await asyncio.Event().wait()
            case Dies():
                self._death = self._death or asyncio.create_task(self.stop())
                await asyncio.Event().wait()
            case Waits(gate):
                await gate.wait()


_ASKING_PREFIXES = (
    "GetPlugin",
    "Probe",
    "ControllerGet",
    "ControllerList",
    "GetMetadata",
    "NodeGet",
    "GetCapacity",
    "List",
    "Validate",
)
_STATUS = {status.value[0]: status for status in grpc.StatusCode}


async def _abort(context: grpc.aio.ServicerContext, code: Code, message: str) -> None:
    await context.abort(_STATUS[code], message)


async def run(driver: FakeCsiDriver, hanging: list[str]) -> None:
    """Until cancelled."""
    for rpc in hanging:
        driver.always(rpc, Hangs())
    async with driver:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run(FakeCsiDriver(Path(sys.argv[1])), sys.argv[2:]))
