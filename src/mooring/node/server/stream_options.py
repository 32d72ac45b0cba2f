"""What a request asks of a container: which one, which of its streams, with which command."""

from collections.abc import Sequence

import msgspec
from aiohttp import web

from mooring.model.container import Container
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.server.refusal import Refusal

_FALSE = {"", "0", "f", "false"}


class Target(msgspec.Struct, frozen=True):
    """A container of a pod; with a uid, of that very pod."""

    pod: Key
    container: str = ""
    uid: str = ""


class Streams(msgspec.Struct, frozen=True):
    """What the client wants to be connected with; with a terminal there is no stderr."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    def where(self, stream: int) -> int | None:
        """On which of the client's streams this one goes; None: the client does not want it."""
        if stream == 2 and self.stderr:
            return 2
        return 1 if self.stdout and (stream == 1 or self.tty) else None


def target_of(request: web.Request) -> Target:
    found = request.match_info
    key = Key(found["namespace"], found["pod"])
    return Target(key, found.get("container", ""), found.get("uid", ""))


def streams_of(request: web.Request) -> Streams:
    """Kubelet's words (`input=1`) and those of the API (`stdin=true`). Raises: Refusal."""
    tty = has_flag(request, "tty")
    streams = Streams(
        stdin=has_flag(request, "input", "stdin"),
        stdout=has_flag(request, "output", "stdout"),
        stderr=has_flag(request, "error", "stderr") and not tty,
        tty=tty,
    )
    if not (streams.stdin or streams.stdout or streams.stderr):
        raise Refusal(400, "you must specify at least 1 of stdin, stdout, stderr")
    return streams


def command_of(request: web.Request) -> Sequence[str]:
    """Raises: Refusal."""
    command = request.query.getall("command", [])
    if not command:
        raise Refusal(400, "you must specify at least 1 command")
    return command


def has_flag(request: web.Request, *names: str) -> bool:
    return any(request.query.get(name, "").lower() not in _FALSE for name in names)


def find_container(pod: Pod, name: str) -> Container | None:
    return next((each for each in pod.spec.all_containers if each.name == name), None)
