"""A real etcd of several members on loopback, whose members can be killed and stopped."""

import http.client
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.conformance.peers import (
    BETWEEN_TRIES,
    LOOPBACK,
    START_SECONDS,
    STOP_SECONDS,
    free_port,
)

QUICK = ("--heartbeat-interval=50", "--election-timeout=500", "--logger=zap", "--log-level=warn")


class EtcdMember:
    """One process, started again on the same data and ports."""

    def __init__(self, program: Path, directory: Path, name: str) -> None:
        self.name = name
        self.client_url = f"http://{LOOPBACK}:{free_port()}"
        self.peer_url = f"http://{LOOPBACK}:{free_port()}"
        self.flags: tuple[str, ...] = ()
        self._program = program
        self.directory = directory / name
        self._log = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            str(self._program),
            f"--name={self.name}",
            f"--data-dir={self.directory}",
            f"--listen-client-urls={self.client_url}",
            f"--advertise-client-urls={self.client_url}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.peer_url}",
            *QUICK,
            *self.flags,
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603

    def wait_until_it_answers(self) -> None:
        port = int(self.client_url.rpartition(":")[2])
        give_up = monotonic() + START_SECONDS
        while monotonic() < give_up:
            connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
            try:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            finally:
                connection.close()
            select.select([], [], [], BETWEEN_TRIES)
        pytest.fail(f"{self.name} does not answer: {self._log.read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        return self._running().pid

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        self._running().send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(STOP_SECONDS)
            self._process = None

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, f"{self.name} is not running"
        return self._process


@contextmanager
def etcd_cluster(
    program: Path, directory: Path, size: int, flags: Sequence[str] = ()
) -> Iterator[list[EtcdMember]]:
    directory.mkdir(parents=True, exist_ok=True)
    members = [EtcdMember(program, directory, f"m{number}") for number in range(size)]
    everybody = ",".join(f"{member.name}={member.peer_url}" for member in members)
    for member in members:
        member.flags = (f"--initial-cluster={everybody}", *flags)
        member.start()
    try:
        for member in members:
            member.wait_until_it_answers()
        yield members
    finally:
        for member in members:
            member.kill()


def addresses(members: Sequence[EtcdMember]) -> str:
    return ",".join(member.client_url for member in members)
