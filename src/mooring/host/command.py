"""Running a program: in bounded time, with bounded output, and without telling its secrets.

Waiting ends with the program, not with its output: a daemon that it leaves behind (a FUSE mount)
may hold the output open for ever. Needs `pidfd_open`, so Linux 5.3.
"""

import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mooring.errors import CommandFailed, TimedOut
from mooring.host.refusal import refusals

OUTPUT_LIMIT = 64 * 1024  # bytes; the end is kept, since that is where programs complain
MASK = "<masked>"
NOT_FOUND = 127  # the exit code of shells
_CHUNK = 65536
_SHORT_SECRET = 4  # characters; masked only where it stands alone, else the text is unreadable
# A child has copies of all our descriptors until it has become the program: who must know that
# nobody has one any more (a claimed device) takes this.
STARTING = threading.Lock()
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
    """Where a program is; system directories count even if PATH leaves them out."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_DIRS))
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def run(argv: Sequence[str], *, seconds: float | None, secrets: Sequence[str] = ()) -> Finished:
    """Run a program to its end, whatever its exit code.

    After: the program has ended. After `seconds` it is killed, and its children with it; None is
    for what must not be stopped halfway, such as mkfs.
    Raises: CommandFailed when there is no such program, TimedOut when it was killed; HostError
    when it cannot be started.
    """
    shown = tuple(mask(word, secrets) for word in argv)
    program = find_program(argv[0])
    if program is None:
        text = f"{argv[0]}: executable file not found in $PATH"
        raise CommandFailed(text, argv=shown, code=NOT_FOUND, output="")
    process = _start([str(program), *argv[1:]])
    overtime = _Overtime(process.pid, seconds)
    try:
        output = _collect(process)
    finally:
        overtime.end()
        _reap(process)
    ended = Finished(shown, process.returncode, _kept(output, secrets))
    if overtime.killed and ended.code < 0:  # else it came to its own end in the last moment
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
    """Put `<masked>` for every secret, and for what follows `=` in one (`password=...`)."""
    hidden = {secret for secret in secrets if secret}
    hidden |= {secret.partition("=")[2] for secret in hidden} - {""}
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) < _SHORT_SECRET:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: MASK, text)
        else:
            text = text.replace(secret, MASK)
    return text


class _Overtime:
    """Kills a process group when its time is over. End it before the process is reaped."""

    def __init__(self, group: int, seconds: float | None) -> None:
        self.killed = False
        self._group = group
        self._timer = threading.Timer(seconds, self._kill) if seconds is not None else None
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def _kill(self) -> None:
        self.killed = True
        os.killpg(self._group, signal.SIGKILL)


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    with refusals(f"run {argv[0]}"), STARTING:
        return subprocess.Popen(  # noqa: S603  a list of words, no shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children can be killed with it
            env={**os.environ, "LC_ALL": "C"},
        )


def _collect(process: subprocess.Popen[bytes]) -> bytearray:
    """Read output until the process has ended; twice the limit at most is held."""
    assert process.stdout is not None  # noqa: S101  for the type: a pipe was asked for
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    output = bytearray()
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(ended, selectors.EVENT_READ)
            selector.register(pipe, selectors.EVENT_READ)
            alive = True
            while alive:
                ready = {key.fd for key, _ in selector.select()}
                alive = ended not in ready
                if pipe in ready and _read_some(pipe, output) == 0:
                    selector.unregister(pipe)
            while _read_some(pipe, output):  # what was written between the last look and the end
                pass
        finally:
            os.close(ended)
    return output


def _read_some(pipe: int, output: bytearray) -> int | None:
    """How many bytes came: 0 when nobody can write any more, None when there are none now."""
    try:
        chunk = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None
    output += chunk
    if len(output) > 2 * OUTPUT_LIMIT:
        del output[: -(OUTPUT_LIMIT + 1)]  # one too many, to show that something is missing
    return len(chunk)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Leave no child behind, even when reading its output was interrupted."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _kept(output: bytearray, secrets: Sequence[str]) -> str:
    """The end of the output. Half a secret may stand where it was cut off, so that part goes."""
    text = mask(output[-OUTPUT_LIMIT:].decode(errors="replace"), secrets)
    if len(output) <= OUTPUT_LIMIT:
        return text
    margin = max((len(os.fsencode(secret)) for secret in secrets), default=0)
    return f"... {text[margin:]}"
