"""A CSI driver whose volumes every machine reaches, one at a time, and which keeps a ledger.

`python -m tests.clients.shared_driver SOCKET REGISTRATIONS NODE LEDGER` serves, and registers
itself. It attaches whatever it is asked to, as simple storage would; `faults` finds in the ledger
what it should not have been asked.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mooring.csi import registrar
from mooring.csi.capability import ControllerCapability, PluginService
from mooring.csi.proto import csi_pb2 as pb
from mooring.host.mountinfo import canonical, read_table
from mooring.testing.csi_state import CsiState
from tests.fakes.csi_driver import FakeCsiDriver

NAME = "shared.csi.mooring.dev"


class Entry(msgspec.Struct, frozen=True):
    """What the driver was asked, and where the kernel had the volume mounted then."""

    what: str  # attach, detach, or what became of the machine
    volume: str
    node: str
    mounted: tuple[str, ...] = ()  # machines


class Ledger:
    """A file that several processes append to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file = directory / "ledger"

    def content(self, volume: str) -> Path:
        return self.directory / "volumes" / volume

    def write(self, what: str, volume: str, node: str) -> None:
        line = msgspec.json.encode(Entry(what, volume, node, self.mounted(volume))) + b"\n"
        handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def read(self) -> list[Entry]:
        if not self._file.exists():
            return []
        lines = self._file.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Entry) for line in lines]

    def attached(self) -> set[tuple[str, str]]:
        """Volumes and nodes."""
        return _attached(self.read())

    def mounted(self, volume: str) -> tuple[str, ...]:
        """A machine's mounts are below the directory of its name."""
        bound = f"/volumes/{volume}"
        below = read_table().below(canonical(self.directory))
        found = [entry.mount_point for entry in below if entry.root.endswith(bound)]
        machines = {path.relative_to(canonical(self.directory)).parts[0] for path in found}
        return tuple(sorted(machines))


def _attached(entries: Sequence[Entry]) -> set[tuple[str, str]]:
    held: set[tuple[str, str]] = set()
    for entry in entries:
        if entry.what == "attach":
            held.add((entry.volume, entry.node))
        elif entry.what == "detach":
            held.discard((entry.volume, entry.node))
    return held


def faults(entries: Sequence[Entry], since: int = 0) -> Iterator[str]:
    """A volume attached to two machines, or detached from one where it is mounted.

    Looked for in the entries from the index `since` on; earlier ones say what was attached then.
    """
    for index, entry in list(enumerate(entries))[since:]:
        held = _attached(entries[:index])
        others = {node for volume, node in held if volume == entry.volume} - {entry.node}
        if entry.what == "attach" and others:
            yield f"{entry.volume} attached to {entry.node} and {others}"
        if entry.what == "attach" and set(entry.mounted) - {entry.node}:
            yield f"{entry.volume} attached to {entry.node}, and mounted on {entry.mounted}"
        if entry.what == "detach" and entry.node in entry.mounted:
            yield f"{entry.volume} detached from {entry.node}, where it is mounted"


class SharedState(CsiState):
    """Of one machine's driver."""

    def __init__(self, node: str, ledger: Ledger) -> None:
        super().__init__(name=NAME, node_id=node)
        self.ledger = ledger
        self.controller = {
            ControllerCapability.CREATE_DELETE_VOLUME,
            ControllerCapability.PUBLISH_UNPUBLISH_VOLUME,
        }
        self.node = set()
        self.plugin = {PluginService.CONTROLLER_SERVICE}
        self.expansion = set()

    def CreateVolume(self, request: pb.CreateVolumeRequest) -> pb.CreateVolumeResponse:
        reply = super().CreateVolume(request)
        self.ledger.content(reply.volume.volume_id).mkdir(parents=True, exist_ok=True)
        return reply

    def ControllerPublishVolume(
        self, request: pb.ControllerPublishVolumeRequest
    ) -> pb.ControllerPublishVolumeResponse:
        self.ledger.write("attach", request.volume_id, request.node_id)
        return pb.ControllerPublishVolumeResponse()

    def ControllerUnpublishVolume(
        self, request: pb.ControllerUnpublishVolumeRequest
    ) -> pb.ControllerUnpublishVolumeResponse:
        self.ledger.write("detach", request.volume_id, request.node_id)
        return pb.ControllerUnpublishVolumeResponse()

    def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest
    ) -> pb.NodePublishVolumeResponse:
        target = Path(request.target_path)
        if read_table().find(target) is None:
            target.mkdir(exist_ok=True)
            _run("mount", "--bind", self.ledger.content(request.volume_id), target)
        return pb.NodePublishVolumeResponse()

    def NodeUnpublishVolume(
        self, request: pb.NodeUnpublishVolumeRequest
    ) -> pb.NodeUnpublishVolumeResponse:
        target = Path(request.target_path)
        if read_table().find(target) is not None:
            _run("umount", target)
        if target.is_dir():
            target.rmdir()
        return pb.NodeUnpublishVolumeResponse()


def _run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True)  # noqa: S603  mount, umount


async def serve(socket: Path, registrations: Path, node: str, ledger: Ledger) -> None:
    async with FakeCsiDriver(socket, SharedState(node, ledger)):
        await registrar.run(registrar.Offer(NAME, str(socket), registrations))


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    asyncio.run(serve(given[0], given[1], given[2].name, Ledger(given[3])))
