"""How long a first `mooring up` takes: to the API's first answer, and to the block, as root."""

import http.client
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.process import Process

PORT = 16_443
ROUNDS = 5
API_SECONDS, BLOCK_SECONDS = 1.0, 2.0  # at most


def run() -> list[tuple[str, str, str]]:
    rounds = [_start_once() for _ in range(ROUNDS)]
    api, block, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
    return [
        ("API answers", f"{api:.2f} s", f"median of {ROUNDS}, at most {API_SECONDS:.0f} s"),
        ("ready block", f"{block:.2f} s", f"at most {BLOCK_SECONDS:.0f} s"),
        ("CPU until then", f"{cpu:.2f} s", "of the process alone"),
    ]


def _start_once() -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory(prefix="m-") as directory:
        place = Path(directory)
        began = time.monotonic()
        process = subprocess.Popen(  # noqa: S603  our own program
            [
                *(sys.executable, "-m", "mooring", "up", "--port", str(PORT)),
                *("--data-dir", str(place / "data"), "--root-dir", str(place / "node")),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            api = _wait_for_api(process) - began
            assert process.stdout is not None
            process.stdout.readline()
            return api, time.monotonic() - began, Process(process.pid).cpu_seconds()
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def _wait_for_api(process: "subprocess.Popen[str]") -> float:
    """When it was alive."""
    trusting = ssl._create_unverified_context()  # noqa: S323  its authority is being made
    while process.poll() is None:
        with suppress(OSError, http.client.HTTPException):
            asking = http.client.HTTPSConnection("127.0.0.1", PORT, timeout=5, context=trusting)
            asking.request("GET", "/livez")
            asking.getresponse().read()
            asking.close()
            return time.monotonic()
        time.sleep(0.01)
    raise RuntimeError("mooring up has ended")
