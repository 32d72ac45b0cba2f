"""Pods that really run: from `create` to Running, and away again, beside what runc alone needs.

Needs root, runc and conmon. Every pod has an emptyDir, a configMap and a projected volume, and runs
on an image that is there: a busybox of this machine. Everything is in one `mooring up`.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.client import open_pool, request, send_all
from bench.server import Server, node_root, served, up_with_node
from mooring.host.command import find_program

Row = tuple[str, str, str]
Doc = dict[str, Any]

SINGLE = 20  # pods that come one by one
MANY = 60
BARE = 20  # containers that runc and conmon make by themselves
CONNECTIONS = 16
PATIENCE = 120.0  # seconds
IDLE = 30.0
IMAGE = "bench/busybox:1"
HERE = "/api/v1/namespaces/default"
_TOOLS = ("runc", "conmon", "busybox")


def _pod(name: str) -> Doc:
    volumes: list[Doc] = [
        {"name": "scratch", "emptyDir": {}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "projected", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
    ]
    mounts = [{"name": one["name"], "mountPath": f"/mnt/{one['name']}"} for one in volumes]
    container = {
        "name": "c",
        "image": IMAGE,
        "command": ["sh", "-c", 'trap "exit 0" TERM; sleep 1000000 & wait'],
        "volumeMounts": mounts,
    }
    spec = {"containers": [container], "volumes": volumes}
    return {"metadata": {"name": name}, "spec": spec}


def _root_of_image(directory: Path) -> Path:
    """A root file system with nothing but busybox."""
    busybox = find_program("busybox")
    assert busybox is not None
    programs = directory / "bin"
    programs.mkdir(parents=True)
    shutil.copy(busybox, programs / "busybox")
    for applet in ("sh", "sleep"):
        (programs / applet).symlink_to("busybox")
    for name in ("etc", "mnt", "proc", "sys", "tmp"):
        (directory / name).mkdir()
    return directory


async def _create(target: Server, path: str, documents: Iterable[Doc]) -> None:
    bodies = (json.dumps(doc).encode() for doc in documents)
    await send_all(target, (request(target, "POST", path, one) for one in bodies), CONNECTIONS)


class Watch:
    """What a watch of all pods has told so far, and when."""

    def __init__(self, target: Server) -> None:
        self._target = target
        self.running: dict[str, float] = {}
        self.gone: dict[str, float] = {}
        self.finished: set[str] = set()
        self._told = asyncio.Event()

    async def run(self, began: asyncio.Event) -> None:
        target = self._target
        reader, writer = await asyncio.open_connection(
            target.host, target.port, ssl=target.tls, limit=1 << 24
        )
        writer.write(request(target, "GET", f"{HERE}/pods?watch=true"))
        await reader.readuntil(b"\r\n\r\n")
        began.set()
        while (line := await reader.readline()) and line != b"0\r\n":
            for piece in (await reader.readexactly(int(line, 16) + 2)).splitlines():
                if piece:
                    self._take(msgspec.json.decode(piece))

    def _take(self, event: Doc) -> None:
        now, name = time.perf_counter(), event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            self.gone[name] = now
        elif event["object"]["status"].get("phase") == "Running":
            self.running.setdefault(name, now)
        elif event["object"]["status"].get("phase") == "Succeeded":
            self.finished.add(name)
        self._told.set()

    async def when_running(self, name: str) -> float:
        await self.until(lambda: name in self.running)
        return self.running[name]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._told.clear()
                await self._told.wait()


async def _one_by_one(target: Server, watch: Watch, bare: float) -> list[Row]:
    waits = []
    async with open_pool(target, 1) as pool:
        for name in (f"single-{i}" for i in range(SINGLE)):
            began = time.perf_counter()
            body = json.dumps(_pod(name)).encode()
            await pool.send(request(target, "POST", f"{HERE}/pods", body))
            waits.append(await watch.when_running(name) - began)
    median = statistics.median(waits)
    note = f"target 200 ms; worst of {SINGLE} {max(waits) * 1e3:.0f} ms"
    beyond = f"target 100 ms; runc and conmon alone {bare * 1e3:.0f} ms (median)"
    return [
        ("pod created -> Running, one by one (median)", f"{median * 1e3:.0f} ms", note),
        ("  of it beyond what the runtime needs", f"{(median - bare) * 1e3:.0f} ms", beyond),
    ]


async def _at_once(target: Server, watch: Watch) -> Row:
    names = [f"many-{i}" for i in range(MANY)]
    began = time.perf_counter()
    await _create(target, f"{HERE}/pods", map(_pod, names))
    await watch.until(lambda: all(name in watch.running for name in names))
    seconds = max(watch.running[name] for name in names) - began
    return (f"{MANY} pods at once -> all Running", f"{seconds:.2f} s", "target 5 s")


async def _deleted(target: Server, watch: Watch, data: Path) -> Row:
    began, count = time.perf_counter(), len(watch.running)
    await send_all(target, iter([request(target, "DELETE", f"{HERE}/pods")]), 1)
    await watch.until(lambda: len(watch.gone) == count)
    seconds = max(watch.gone.values()) - began
    while any((node_root(data) / "containers").iterdir()):  # noqa: ASYNC110  a disk tells nobody
        await asyncio.sleep(0.01)
    swept = time.perf_counter() - began
    note = f"target 5 s; the last trace of them on disk {swept:.2f} s"
    return (f"{count} pods deleted -> all gone", f"{seconds:.2f} s", note)


def _shims(data: Path) -> list[int]:
    """Those of the containers of this data directory."""
    words = ["pgrep", "-f", f"conmon .*{data}"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    return [int(word) for word in found.stdout.split()]


def _proportional_bytes(pid: int) -> int:
    """Its share of memory: what several processes use together is counted once."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    line = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


