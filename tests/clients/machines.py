"""Three machines on one: a `mooring up`, and nodes in networks of their own that have joined it.

Their volumes are those of `shared_driver`. Links are cut and healed, machines die. Root only.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.clients.containers import PROMPTLY, NodeContainers, nothing_left_after
from tests.clients.csi import ROOT, short_directory
from tests.clients.mooring_command import done
from tests.clients.nodes import NODE, ServerWithNode, need_root, server_with_node
from tests.clients.shared_driver import Ledger
from tests.fakes.real_server import command


class Switch:
    """What joins the machines: this one has its first address."""

    def __init__(self) -> None:
        number = os.getpid() % 50_000
        self.name = f"mb{number}"
        self.net = f"10.{200 + number // 250 % 50}.{number % 250}"
        self.prefix = f"m{number}"

    @property
    def address(self) -> str:
        return f"{self.net}.1"


class Machine:
    """A node in a network of its own, and the driver of its volumes."""

    def __init__(self, name: str, place: Path, switch: Switch, host: int, ledger: Ledger) -> None:
        self.name = name
        self.root = place / name
        self.containers = NodeContainers(self.root)
        self.process: subprocess.Popen[str] | None = None
        self.log = place / f"{name}.stderr"
        self._driver: subprocess.Popen[bytes] | None = None
        self._place = place
        self._ledger = ledger
        self._switch = switch
        self._address = f"{switch.net}.{host}"
        self._network = f"{switch.prefix}{name}"
        self._inside = ("nsenter", f"--net=/run/netns/{self._network}")
        self._port = f"{switch.prefix}{name}"[:15]

    # its network

    def plug_in(self) -> None:
        far, network = "eth0", self._network
        for line in (
            f"netns add {network}",
            f"link add {self._port} type veth peer name {far} netns {network}",
            f"link set {self._port} master {self._switch.name} up",
            f"-n {network} address add {self._address}/24 dev {far}",
            f"-n {network} link set {far} up",
            f"-n {network} link set lo up",
            f"-n {network} route add default via {self._switch.address}",
        ):
            must_ip(line)

    def unplug(self) -> None:
        ip(f"netns delete {self._network}")
        ip(f"link delete {self._port}")

    def cut(self) -> None:
        must_ip(f"link set {self._port} down")

    def heal(self) -> None:
        must_ip(f"link set {self._port} up")

    # its life

    def start(self, *words: str) -> None:
        """`words` are those of the printed command; none: it starts again, without a token."""
        flags = ("--root-dir", str(self.root), "--host-rootfs", "--log-level", "warning")
        line = command(*(words or ("node",)), *flags, "--listen", self._address)
        with self.log.open("a") as log:
            self.process = subprocess.Popen(  # noqa: S603  our own program
                [*self._inside, *line],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told == f"mooring node {self.name} is running\n", told + self.log.read_text()
        if self._driver is None:
            self._start_driver()

    def _start_driver(self) -> None:
        socket, registrations = self._place / f"{self.name}.sock", self.root / "plugins_registry"
        self._driver = start_driver(socket, registrations, self.name, self._ledger)

    def stop(self) -> None:
        """SIGTERM: pods go on."""
        self._end_process("terminate")

    def kill(self) -> None:
        """`kill -9` of the node's process alone: pods go on."""
        self._end_process("kill")

    def lose_power(self) -> None:
        """Nothing of it is left: no process, no container, no mount."""
        self._end_process("kill")
        self._end_driver()
        with nothing_left_after(self.root):
            pass

    def go(self) -> str:
        """Stopped, it leaves on purpose; what `mooring down` says."""
        self.stop()
        line = [*self._inside, *command("down", "--root-dir", str(self.root))]
        ran = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def end(self) -> None:
        self._end_process("kill")
        self._end_driver()

    def _end_process(self, how: str) -> None:
        process, self.process = self.process, None
        if process is not None:
            getattr(process, how)()
            process.communicate(timeout=PROMPTLY)

    def _end_driver(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.kill()
            driver.wait(PROMPTLY)


class Machines:
    """The whole of it."""

    def __init__(self, server: ServerWithNode, ledger: Ledger, workers: list[Machine]) -> None:
        self.server = server
        self.ledger = ledger
        self.workers = {worker.name: worker for worker in workers}

    def join(self, worker: Machine) -> None:
        """By the command that is printed, typed as it is."""
        words = ("--data-dir", str(self.server.data_dir), "--node", worker.name)
        line = done("token", "create", *words)
        assert line.startswith("mooring node --join ")
        worker.start(*line.split()[1:])


@contextmanager
def three_machines() -> Iterator[Machines]:
    """`here` and two workers, all ready; nothing of them is left afterwards."""
    need_root()
    with ExitStack() as stack:
        place = stack.enter_context(short_directory())
        switch = stack.enter_context(_switched())
        ledger = Ledger(place)
        flags = ("--host", "0.0.0.0", "--name", switch.address)  # noqa: S104  a test's own network
        grace = ("--node-monitor-grace-period", "13")  # a node is heard of every ten seconds
        server = stack.enter_context(server_with_node(place / "d", *flags, *grace))
        registrations = server.node_root / "plugins_registry"
        driver = start_driver(place / "here.sock", registrations, NODE, ledger)
        stack.callback(driver.wait, PROMPTLY)
        stack.callback(driver.kill)
        workers = [Machine(f"w{n}", place, switch, n + 1, ledger) for n in (1, 2)]
        machines = Machines(server, ledger, workers)
        for worker in workers:
            stack.enter_context(nothing_left_after(worker.root))
            stack.callback(worker.unplug)
            stack.callback(worker.end)
            worker.plug_in()
            machines.join(worker)
        yield machines


def start_driver(
    socket: Path, registrations: Path, node: str, ledger: Ledger
) -> "subprocess.Popen[bytes]":
    words = (str(socket), str(registrations), node, str(ledger.directory))
    line = [sys.executable, "-m", "tests.clients.shared_driver", *words]
    return subprocess.Popen(line, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: S603  ours


@contextmanager
def _switched() -> Iterator[Switch]:
    """Skips the test, with the reason, where networks cannot be made."""
    if not all(map(shutil.which, ("ip", "nsenter"))):
        pytest.skip("ip and nsenter, which make networks, are not installed")
    switch = Switch()
    try:
        for line in (
            f"netns add {switch.prefix}try",
            f"link add {switch.name} type bridge",
            f"address add {switch.address}/24 dev {switch.name}",
            f"link set {switch.name} up",
        ):
            if refused := ip(line):
                pytest.skip(f"no network can be made: ip {line}: {refused}")
        yield switch
    finally:
        ip(f"netns delete {switch.prefix}try")
        ip(f"link delete {switch.name}")


def ip(line: str) -> str:
    """What went wrong; empty: nothing."""
    words = ["ip", *line.split()]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PROMPTLY, check=False)  # noqa: S603
    return ran.stderr.strip() or "failed" if ran.returncode else ""


def must_ip(line: str) -> None:
    refused = ip(line)
    assert not refused, f"ip {line}: {refused}"
