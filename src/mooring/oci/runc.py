"""How the OCI runtime, runc or crun, is called, and what its complaints mean to people."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from mooring.errors import CommandFailed, HostError
from mooring.oci import process
from mooring.oci.contract import RuntimeRefused

CANNOT_RUN = 126  # exit codes of shells
NOT_FOUND = 127
NEVER_RAN = 128

_PREFIXES = re.compile(
    r"^(runc (create|run|start|exec) failed: |exec failed: |container create failed: "
    r"|unable to start container process: |error during container init: )+"
)
_MISSING = ("executable file not found in $PATH", "no such file or directory")


class RuntimeProgram(msgspec.Struct, frozen=True):
    """The programs that run containers here, as `probe` found them."""

    path: Path  # runc or crun
    conmon: Path
    has_recursive_read_only: bool = False
    has_seccomp: bool = False  # it can filter system calls
    is_cgroup_v2: bool = False

    @property
    def name(self) -> str:
        return self.path.name


class RunningState(msgspec.Struct, frozen=True):
    """A container as the runtime lists it."""

    id: str
    status: str  # creating, created, running, paused, stopped
    pid: int = 0


class Runc:
    """The runtime, with its state in a directory of ours."""

    def __init__(self, program: RuntimeProgram, state: Path, at_once: int) -> None:
        self._program = program
        self._state = state
        # More of them than processors only make each other slow, and take memory.
        self._turns = asyncio.Semaphore(at_once)

    @property
    def global_args(self) -> tuple[str, ...]:
        """What stands before the name of a command."""
        return ("--root", str(self._state), "--log-format", "json")

    def argv(self, *args: str, log: Path | None = None) -> tuple[str, ...]:
        """With a `log`, complaints go there in JSON, and to people in plain words."""
        logged = ("--log", str(log)) if log is not None else ()
        return (str(self._program.path), *self.global_args, *logged, *args)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of the places for programs that work hard for a moment."""
        async with self._turns:
            yield

    async def start(self, id: str) -> None:
        """Raises: RuntimeRefused."""
        try:
            await self._call("start", id)
        except CommandFailed as failed:
            raise refusal(failed.output) from failed

    async def delete(self, id: str) -> None:
        """Kill what runs, and take away the runtime's record and the control group.

        Repeated: nothing. Raises: HostError when it is still there.
        """
        await self._call("delete", "--force", id)

    async def list(self) -> Mapping[str, RunningState]:
        """Every container that the runtime knows of. Raises: HostError."""
        printed = await self._call("list", "--format", "json")
        try:
            found = msgspec.json.decode(printed or b"null", type=list[RunningState] | None)
        except msgspec.DecodeError as error:
            raise HostError(f"{self._program.name} list printed no list: {error}") from error
        return {each.id: each for each in found or ()}

    async def _call(self, *args: str) -> bytes:
        async with self._turns:
            return await process.check(self.argv(*args))


def refusal(complaint: str) -> RuntimeRefused:
    """The runtime's error, shortened to its message."""
    text = explain(complaint)
    return RuntimeRefused(text, exit_code=exit_code_for(text))


def explain(complaint: str) -> str:
    """The last error of a log in JSON; any other text stays as it is."""
    lines = [line for line in complaint.splitlines() if line.strip()]
    messages = [_message(line) for line in lines]
    errors = [message for message in messages if message]
    text = errors[-1] if errors else " ".join(lines)
    return _PREFIXES.sub("", text).strip() or "the runtime gave no reason"


def exit_code_for(text: str) -> int:
    """What a shell would have ended with."""
    if not text.startswith("exec: "):
        return NEVER_RAN
    return NOT_FOUND if text.endswith(_MISSING) else CANNOT_RUN


class _LogLine(msgspec.Struct, frozen=True):
    msg: str = ""
    level: str = ""


def _message(line: str) -> str:
    try:
        found = msgspec.json.decode(line, type=_LogLine)
    except msgspec.DecodeError:
        return ""
    return found.msg if found.level in ("error", "fatal", "") else ""
