"""A real Mooring: its own process, its own data directory, real sockets, a real disk.

`real_server` is shared by a whole test session: leave nothing in it that another test could trip
over (take a namespace of your own). It is the API server alone, so nobody but the test changes what
the test has written. `own_server` is a whole `mooring up` and `own_api_server` an API server that
belong to one test, which may kill them, stop them and start them again on the same data. Neither
has a node: `tests/clients/nodes.py` is for that.
"""

import http.client
import json
import os
import re
import select
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

Doc = dict[str, Any]

READY = re.compile(r"^mooring is ready at https://([^:/]+):(\d+) \(kubectl --kubeconfig (.+)\)$")
ANSWERS = re.compile(  # said after a while, when something keeps the other roles from being ready
    r"^mooring answers at https://([^:/]+):(\d+) \(kubectl --kubeconfig (.+)\) but is not ready: "
)
START_SECONDS = 30.0
STOP_SECONDS = 20.0
_OPEN = {"01", "08"}  # in /proc/net/tcp: established, and closed by the other side alone


class Reply(msgspec.Struct, frozen=True):
    code: int
    body: bytes
    headers: dict[str, str]

    @property
    def doc(self) -> Doc:
        return dict(json.loads(self.body))


def command(*arguments: str) -> list[str]:
    """The command line of `mooring` with these arguments."""
    return [sys.executable, "-m", "mooring", *arguments]


class RealServer:
    """One data directory, and the process that serves it (when `start` was called)."""

    word: str = "up"  # the command
    own_flags: tuple[str, ...] = ("--no-node",)  # killed, a node would leave its mounts behind
    prefix: tuple[str, ...] = ()  # a command that runs it

    def __init__(self, data_dir: Path, *flags: str) -> None:
        self.data_dir = data_dir
        self.host = "127.0.0.1"
        self.port = 0  # 0 until it runs; then kept over restarts, so that clients find it again
        self.log = data_dir.with_name(f"{data_dir.name}.stderr")
        self._flags = flags
        self._process: subprocess.Popen[str] | None = None

    # its life

    def launch(self) -> "subprocess.Popen[str]":
        """After: its process runs, ready or not."""
        arguments = (self.word, "--port", str(self.port), "--data-dir", str(self.data_dir))
        with self.log.open("a") as log:
            self._process = subprocess.Popen(  # noqa: S603  our own program
                [*self.prefix, *command(*arguments, *self.own_flags, *self._flags)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self._process

    def start(self) -> "RealServer":
        """After: it said that it is ready, or that it answers and what it waits for."""
        line = self._first_line(self.launch())
        found = READY.match(line) or ANSWERS.match(line)
        if found is None:
            self.kill()
            pytest.fail(f"no ready line but {line!r}; it wrote: {self.log.read_text()}")
        self.host, self.port = found[1], int(found[2])
        return self

    def next_line(self) -> str:
        """What it said next; waits for it."""
        process = self._running()
        assert process.stdout is not None
        return process.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        """`kill -9`; after: the process is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        return self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Its exit code, when it ends by itself."""
        process = self._running()
        code = process.wait(seconds)
        self._forget(process)
        return code

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connections(self) -> int:
        """Those that it has not closed, as the kernel counts them."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        here = f":{self.port:04X}"
        return sum(line[1].endswith(here) and line[3] in _OPEN for line in lines)

    # talking to it

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """The admin's."""
        return self.data_dir / "kubeconfig"

    def token(self, role: str = "admin") -> str:
        """Of a role that has one already; others are made by `mooring kubeconfig`."""
        return str(json.loads((self.data_dir / "tokens.json").read_text())["tokens"][role])

    def tls(self) -> ssl.SSLContext:
        """What a client needs to trust it."""
        return ssl.create_default_context(cafile=str(self.data_dir / "pki" / "ca.crt"))

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=START_SECONDS, context=self.tls()
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Reply:
        """One request on a connection of its own, by the admin unless `token` is given."""
        given = {"Authorization": f"Bearer {self.token() if token is None else token}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given["Content-Type"] = "application/json"
        connection = self.connect()
        try:
            connection.request(method, path, body, given | dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), dict(answer.getheaders()))
        finally:
            connection.close()

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "start it first"
        return self._process

    def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(number)
        return self.wait()

    def _forget(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        process.stdout.close()
        self._process = None

    def _first_line(self, process: subprocess.Popen[str]) -> str:
        """What it says first; empty when it ends, or says nothing for too long."""
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        return process.stdout.readline().rstrip("\n") if readable else ""


class ApiServer(RealServer):
    """`mooring apiserver`: no controller acts on what is written."""

    word = "apiserver"
    own_flags = ()


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A running API server for all tests of a session."""
    server = ApiServer(tmp_path_factory.mktemp("real-server") / "data").start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RealServer]:
    """A running `mooring up` for one test, which may kill it and `start` it again; no node."""
    server = RealServer(tmp_path / "data").start()
    yield server
    server.kill()


@pytest.fixture
def own_api_server(tmp_path: Path) -> Iterator[RealServer]:
    """The same, of the API server alone."""
    server = ApiServer(tmp_path / "data").start()
    yield server
    server.kill()