async def _at_rest(target: Server, data: Path) -> list[Row]:
    pids = (target.pid, *_shims(data))
    total = sum(map(_proportional_bytes, pids))
    await asyncio.sleep(5)
    before = target.cpu_seconds()
    await asyncio.sleep(IDLE)
    share = (target.cpu_seconds() - before) / IDLE
    note = f"target 200 MB; {len(pids) - 1} shims included, shared pages counted once"
    return [
        ("memory of all of it", f"{total / 1e6:.0f} MB", note),
        ("idle", f"{share:.2%}", "of a core; target 3%"),
    ]


def _bare(directory: Path, root: Path) -> float:
    """Seconds that conmon and runc take to create and start a container, the median of some."""
    bundle = directory / "bundle"
    bundle.mkdir()
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)  # noqa: S607
    spec = json.loads((bundle / "config.json").read_text())
    spec["process"] |= {"terminal": False, "args": ["sleep", "1000000"]}
    spec["root"] = {"path": str(root)}
    state = directory / "state"
    waits = []
    for number in range(BARE):
        name = f"bench-bare-{number}"
        spec["linux"]["cgroupsPath"] = f"/mooring-bench/{name}"
        (bundle / "config.json").write_text(json.dumps(spec))
        began = time.perf_counter()
        _create_bare(name, bundle, state)
        subprocess.run(["runc", "--root", state, "start", name], check=True)  # noqa: S603, S607
        waits.append(time.perf_counter() - began)
        subprocess.run(["runc", "--root", state, "delete", "-f", name], check=True)  # noqa: S603, S607
    return statistics.median(waits)


def _create_bare(name: str, bundle: Path, state: Path) -> None:
    """Returns when the container is created: conmon says so through a pipe."""
    reading, writing = os.pipe()
    flags = ("-c", name, "-u", name, "-b", bundle, "-p", bundle / "pid")
    runtime = ("-r", find_program("runc"), "--runtime-arg", f"--root={state}")
    log = ("-l", f"k8s-file:{bundle / 'log'}", "--socket-dir-path", bundle)
    subprocess.run(  # noqa: S603
        ["conmon", *map(str, (*flags, *runtime, *log))],  # noqa: S607
        env={**os.environ, "_OCI_SYNCPIPE": str(writing)},
        pass_fds=[writing],
        check=True,
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        assert '"pid"' in (line := told.readline()) or '"data"' in line, line


async def _measure(directory: Path) -> list[Row]:
    data, root = directory / "data", _root_of_image(directory / "root")
    bare = await asyncio.to_thread(_bare, directory, root)
    words = ("image", "import", "--root-dir", str(node_root(data)), IMAGE, str(root))
    subprocess.run([sys.executable, "-m", "mooring", *words], check=True, capture_output=True)  # noqa: ASYNC221, S603
    async with served(data, *up_with_node(data)) as target, asyncio.TaskGroup() as tasks:
        await _create(
            target, f"{HERE}/configmaps", [{"metadata": {"name": "settings"}, "data": {"a": "b"}}]
        )
        watch, watching = Watch(target), asyncio.Event()
        following = tasks.create_task(watch.run(watching))
        await watching.wait()
        rows = await _one_by_one(target, watch, bare)
        rows.append(await _at_once(target, watch))
        rows += await _at_rest(target, data)
        rows.append(await _deleted(target, watch, data))
        following.cancel()
    return rows


def run() -> list[Row]:
    if os.geteuid() != 0:
        return [("pods that run", "not run", "containers need root")]
    if missing := [tool for tool in _TOOLS if find_program(tool) is None]:
        return [("pods that run", "not run", f"no {', '.join(missing)} on this machine")]
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        return uvloop.run(_measure(Path(directory).resolve()))
