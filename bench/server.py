"""A real server in a process of its own, and what the system says of it."""

import asyncio
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import yaml

from bench.process import Process


class Server(Process, frozen=True, kw_only=True):
    host: str
    port: int
    token: str
    tls: ssl.SSLContext
    ready_seconds: float = 0.0


NODE = "bench"


def node_root(data: Path) -> Path:
    """Of the node of `up_with_node`: beside the data directory, and gone with it."""
    return data.with_name(f"{data.name}-node")


def up_with_node(data: Path) -> tuple[str, ...]:
    return ("up", "--node-name", NODE, "--root-dir", str(node_root(data)))


@asynccontextmanager
async def server(*command: str) -> AsyncIterator[Server]:
    """`mooring <command>` on an empty data directory; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        async with served(Path(directory), *command) as running:
            yield running


@asynccontextmanager
async def served(directory: Path, *command: str) -> AsyncIterator[Server]:
    """`mooring <command>` on a data directory; its process is gone afterwards."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "mooring", *command, "--port", "0", "--data-dir", str(directory)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    ready = time.perf_counter() - began
    assert "ready" in line, line
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    _, host, port = config["clusters"][0]["cluster"]["server"].split(":")
    tls = ssl.create_default_context(cafile=str(directory / "pki" / "ca.crt"))
    try:
        yield Server(
            process.pid,
            host=host.removeprefix("//"),
            port=int(port),
            token=config["users"][0]["user"]["token"],
            tls=tls,
            ready_seconds=ready,
        )
    finally:
        with suppress(ProcessLookupError):  # killed already
            process.terminate()
        await process.wait()
