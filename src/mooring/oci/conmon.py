"""How the shim, conmon, is called: one small process per container, which outlives us.

It starts the runtime, holds the container's standard streams, writes what comes out to the log in
the format of the CRI, lets others attach, and writes the exit code to a file when it is over.
"""

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.host.refusal import refusals
from mooring.oci import cgroups, process
from mooring.oci.contract import ContainerSpec, RuntimeRefused, Size
from mooring.oci.records import ContainerDirectory
from mooring.oci.runc import Runc, RuntimeProgram, refusal

LOG_LIMIT = 64 * 1024 * 1024  # bytes; the last net, beneath the rotation by the log's owner
ATTACH = "attach"  # a socket in the container's directory
CONTROL = "ctl"  # a FIFO there
_CHUNK = 65536
_RESIZE, _REOPEN = 1, 2


PROCESS = "process.json"  # what an exec is to run, in a directory of its own


class News(msgspec.Struct, frozen=True):
    """A line that the shim writes to the pipe when the runtime has ended, or a process."""

    data: int  # a pid, an exit code, or less than 0
    message: str = ""


def argv(
    program: RuntimeProgram, runc: Runc, place: ContainerDirectory, spec: ContainerSpec
) -> list[str]:
    """Raises: RuntimeRefused for a log path that the shim would not understand."""
    if ":" in str(spec.log_path):
        raise RuntimeRefused(f"the path of a log must not hold a colon: {spec.log_path}")
    owner = spec.owner
    words = _usual(program, runc, spec.id, place.directory)
    words += ["--name", f"{owner.pod}_{owner.container}", "--persist-dir", str(place.directory)]
    words += ["--container-pidfile", str(place.pid), "--conmon-pidfile", str(place.conmon_pid)]
    words += ["--log-path", f"k8s-file:{spec.log_path}", "--log-size-max", str(LOG_LIMIT)]
    words.append("--no-sync-log")
    if spec.has_stdin:
        words.append("--stdin")
        if not spec.closes_stdin_after_first:
            words.append("--leave-stdin-open")
    if spec.has_tty:
        words.append("--terminal")
    return words


def exec_argv(program: RuntimeProgram, runc: Runc, id: str, place: Path) -> list[str]:
    """For an exec with a terminal: the shim stays our child, and reports the exit code."""
    words = _usual(program, runc, id, place)
    words += ["--exec", "--exec-attach", "--exec-process-spec", str(place / PROCESS)]
    words += ["--container-pidfile", str(place / "pid"), "--log-path", "off"]
    return [*words, "--terminal", "--stdin", "--sync"]


def _usual(program: RuntimeProgram, runc: Runc, id: str, bundle: Path) -> list[str]:
    words = [str(program.conmon), "--api-version", "1", "--full-attach", "--log-level", "error"]
    words += ["--cid", id, "--cuuid", id, "--bundle", str(bundle)]
    words += ["--runtime", str(program.path)]
    return words + [f"--runtime-arg={word}" for word in runc.global_args]


def environment(scratch: Path, pipes: Mapping[str, int]) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TZ": "UTC",  # the times in the log
        "TMPDIR": str(scratch),  # for its sockets
        **{f"_OCI_{name}PIPE": str(fd) for name, fd in pipes.items()},
    }


async def launch(words: list[str], place: ContainerDirectory, scratch: Path) -> int:
    """Start the shim, which makes the container.

    Returns: the pid of the container's first process. Raises: RuntimeRefused, HostError.
    Not to be cancelled: what was started goes on.
    """
    news, news_end = os.pipe2(os.O_CLOEXEC)
    go_end, go = os.pipe2(os.O_CLOEXEC)
    complaints, complaints_end = os.pipe2(os.O_CLOEXEC)
    try:
        try:
            child = process.start(
                words,
                streams=process.Streams(stderr=complaints_end),
                kept=(news_end, go_end),
                environment=environment(scratch, {"SYNC": news_end, "START": go_end}),
                directory=place.directory,
            )
        finally:
            for fd in (news_end, go_end, complaints_end):
                os.close(fd)
        try:
            if cgroups.is_in_service():
                await in_thread(cgroups.adopt_shim, child.pid)
            os.write(go, b"1")
        except BaseException:
            child.signal(signal.SIGKILL)
            raise
        code = await child.wait()  # only the one that forks the shim
        if code != 0:
            text = (await _read_to_end(complaints)).decode(errors="replace")
            raise HostError(f"conmon failed: exit status {code}: {text.strip()}")
        return _pid(await _read_to_end(news, b"\n"))
    finally:
        for fd in (news, go, complaints):
            os.close(fd)


def _pid(line: bytes) -> int:
    news = read_news(line)
    if news is None:
        raise RuntimeRefused("conmon ended before there was a container")
    if news.data <= 0:
        raise refusal(news.message)
    return news.data


def read_news(line: bytes) -> News | None:
    try:
        return msgspec.json.decode(line, type=News)
    except msgspec.DecodeError:
        return None


async def _read_to_end(fd: int, end: bytes = b"") -> bytes:
    content = b""
    while not (end and content.endswith(end)):
        await process.readable(fd)
        piece = os.read(fd, _CHUNK)
        if not piece:
            break
        content += piece
    return content


def resize(place: Path, size: Size) -> None:
    """Send the size of the terminal to the shim; ignored if the shim is gone."""
    with suppress(HostError):
        _control(place, f"{_RESIZE} {size.rows} {size.columns}\n")


def reopen_log(place: Path) -> None:
    """Raises: HostError when the shim is gone."""
    _control(place, f"{_REOPEN} 0 0\n")


def _control(place: Path, line: str) -> None:
    path = place / CONTROL
    with refusals(f"write {path}"):
        # Without waiting for a reader: a shim that was killed reads no more.
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(opened, line.encode())
        finally:
            os.close(opened)
