"""A `mooring up` with its bundled driver, and what of its volumes is on this machine. Root only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.driver.settings import NAME
from mooring.host.loop_device import CONTROL, detach
from mooring.host.mountinfo import canonical, read_table
from tests.clients.containers import PROMPTLY, loop_devices
from tests.clients.manifests import STORAGE, Doc, a_claim
from tests.clients.nodes import ServerWithNode, need_root, server_with_node
from tests.clients.pods import a_script, mounting, of_claim
from tests.fakes.real_server import command

PLUGIN = "kubernetes.io~csi"
ROOT = Path(__file__).parents[2]


def need_loop_devices() -> None:
    need_root()
    if not CONTROL.exists():
        pytest.skip(f"needs loop devices: there is no {CONTROL}")


@contextmanager
def short_directory() -> Iterator[Path]:
    """One whose sockets can be named; it goes with all that is in it, and its loop devices too."""
    place = Path(tempfile.mkdtemp(prefix="m-", dir="/tmp"))
    try:
        yield place
    finally:
        for device in loop_devices(place):
            detach(device)
        shutil.rmtree(place)


@contextmanager
def server_with_driver(*flags: str) -> Iterator[ServerWithNode]:
    """Its node is ready; nothing of it is left afterwards."""
    need_loop_devices()
    with short_directory() as place, server_with_node(place / "d", *flags) as server:
        yield server


class OnDisk:
    """What the driver and the node of a `mooring up` have, seen from outside."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.node = Path(os.path.realpath(data_dir / "node"))
        self.registrations = self.node / "plugins_registry"

    def volumes(self) -> list[str]:
        return self._names("volumes")

    def unfinished(self) -> list[str]:
        """What was never there, or is not there any more."""
        return [*self._names("making"), *self._names("trash")]

    def attached(self) -> list[str]:
        """Volumes that the driver has a record of as attached."""
        return [id for id in self.volumes() if self._record(id).get("attachments")]

    def backings(self) -> list[str]:
        """The files behind loop devices, one for each of these."""
        return list(loop_devices(self._data_dir / "driver").values())

    def published(self) -> dict[str, int]:
        """Where volumes of CSI are shown to pods, with the numbers of these mounts."""
        return self._mounts("pods", PLUGIN)

    def staged(self) -> dict[str, int]:
        return self._mounts("plugins", "globalmount")

    def _record(self, id: str) -> Doc:
        try:
            file = self._data_dir / "driver" / "volumes" / id / "record.json"
            return dict(json.loads(file.read_text()))
        except FileNotFoundError:  # it has just gone
            return {}

    def _mounts(self, directory: str, word: str) -> dict[str, int]:
        found = read_table().below(canonical(self.node) / directory)
        return {entry.at: entry.id for entry in found if word in Path(entry.at).parts}

    def _names(self, directory: str) -> list[str]:
        return sorted(os.listdir(self._data_dir / "driver" / directory))


def bare_claim(name: str, size: str = "64Mi", **spec: Any) -> Doc:
    """Of no class: whichever is the default."""
    doc = a_claim(name, size, **spec)
    if "storageClassName" not in spec:
        del doc["spec"]["storageClassName"]
    return doc


def a_reader(name: str, claim: str, **spec: Any) -> Doc:
    """A pod with the claim at /data."""
    using: Doc = {"volumes": [of_claim("data", claim)], "container": mounting(data="/data")}
    return a_script(name, **using | spec)


def a_class_of(driver: str, name: str) -> Doc:
    return {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": driver,
    }


@contextmanager
def driver_process(socket: Path, *hanging: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A driver of somebody else, which hangs in the calls that are named."""
    socket.parent.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-m", "tests.clients.other_driver", str(socket), *hanging]
    with _going(line) as process:
        yield process


@contextmanager
def bundled_process(
    socket: Path, node_id: str, state: Path, *flags: str, name: str = NAME
) -> Iterator["subprocess.Popen[bytes]"]:
    """The bundled driver as somebody else's: in a process of its own."""
    words = ("--endpoint", f"unix://{socket}", "--node-id", node_id, "--state-dir", str(state))
    with _going(command("driver", *words, *flags), first=f"{name} is serving at") as process:
        yield process


@contextmanager
def registrar_process(socket: Path, registrations: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`mooring sidecar registrar`; ended in peace it takes its offer back."""
    words = ("--csi-address", str(socket), "--plugin-registration-path", str(registrations))
    with _going(command("sidecar", "registrar", *words), first="offers") as process:
        yield process


@contextmanager
def unheard_registrar(socket: Path, registrations: Path) -> Iterator[str]:
    """One whose driver is not there: the first line that it prints."""
    words = ("--csi-address", str(socket), "--plugin-registration-path", str(registrations))
    with _going(command("sidecar", "registrar", *words)) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode()


@contextmanager
def sidecar_process(
    socket: Path, kubeconfig: Path, *sidecars: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """`mooring sidecar`, as a driver would bring its own."""
    words = ("--csi-address", str(socket), "--kubeconfig", str(kubeconfig))
    with _going(command("sidecar", *sidecars, *words), first="is running") as process:
        yield process


@contextmanager
def _going(line: Sequence[str], *, first: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has said what it says first; it is gone afterwards."""
    with subprocess.Popen(  # noqa: S603  our own programs
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            if first:
                said = process.stdout.readline().decode()
                while "is waiting for" in said and first not in said:
                    said = process.stdout.readline().decode()
                assert first in said, said
            yield process
        finally:
            process.terminate()
            process.wait(PROMPTLY)
