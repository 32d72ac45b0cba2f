"""Commands on a data directory: down, backup and check, as a user runs them.

Each is a process of its own, its start included. Pods need root, runc and conmon.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from bench.client import open_pool, request, send_all
from bench.pods import _TOOLS as TOOLS
from bench.pods import IMAGE, Watch, _create, _pod, _root_of_image
from bench.server import Server, node_root, served, up_with_node
from mooring.host.command import find_program

Row = tuple[str, str, str]
Doc = dict[str, Any]

OBJECTS = 20_000
CONNECTIONS = 16
WRITES = 1_000  # each second
LOADED = 100  # running pods, the most of a node but a few
FINISHED = 100  # beside them: their containers, directories and logs are kept
RUNNING = 80
BATCH = 25
HERE = "/api/v1/namespaces/default"


async def _mooring(*words: str) -> float:
    """Seconds that the command takes; it succeeds."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mooring", *words, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0
    return time.perf_counter() - began


def _settings(prefix: str, count: int) -> Iterator[Doc]:
    for number in range(count):
        yield {"metadata": {"name": f"{prefix}-{number}"}, "data": {"a": "x" * 800}}


class Writer:
    """So many writes each second, while it runs; none may fail."""

    def __init__(self, target: Server) -> None:
        self._target = target
        self.written = 0

    async def run(self, begun: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        async with open_pool(self._target, CONNECTIONS) as pool, asyncio.TaskGroup() as tasks:
            began = loop.time()
            for number, doc in enumerate(_settings("more", 1_000_000)):
                await asyncio.sleep(began + number / WRITES - loop.time())
                body = json.dumps(doc).encode()
                tasks.create_task(self._write(pool, body))
                if number == WRITES:
                    begun.set()

    async def _write(self, pool: Any, body: bytes) -> None:
        await pool.send(request(self._target, "POST", f"{HERE}/configmaps", body))
        self.written += 1


async def _backup(target: Server, directory: Path, data: Path) -> list[Row]:
    words = ("backup", str(directory / "one.tar"), "--data-dir", str(data))
    alone = await _mooring(*words)
    writer, begun = Writer(target), asyncio.Event()
    task = asyncio.create_task(writer.run(begun))
    await begun.wait()
    before, began = writer.written, time.perf_counter()
    seconds = await _mooring(*words)
    rate = (writer.written - before) / (time.perf_counter() - began)
    assert not task.done(), task.exception()
    task.cancel()
    note = f"target 1 s; {rate:,.0f} writes/s meanwhile, none failed; {alone:.2f} s without"
    return [(f"backup of {OBJECTS:,} objects beside {WRITES:,} writes/s", f"{seconds:.2f} s", note)]


async def _of_objects(directory: Path) -> list[Row]:
    data = directory / "objects"
    async with served(data, "apiserver") as target:
        bodies = (json.dumps(doc).encode() for doc in _settings("one", OBJECTS))
        posts = (request(target, "POST", f"{HERE}/configmaps", body) for body in bodies)
        await send_all(target, posts, CONNECTIONS)
        return await _backup(target, directory, data)


def batched(names: list[str]) -> Iterator[list[str]]:
    """Few enough to come in time on a busy machine."""
    return (names[begin : begin + BATCH] for begin in range(0, len(names), BATCH))


def _are_in(found: dict[str, float], names: list[str]) -> bool:
    return found.keys() >= set(names)


def _finishing(name: str) -> Doc:
    pod = _pod(name)
    pod["spec"]["restartPolicy"] = "Never"
    pod["spec"]["containers"][0]["command"] = ["sh", "-c", "exit 0"]
    return pod


async def _of_pods(directory: Path) -> list[Row]:
    data, root = directory / "d", _root_of_image(directory / "root")
    await _mooring("image", "import", "--root-dir", str(node_root(data)), IMAGE, str(root))
    flags = ("--data-dir", str(data))
    async with served(data, *up_with_node(data)) as target:
        await _create(target, f"{HERE}/configmaps", _settings("one", OBJECTS))
        await _create(
            target, f"{HERE}/configmaps", [{"metadata": {"name": "settings"}, "data": {"a": "b"}}]
        )
        watch, watching = Watch(target), asyncio.Event()
        following = asyncio.create_task(watch.run(watching))
        await watching.wait()
        done = [f"done-{number}" for number in range(FINISHED)]
        for some in batched(done):
            await _create(target, f"{HERE}/pods", map(_finishing, some))
            await watch.until(partial(watch.finished.issuperset, some))
        names = [f"pod-{number}" for number in range(LOADED)]
        for some in batched(names):
            await _create(target, f"{HERE}/pods", map(_pod, some))
            await watch.until(partial(_are_in, watch.running, some))
        checked = await _mooring("check", *flags)
        deleted = (request(target, "DELETE", f"{HERE}/pods/{one}") for one in names[RUNNING:])
        await send_all(target, deleted, 4)
        await watch.until(lambda: len(watch.gone) == LOADED - RUNNING)
        following.cancel()
    seconds = await _mooring("down", *flags)
    await _mooring("reset", "--yes", *flags)
    return [
        (
            f"check of {OBJECTS:,} objects and {LOADED + FINISHED} pods",
            f"{checked:.2f} s",
            f"target 3 s; {LOADED} of them run, {FINISHED} have finished",
        ),
        (f"down with {RUNNING} running pods", f"{seconds:.2f} s", "target 6 s"),
    ]


async def _measure(directory: Path) -> list[Row]:
    rows = await _of_objects(directory)
    if os.geteuid() != 0 or any(find_program(tool) is None for tool in TOOLS):
        return [*rows, ("down and check with pods", "not run", "they need root, runc, conmon")]
    return rows + await _of_pods(directory)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mb-") as directory:
        return uvloop.run(_measure(Path(directory).resolve()))
