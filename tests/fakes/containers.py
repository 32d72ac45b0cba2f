"""Containers that exist only in memory: they end when a test says so, or when they are killed."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from mooring.clock import Clock
from mooring.model.tree_usage import NOTHING, TreeUsage
from mooring.oci.contract import (
    ContainerSpec,
    ExecOptions,
    Found,
    RuntimeRefused,
    Size,
    State,
)


class ContainerCall(msgspec.Struct, frozen=True):
    """What was asked for, whether or not it was refused."""

    verb: str  # the name of the Containers method
    container: str  # its name in the pod; its id when nobody knows it
    detail: str = ""  # the signal, or the words of a program


class FakeSession:
    """A `Session`: a test says what comes out and how it ends; `written` is what went in."""

    def __init__(self, wish: ExecOptions | None = None) -> None:
        self.wish = wish  # None: attached
        self.written = b""
        self.sizes: list[Size] = []
        self.has_input_ended = False
        self.is_closed = False
        self._out: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def say(self, data: bytes, stream: int = 1) -> None:
        self._out.put_nowait((stream, data))

    def end(self, code: int = 0) -> None:
        """Repeated: nothing."""
        if not self._code.done():
            self._code.set_result(code)
            self._out.put_nowait(None)

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        while (piece := await self._out.get()) is not None:
            yield piece

    async def write(self, data: bytes) -> None:
        self.written += data

    async def end_input(self) -> None:
        self.has_input_ended = True

    def resize(self, size: Size) -> None:
        self.sizes.append(size)

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    async def close(self) -> None:
        self.is_closed = True
        self.end(128 + signal.SIGKILL)


Answer = Callable[[FakeSession], None]


class FakeContainers:
    """A `Containers`. SIGTERM ends a container with 143 unless it is among the `stubborn`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.calls: list[ContainerCall] = []
        self.specs: dict[str, ContainerSpec] = {}
        self.sessions: list[FakeSession] = []
        self.stubborn: set[str] = set()  # names of containers that only SIGKILL ends
        self.layers: dict[str, TreeUsage] = {}  # what containers have written, by their names
        self._found: dict[str, Found] = {}
        self._handlers: list[Callable[[Found], None]] = []
        self._refusals: dict[tuple[str, str], list[Exception]] = {}
        self._answers: dict[tuple[str, ...], Answer] = {}
        self._gates: dict[tuple[str, str], asyncio.Event] = {}
        self._pids = 1000

    # What a test says.

    def refuse(self, verb: str, container: str, error: Exception | None = None) -> None:
        """Fail the next such call for the container of this name; repeated: the one after, too."""
        refusal = error or RuntimeRefused(f"{verb} {container}: refused")
        self._refusals.setdefault((verb, container), []).append(refusal)

    def hold(self, verb: str, container: str) -> asyncio.Event:
        """Let such calls wait until the event is set."""
        return self._gates.setdefault((verb, container), asyncio.Event())

    def answer(self, args: Sequence[str], answer: Answer) -> None:
        """What a program does when it is started by `exec`; one nobody speaks of ends with 0."""
        self._answers[tuple(args)] = answer

    def id_of(self, container: str, pod: str = "") -> str:
        """The newest of this name. Raises: KeyError."""
        for id in reversed(self._found):
            owner = self._found[id].owner
            if owner.container == container and pod in ("", owner.pod):
                return id
        raise KeyError(container)

    def running(self) -> list[str]:
        """The names of those that run, the oldest first."""
        found = self._found.values()
        return [each.owner.container for each in found if each.state is State.RUNNING]

    def finish(
        self, id: str, code: int = 0, *, is_oom_killed: bool = False, is_lost: bool = False
    ) -> None:
        """It has ended by itself. Repeated: nothing."""
        found = self._found[id]
        if found.state is State.EXITED:
            return
        ended = msgspec.structs.replace(
            found,
            state=State.EXITED,
            pid=0,
            finished_at=self._clock.now(),
            exit_code=code,
            is_oom_killed=is_oom_killed,
            is_lost=is_lost,
        )
        self._found[id] = ended
        for handler in self._handlers:
            handler(ended)

    # What the code under test asks for.

    async def create(self, spec: ContainerSpec) -> None:
        await self._begin("create", spec.owner.container)
        if spec.id in self._found:
            raise RuntimeRefused(f"container {spec.id} exists already")
        self.specs[spec.id] = spec
        self._found[spec.id] = Found(
            id=spec.id,
            owner=spec.owner,
            state=State.CREATED,
            created_at=self._clock.now(),
            log_path=spec.log_path,
            image_id=spec.image.id if spec.image else "",
            notes=dict(spec.notes),
        )

    async def start(self, id: str) -> None:
        await self._begin("start", self._name(id))
        found = self._known(id)
        if found.state is not State.CREATED:
            raise RuntimeRefused(f"container {id} was started before")
        self._pids += 1
        self._found[id] = msgspec.structs.replace(
            found, state=State.RUNNING, pid=self._pids, started_at=self._clock.now()
        )

    async def kill(self, id: str, number: signal.Signals) -> None:
        name = self._name(id)
        await self._begin("kill", name, number.name)
        found = self._known(id)
        if found.state is State.EXITED:
            return
        if number is signal.SIGKILL or name not in self.stubborn:
            self.finish(id, 128 + number)

    async def remove(self, id: str) -> None:
        await self._begin("remove", self._name(id))
        if id in self._found:
            self.finish(id, 128 + signal.SIGKILL)
        self._found.pop(id, None)
        self.specs.pop(id, None)

    def list(self) -> Sequence[Found]:
        return tuple(self._found.values())

    def find(self, id: str) -> Found | None:
        return self._found.get(id)

    def on_change(self, handler: Callable[[Found], None]) -> None:
        self._handlers.append(handler)

    async def exec(self, id: str, wish: ExecOptions) -> FakeSession:
        await self._begin("exec", self._name(id), " ".join(wish.args))
        self._running(id)
        session = FakeSession(wish)
        self.sessions.append(session)
        answer = self._answers.get(wish.args, FakeSession.end)
        answer(session)
        return session

    async def attach(self, id: str) -> FakeSession:
        await self._begin("attach", self._name(id))
        self._running(id)
        session = FakeSession()
        self.sessions.append(session)
        return session

    async def reopen_log(self, id: str) -> None:
        await self._begin("reopen_log", self._name(id))
        self._running(id)

    async def written(self, id: str) -> TreeUsage:
        name = self._name(id)
        await self._begin("written", name)
        self._known(id)
        return self.layers.get(name, NOTHING)

    def _name(self, id: str) -> str:
        found = self._found.get(id)
        return found.owner.container if found else id

    def _known(self, id: str) -> Found:
        found = self._found.get(id)
        if found is None:
            raise RuntimeRefused(f"container {id} does not exist")
        return found

    def _running(self, id: str) -> Found:
        found = self._known(id)
        if found.state is not State.RUNNING:
            raise RuntimeRefused(f"container {id} is not running")
        return found

    async def _begin(self, verb: str, container: str, detail: str = "") -> None:
        self.calls.append(ContainerCall(verb, container, detail))
        gate = self._gates.get((verb, container))
        if gate is not None:
            await gate.wait()
        refusals = self._refusals.get((verb, container))
        if refusals:
            raise refusals.pop(0)
