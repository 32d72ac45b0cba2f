"""A runtime of its own for each test, and containers to be had from it."""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from mooring.clock import RealClock
from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from mooring.oci import cgroups
from mooring.oci.containers import OciContainers
from mooring.oci.contract import (
    ContainerSpec,
    ExecOptions,
    Found,
    Owner,
    RunAsUser,
    Session,
    StoredImage,
)
from mooring.oci.host_root import HOST_DIRECTORY, put_away
from mooring.oci.probe import NoRuntime, probe
from mooring.oci.runc import RuntimeProgram
from tests.fakes.waiting import until
from tests.host import little_image

POD_UID = "5b0d9a3c"


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> StoredImage:
    return little_image.build(tmp_path_factory.mktemp("image"))


@pytest.fixture
async def world(place: Path, little: StoredImage) -> AsyncIterator["World"]:
    """Containers to be had; after the test none is left, and nothing of them."""
    program = await probe()
    if isinstance(program, NoRuntime):
        pytest.skip(program.reason)
    made = World(place / "node", program, little)
    async with made.running():
        yield made
    await made.remove_all()
    put_away(Mounts(), made.root / HOST_DIRECTORY)
    await until(lambda: made.left() == NOTHING)
    shutil.rmtree(made.runs)


class World:
    """What a test asks of containers; `root` is the node's."""

    def __init__(self, root: Path, program: RuntimeProgram, image: StoredImage) -> None:
        self.root = root
        self.image = image
        self.program = program
        self.pod_uid = f"{POD_UID}-{secrets.token_hex(4)}"
        self.runs = Path(tempfile.mkdtemp(prefix="mooring-"))  # short, as addresses must be
        self.own_paths: tuple[Path, ...] = ()
        self.containers = self.fresh()
        self.ends: list[Found] = []

    def fresh(self) -> OciContainers:
        """As after a restart of Mooring."""
        return OciContainers(
            self.root,
            Mounts(),
            RealClock(),
            self.program,
            own_paths=self.own_paths,
            run_directory=self.runs,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[OciContainers]:
        """Let Mooring run; after it, the containers go on."""
        self.containers = self.fresh()
        self.containers.on_change(self.ends.append)
        self._task = asyncio.create_task(self.containers.run())
        try:
            loaded = asyncio.create_task(self.containers.loaded.wait())
            await asyncio.wait({self._task, loaded}, return_when=asyncio.FIRST_COMPLETED)
            loaded.cancel()
            if self._task.done():
                self._task.result()
            yield self.containers
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Mooring is gone; its containers go on."""
        self._task.cancel()
        await asyncio.wait({self._task})

    def spec(self, *args: str, **changes: object) -> ContainerSpec:
        id = secrets.token_hex(32)
        owner = Owner("default", "web", self.pod_uid, "main", 0)
        spec = ContainerSpec(
            id=id,
            owner=owner,
            image=self.image,
            args=args,
            environment=(),
            working_dir="",
            user=RunAsUser(),
            hostname="web",
            log_path=self.root / "logs" / id / "0.log",
        )
        return msgspec.structs.replace(spec, **changes)

    def script(self, text: str, **changes: object) -> ContainerSpec:
        return self.spec("/bin/sh", "-c", text, **changes)

    async def start(self, spec: ContainerSpec) -> str:
        await self.containers.create(spec)
        await self.containers.start(spec.id)
        return spec.id

    async def end_of(self, id: str) -> Found:
        await until(lambda: any(each.id == id for each in self.ends))
        return next(each for each in self.ends if each.id == id)

    async def run(self, spec: ContainerSpec) -> tuple[int, str]:
        """Exit code and standard output of a container that ends by itself."""
        id = await self.start(spec)
        ended = await self.end_of(id)
        output = logged(spec.log_path)
        await self.containers.remove(id)
        return ended.exit_code, output

    async def exec(self, id: str, *args: str) -> tuple[int, str]:
        return await talk(await self.containers.exec(id, ExecOptions(args)))

    async def remove_all(self) -> None:
        async with self.running() as containers:
            for each in containers.list():
                await containers.remove(each.id)

    def left(self) -> dict[str, list[str]]:
        """Mounts, control groups, processes and files that a removed container left behind."""
        place = self.root / "containers"
        groups = cgroups.directories(f"/mooring/pod{self.pod_uid}")
        return {
            "mounts": [entry.at for entry in read_table().below(place)],
            "groups": [str(group) for group in groups],
            "processes": [str(pid) for pid in processes_about(str(self.root))],
            "files": [str(path) for path in place.iterdir()] if place.exists() else [],
            "state": [str(path) for path in self.runs.glob("*/*/*")],
            "sessions": [str(path) for path in self.runs.glob("*/exec-*")],
            "open": [str(path) for path in self.runs.glob("*-open/*")],
        }


NOTHING: dict[str, list[str]] = {
    "mounts": [],
    "groups": [],
    "processes": [],
    "files": [],
    "state": [],
    "sessions": [],
    "open": [],
}


def logged(path: Path, stream: str = "stdout") -> str:
    """What a log in the format of the CRI says of a stream, put together again."""
    text = ""
    for line in path.read_text().splitlines():
        _, of, tag, content = line.split(" ", 3)
        if of == stream:
            text += content + ("\n" if tag == "F" else "")
    return text


async def talk(session: Session) -> tuple[int, str]:
    """The exit code and all output of a session."""
    output = b"".join([piece async for _, piece in session.output()])
    code = await session.wait()
    await session.close()
    return code, output.decode()


def processes_about(word: str) -> list[int]:
    """Every process, but this one, with `word` somewhere among its arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line and b"pytest" not in line:
                found.append(int(entry.name))
    return found
