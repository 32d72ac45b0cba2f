"""kine: etcd's API on a database, here SQLite and PostgreSQL, on loopback."""

import os
import pwd
import select
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.conformance.obtain import Missing
from tests.conformance.peers import (
    BETWEEN_TRIES,
    LOOPBACK,
    START_SECONDS,
    STOP_SECONDS,
    free_port,
    running,
)

_DATABASE_USER = "postgres"  # initdb refuses to run as root
_PASSWORD = "kept-here"


class Kine:
    """One process, started again on the same database and port."""

    def __init__(self, program: Path, endpoint: str, log: Path) -> None:
        self.port = free_port()
        self.client_url = f"http://{LOOPBACK}:{self.port}"
        self._command = [
            str(program),
            f"--listen-address=tcp://{LOOPBACK}:{self.port}",
            f"--endpoint={endpoint}",
            "--metrics-bind-address=0",
        ]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)  # noqa: S603
        if not _listens(self.port):
            raise Missing(f"kine does not start: {self._log.read_text()[-1000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_SECONDS)
            self._process = None


def _listens(port: int) -> bool:
    give_up = monotonic() + START_SECONDS
    while monotonic() < give_up:
        with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
            return True
        select.select([], [], [], BETWEEN_TRIES)
    return False


@contextmanager
def kines(program: Path, endpoint: str, directory: Path, count: int = 1) -> Iterator[list[Kine]]:
    """Raises: Missing."""
    directory.mkdir(exist_ok=True)
    started = [Kine(program, endpoint, directory / f"kine-{n}.log") for n in range(count)]
    try:
        for kine in started:
            kine.start()
        yield started
    finally:
        for kine in started:
            kine.kill()


def on_sqlite(directory: Path) -> str:
    """The endpoint of a database of its own."""
    settings = "_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"
    return f"sqlite://{directory / 'kine.db'}?{settings}"


@contextmanager
def postgresql(log: Path) -> Iterator[str]:
    """A database of its own; the endpoint for kine. Raises: Missing."""
    initdb, server = _find("initdb"), _find("postgres")
    port = free_port()
    with TemporaryDirectory(prefix="mooring-postgresql-") as home:  # which its user can reach
        data, password = Path(home, "data"), Path(home, "password")
        password.write_text(_PASSWORD)
        as_user = _as_database_user(Path(home), password)
        make = [*as_user, initdb, "-D", str(data), "-U", "kine", "-A", "scram-sha-256"]
        _run([*make, f"--pwfile={password}", "--no-sync", "-E", "UTF8"])
        alone = [*as_user, server, "--single", "-D", str(data), "postgres"]
        _run(alone, "CREATE DATABASE kine\n")  # kine itself tries once, and never again
        run = [*as_user, server, "-D", str(data), "-h", LOOPBACK, "-p", str(port), "-k", ""]
        with running([*run, "-c", "max_connections=200"], log):
            if not _listens(port):
                raise Missing("postgres does not answer")
            yield f"postgres://kine:{_PASSWORD}@{LOOPBACK}:{port}/kine?sslmode=disable"


def _run(command: Sequence[str], given: str = "") -> None:
    ran = subprocess.run(  # noqa: S603  PostgreSQL's own
        command, input=given, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise Missing(f"{Path(command[0]).name}: {ran.stderr.strip()}")


def _as_database_user(*paths: Path) -> Sequence[str]:
    """What runs a command as the owner of the paths, which is not root."""
    if os.geteuid():
        return ()
    try:
        user = pwd.getpwnam(_DATABASE_USER)
    except KeyError:
        raise Missing(f"there is no user {_DATABASE_USER}, and initdb refuses root") from None
    for path in paths:
        os.chown(path, user.pw_uid, user.pw_gid)
    return ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")


def _find(program: str) -> str:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in ("", *map(str, places)):
        if found := shutil.which(program, path=place or None):
            return found
    raise Missing(f"no PostgreSQL: there is no {program}")
