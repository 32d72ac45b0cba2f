"""Running a program: in bounded time, with bounded output, and with its secrets masked.

A daemon that it leaves behind (a FUSE mount) outlives it; see `mooring/processes.py`.
"""

import os
import re
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mooring import processes
from mooring.errors import CommandFailed, TimedOut
from mooring.host.refusal import refusals
from mooring.processes import STARTING, Program

__all__ = ["STARTING", "Finished", "check", "find_program", "mask", "run"]

OUTPUT_LIMIT = 64 * 1024  # bytes; the last ones are kept, since errors are printed last
MASK = "<masked>"
NOT_FOUND = 127  # the exit code of shells for a missing program
_SHORT_SECRET = 4  # characters; masked only as a whole word, or the text becomes unreadable
SYSTEM_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")


class Finished(msgspec.Struct, frozen=True):
    """How a program ended. `output` is both its streams, and free of secrets."""

    argv: tuple[str, ...]
    code: int  # negative: the signal that ended it
    output: str

    @property
    def status(self) -> str:
        """`exit status 32`, or `signal: killed`."""
        if self.code >= 0:
            return f"exit status {self.code}"
        return f"signal: {(signal.strsignal(-self.code) or str(-self.code)).lower()}"

    def failed(self, message: str) -> CommandFailed:
        """The error to raise for this end."""
        return CommandFailed(message, argv=self.argv, code=self.code, output=self.output)


def find_program(name: str) -> Path | None:
    """The path of a program, from PATH and the system directories; None when there is none."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_DIRS))
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def run(argv: Sequence[str], *, seconds: float | None, secrets: Sequence[str] = ()) -> Finished:
    """Run a program to its end, whatever its exit code.

    After: the program has ended. After `seconds` it is killed, and its children with it; None is
    for a program that must not be stopped halfway, such as mkfs.
    Raises: CommandFailed when there is no such program, TimedOut when it was killed; HostError
    when it cannot be started.
    """
    shown = tuple(mask(word, secrets) for word in argv)
    program = find_program(argv[0])
    if program is None:
        text = f"{argv[0]}: executable file not found in $PATH"
        raise CommandFailed(text, argv=shown, code=NOT_FOUND, output="")
    asked = Program(
        [str(program), *argv[1:]],
        keep=OUTPUT_LIMIT,
        seconds=seconds,
        env={**os.environ, "LC_ALL": "C"},
        may_leave_children=True,
        is_awaited=True,
    )
    with refusals(f"run {program}"):
        done = processes.run(asked)
    code = done.code if done.code is not None else -signal.SIGKILL
    ended = Finished(shown, code, _kept(done.output, secrets))
    if done.is_late and ended.code < 0:  # else it ended by itself just before the kill
        text = f"{argv[0]} was stopped: it took longer than {seconds:g} s"
        raise TimedOut(text, argv=ended.argv, code=ended.code, output=ended.output)
    return ended


def check(argv: Sequence[str], *, seconds: float | None, secrets: Sequence[str] = ()) -> str:
    """Run a program that should succeed, and return its output.

    Raises: CommandFailed for any other end.
    """
    ended = run(argv, seconds=seconds, secrets=secrets)
    if ended.code != 0:
        raise ended.failed(f"{' '.join(ended.argv)} failed: {ended.status}: {ended.output.strip()}")
    return ended.output


def mask(text: str, secrets: Sequence[str]) -> str:
    """Replace every secret by `<masked>`, and the value of a secret option (`password=...`)."""
    hidden = {secret for secret in secrets if secret}
    hidden |= {secret.partition("=")[2] for secret in hidden} - {""}
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) < _SHORT_SECRET:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: MASK, text)
        else:
            text = text.replace(secret, MASK)
    return text


def _kept(output: bytes, secrets: Sequence[str]) -> str:
    """The end of the output, without the first bytes after a cut, which may be half a secret."""
    text = mask(output[-OUTPUT_LIMIT:].decode(errors="replace"), secrets)
    if len(output) <= OUTPUT_LIMIT:
        return text
    margin = max((len(os.fsencode(secret)) for secret in secrets), default=0)
    return f"... {text[margin:]}"
