"""CSI drivers as processes of their own, and who offers them to a node."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from mooring.driver.settings import NAME
from tests.clients.csi import bundled_process, registrar_process
from tests.conformance.obtain import CSI_HOST_PATH, NODE_DRIVER_REGISTRAR
from tests.conformance.peers import Find, running

MUTABLE = "limit"  # what csi-driver-host-path lets a VolumeAttributesClass change
LARGEST = 2**30  # bytes of a volume of it

_CALL = re.compile(r"GRPC call: /csi\.v1\.\w+/(\w+)")
_ASKING = re.compile("Get|Probe|List|Validate")


class Running(msgspec.Struct, frozen=True):
    """A driver that serves."""

    name: str
    socket: Path
    volumes: Callable[[], list[str]]  # those that it has
    calls: Callable[[], list[str] | None]  # that changed something; None: it does not tell


class Peer(msgspec.Struct, frozen=True):
    """How to start a driver, and its registrar; both raise Missing."""

    start: Callable[[Find, Path, str], AbstractContextManager[Running]]  # where, and its node
    offer: Callable[[Find, Running, Path], AbstractContextManager[object]]  # in which directory


@contextmanager
def host_path(
    find: Find, place: Path, node: str, largest: int = LARGEST, prefix: Sequence[str] = ()
) -> Iterator[Running]:
    """csi-driver-host-path, run by the command `prefix` if there is one. Raises Missing."""
    program = find(CSI_HOST_PATH)
    socket, state, log = place / "csi-hostpath" / "csi.sock", place / "state", place / "driver.log"
    socket.parent.mkdir(parents=True, exist_ok=True)
    state.mkdir()
    command = [
        *(*prefix, str(program), "--v=5", "--enable-attach", f"--nodeid={node}"),
        *("--enable-controller-modify-volume", f"--accepted-mutable-parameter-names={MUTABLE}"),
        f"--max-volume-size={largest}",
        *(f"--endpoint=unix://{socket}", f"--statedir={state}"),
    ]

    def calls() -> list[str]:
        return [call for call in _CALL.findall(log.read_text()) if not _ASKING.search(call)]

    def volumes() -> list[str]:
        return [path.name for path in state.iterdir() if path.name != "state.json"]

    with running(command, log.with_suffix("")):
        yield Running("hostpath.csi.k8s.io", socket, volumes, calls)


@contextmanager
def _with_their_registrar(find: Find, driver: Running, registrations: Path) -> Iterator[object]:
    command = [
        *(str(find(NODE_DRIVER_REGISTRAR)), f"--csi-address={driver.socket}"),
        f"--kubelet-registration-path={driver.socket}",
        f"--plugin-registration-path={registrations}",
    ]
    with running(command, driver.socket.parent.parent / "registrar") as process:
        yield process


@contextmanager
def _bundled(_: Find, place: Path, node: str) -> Iterator[Running]:
    state, socket = place / "state", place / "csi.sock"
    with bundled_process(socket, node, state):
        volumes = state / "volumes"
        yield Running(NAME, socket, lambda: [each.name for each in volumes.iterdir()], lambda: None)


def _with_our_registrar(
    _: Find, driver: Running, registrations: Path
) -> AbstractContextManager[object]:
    return registrar_process(driver.socket, registrations)


HOST_PATH = Peer(host_path, _with_their_registrar)
"""csi-driver-host-path, with upstream's registrar."""

BUNDLED = Peer(_bundled, _with_our_registrar)
"""The bundled driver as if it were somebody else's, with our registrar."""
