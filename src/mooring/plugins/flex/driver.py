"""Running a driver: the one place where its program is started.

The program gets a list of arguments, never a shell. It has limited time, after which it is killed
with its process group; a daemon that it leaves behind lives on. Of its output a bounded part is
kept, and nothing of a secret is shown.
"""

import os
import signal
from functools import partial
from pathlib import Path

from mooring import log, processes
from mooring.host.blocking import in_thread, taking
from mooring.host.command import mask
from mooring.host.refusal import reason
from mooring.plugins.contract import NotStarted, Uncertain, VolumeError
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.options import Options
from mooring.plugins.flex.reply import Answer, Call, Refusal, Unsupported, judge
from mooring.processes import Ended, Program

INIT_SECONDS = 10.0
CALL_SECONDS = 100.0  # less than a controller waits for an attachment
WAIT_SECONDS = 600.0  # of waitforattach, as in Kubernetes
OUTPUT_LIMIT = 1 << 20  # bytes
_SPARE_SECONDS = 30.0  # for what is not the program's own time

_log = log.get("mooring.plugins.flex")


class Driver:
    """One version of one driver: a program that is replaced is a new `Driver`."""

    def __init__(self, name: str, program: Path, capabilities: Capabilities) -> None:
        self.name = name
        self.program = program
        self.capabilities = capabilities
        self._unsupported: set[Call] = set()

    async def ask(self, call: Call, *arguments: str | Options) -> Answer | None:
        """None when the driver does not support the call; it is then not asked again.

        Raises: NotStarted when the program cannot be started; Uncertain when it was killed at its
        time limit; VolumeError when it has failed.
        """
        if call in self._unsupported:
            return None
        seconds = WAIT_SECONDS if call is Call.WAIT_FOR_ATTACH else CALL_SECONDS
        answer = await _ask(self.program, call, arguments, seconds)
        if answer is None:
            self._unsupported.add(call)
        return answer


async def load(name: str, program: Path) -> Driver:
    """Ask the program to `init`. Raises: VolumeError."""
    answer = await _ask(program, Call.INIT, (), INIT_SECONDS)
    if answer is None:
        raise VolumeError(f"{Call.INIT} command failed, status: Not supported")
    return Driver(name, program, answer.capabilities)


async def _ask(
    program: Path, call: Call, arguments: tuple[str | Options, ...], seconds: float
) -> Answer | None:
    secrets = tuple(word for one in arguments if isinstance(one, Options) for word in one.secrets)
    words = [one.argument if isinstance(one, Options) else one for one in arguments]
    with taking(seconds + _SPARE_SECONDS):
        ended = await in_thread(_run, program, call, words, seconds)
    text = ended.output.decode(errors="replace")
    if ended.is_late and (ended.code is None or ended.code < 0):
        raise Uncertain(f"{call} command failed: timeout: {program} was killed after {seconds:g} s")
    if ended.is_cut:
        raise VolumeError(
            f"{call} command failed: {program} has written more than {OUTPUT_LIMIT} bytes"
        )
    match judge(call, text, _status(ended), partial(mask, secrets=secrets)):
        case Answer() as answer:
            return answer
        case Unsupported():
            _log.debug("not supported by the driver", driver=program, call=call)
            return None
        case Refusal(told):
            _log.warning("driver call failed", driver=program, call=call, because=told)
            raise VolumeError(told)


def _run(program: Path, call: Call, words: list[str], seconds: float) -> Ended:
    """Blocks. Raises: NotStarted."""
    asked = Program(
        [str(program), call, *words],
        keep=OUTPUT_LIMIT,
        seconds=seconds,
        env=dict(os.environ),
        may_leave_children=True,
        is_awaited=True,
    )
    try:
        return processes.run(asked)
    except OSError as error:
        because = reason(error.errno or 0)
    except ValueError as error:  # a NUL in an argument
        because = str(error)
    raise NotStarted(f"{call} command failed: fork/exec {program}: {because}")


def _status(ended: Ended) -> str:
    code = -signal.SIGKILL if ended.code is None else ended.code
    if code == 0:
        return ""
    if code > 0:
        return f"exit status {code}"
    return f"signal: {(signal.strsignal(-code) or str(-code)).lower()}"
