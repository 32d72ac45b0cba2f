"""A CSI driver without storage: every call is answered at once, recorded, and can be scripted."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from mooring.clock import Clock
from mooring.csi.capability import ControllerCapability, NodeCapability, PluginService
from mooring.csi.channel import TOO_LATE, BadReply, Connection, Method
from mooring.csi.outcome import Code, Done, Outcome, Uncertain, judge
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.model.document import Doc
from mooring.testing.csi_state import CsiState, Refuse
from mooring.testing.errors import ClusterError, NotYet

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
T = TypeVar("T")

C = ControllerCapability
HEALTH = {C.LIST_VOLUME_HEALTH, C.GET_VOLUME_HEALTH, C.VOLUME_CONDITION, C.GET_VOLUME}


class Script(msgspec.Struct):
    """How the next calls of one RPC go."""

    code: Code | None = None  # None: it succeeds
    message: str = "scripted"
    seconds: float = 0.0  # before it answers
    times: int | None = 1  # how often; None: until `reset`
    after: bool = False  # the work is done, and only then it fails


class FakeDriver:
    """What a driver keeps (`state`), how it behaves, and what it was asked."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.state = CsiState(name=name)
        self.state.plugin -= {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
        self.state.controller -= HEALTH
        self.state.node -= {NodeCapability.EXPAND_VOLUME}  # no real node is there to do it
        self._clock = clock
        self._scripts: defaultdict[str, list[Script]] = defaultdict(list)
        self._calls: list[Doc] = []
        self._called = asyncio.Condition()

    def connect(self) -> "PlayedConnection":
        return PlayedConnection(self)

    def script(self, rpc: str, code: str, **how: Any) -> None:
        """Raises: ClusterError for an RPC or a code that CSI does not have."""
        if rpc and not hasattr(CsiState, rpc):
            raise ClusterError(f"there is no RPC {rpc!r} in CSI; there is CreateVolume, ...")
        if code and code not in Code.__members__:
            raise ClusterError(
                f"there is no code {code!r}; there are {', '.join(Code.__members__)}"
            )
        if not rpc:
            self._scripts.clear()
            return
        self._scripts[rpc].append(Script(Code[code] if code else None, **how))

    def told_calls(self) -> list[Doc]:
        return list(self._calls)

    async def called(self, rpc: str, count: int, seconds: float) -> None:
        """Return when `rpc` was called so often in all. Raises: NotYet."""

        def so_often() -> int:
            return sum(call["rpc"] == rpc for call in self._calls)

        try:
            async with asyncio.timeout(seconds), self._called:
                await self._called.wait_for(lambda: so_often() >= count)
        except TimeoutError:
            found = f"it was called {so_often()} times, not {count}, within {seconds:g} s"
            raise NotYet(f"{rpc} of {self.state.name}: {found}") from None

    async def answer(self, rpc: str, request: Message, within: float) -> Any:
        """Raises: Refuse, TimeoutError."""
        call: Doc = {"rpc": rpc, "request": _without_secrets(request), "code": "UNANSWERED"}
        self._calls.append(call)
        async with self._called:
            self._called.notify_all()
        try:
            reply = await self._play(self._next_script(rpc), rpc, request, within)
        except Refuse as refusal:
            call["code"] = refusal.code.name
            raise
        except TimeoutError:
            call["code"] = Code.DEADLINE_EXCEEDED.name
            raise
        call["code"] = Code.OK.name
        return reply

    async def _play(self, script: Script, rpc: str, request: Message, within: float) -> Any:
        if script.seconds:
            await self._clock.sleep(min(script.seconds, within))
        if script.code is not None and not script.after:
            raise Refuse(script.code, script.message)
        reply = self.state.answer(rpc, request)
        if script.seconds >= within:
            raise TimeoutError  # the work is done, but nobody hears of it
        if script.code is not None:
            raise Refuse(script.code, script.message)
        return reply

    def _next_script(self, rpc: str) -> Script:
        scripts = self._scripts.get(rpc)
        if not scripts:
            return Script()
        script = scripts[0]
        if script.times is not None:
            script.times -= 1
            if script.times <= 0:
                scripts.pop(0)
        return script


class PlayedConnection(Connection):
    """To a fake driver in this process: no socket, no gRPC."""

    def __init__(self, driver: FakeDriver) -> None:
        super().__init__("played")
        self._driver = driver

    async def wait_ready(self) -> None:
        """It always is."""

    async def wait_lost(self) -> None:
        await asyncio.Event().wait()

    async def call(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> Outcome[T]:
        if within <= 0:
            return TOO_LATE
        try:
            reply: R = await self._driver.answer(method.name, build(), within)
        except Refuse as refusal:
            return judge(method.table, refusal.code, secrets.mask(refusal.message))
        except TimeoutError:
            return TOO_LATE
        try:
            return Done(read(reply))
        except BadReply as error:
            return Uncertain(None, secrets.mask(str(error)))


def _without_secrets(request: Message) -> Doc:
    told = MessageToDict(request)
    told.pop("secrets", None)
    return dict(told)
