"""A program that asks a server for /livez all the time, and tells how long that took at worst.

It is a process of its own: whoever attacks the server must not slow down the one who measures. On a
busy machine an answer takes long without anybody's fault; so what counts is for how long the server
worked, on whatever else, between a question and its answer.
"""

import http.client
import json
import select
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.fakes.real_server import RealServer

MB = 1 << 20
EVERY = 0.01  # seconds


class Measured(msgspec.Struct):
    """What an attack cost."""

    worst: float = 0.0  # seconds for which it worked on other things before it answered /livez
    probes: int = 0
    grown: int = 0  # bytes that the server had at most, beyond what it had before

    @property
    def megabytes(self) -> float:
        return self.grown / MB


@contextmanager
def measured(server: RealServer) -> Iterator[Measured]:
    """What happens to the server meanwhile; known when the context is left."""
    for _ in range(20):  # what is made once, for the first clients
        assert server.ask("GET", "/livez").code == 200
    Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # the peak is the present, from now on
    before = server.memory()
    found = Measured()
    ca = server.data_dir / "pki" / "ca.crt"
    asked = (server.host, str(server.port), str(ca), str(server.pid))
    program = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-m", "tests.fakes.probe", *asked],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"began\n"
        yield found
    finally:
        out, _ = program.communicate(b"")
    told = json.loads(out)
    found.worst, found.probes = told["worst"], told["probes"]
    found.grown = peak(server.pid) - before


def peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.split("\n") if "VmHWM" in line)


def worked(pid: int) -> float:
    """Seconds for which a process has had a CPU (`clock_getcpuclockid`, which Python lacks)."""
    return time.clock_gettime((~pid << 3) | 2)


def main(host: str, port: str, ca: str, pid: str) -> None:
    context = ssl.create_default_context(cafile=ca)
    client = http.client.HTTPSConnection(host, int(port), timeout=60, context=context)
    worst, probes = 0.0, 0
    while True:
        before = worked(int(pid))
        began = time.perf_counter()
        client.request("GET", "/livez")
        answer = client.getresponse()
        answer.read()
        took = time.perf_counter() - began
        assert answer.status == 200
        if probes:  # the first one shook hands
            worst = max(worst, min(took, worked(int(pid)) - before))
        else:
            print("began", flush=True)  # noqa: T201  to whoever started it
        probes += 1
        readable, _, _ = select.select([sys.stdin], [], [], EVERY)
        if readable:
            break
    print(json.dumps({"worst": worst, "probes": probes}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
