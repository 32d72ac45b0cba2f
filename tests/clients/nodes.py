"""A `mooring up` with a node, and what is mounted for its pods. Root only."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.host.loop_device import detach
from mooring.host.mountinfo import canonical, read_table
from tests.clients.containers import (
    PROMPTLY,
    NodeContainers,
    loop_devices,
    nothing_left_after,
)
from tests.clients.following import changes
from tests.fakes.real_server import RealServer, command

NODE = "here"


def need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount")


class PodDirectory:
    """What a node has made for a pod."""

    def __init__(self, root: Path, uid: str) -> None:
        self.path = canonical(root) / "pods" / uid

    def volume(self, plugin: str, name: str) -> Path:
        return self.path / "volumes" / f"kubernetes.io~{plugin}" / name

    def mounts(self) -> Mapping[str, int]:
        """By their places below the pod's directory, with the numbers that the kernel gave them."""
        found = read_table().below(self.path)
        return {str(Path(entry.at).relative_to(self.path)): entry.id for entry in found}

    def shows(self, plugin: str, name: str, file: str, text: str) -> bool:
        try:
            return (self.volume(plugin, name) / file).read_text() == text
        except OSError:
            return False


class ServerWithNode(RealServer):
    """`mooring up` with a node, whose root directory goes with the test's other files."""

    own_flags: tuple[str, ...] = ("--node-name", NODE)

    def __init__(self, data_dir: Path, *flags: str) -> None:
        self.node_root = root_beside(data_dir)
        super().__init__(data_dir, "--root-dir", str(self.node_root), *flags)

    @property
    def containers(self) -> NodeContainers:
        return NodeContainers(self.node_root)


def root_beside(data_dir: Path) -> Path:
    """The usual one would be in /var/lib, and stay there."""
    return data_dir.resolve().with_name(f"{data_dir.name}-node")


@contextmanager
def server_with_node(data_dir: Path, *flags: str) -> Iterator[ServerWithNode]:
    """Its node is ready. Afterwards nothing of it runs or is mounted any more, however it ended."""
    server = ServerWithNode(data_dir, *flags)
    try:
        with nothing_left_after(server.node_root):
            try:
                server.start()
                yield server
            finally:
                server.kill()
    finally:
        for device in loop_devices(data_dir):  # of volumes that a test did not wait to see go
            detach(device)


def wait_for_node(server: RealServer) -> None:
    """A node comes a moment after the API."""
    for node in changes(server, "/api/v1/nodes"):
        conditions = node.get("status", {}).get("conditions", ())
        if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            return
    pytest.fail("no node became ready")


@contextmanager
def joined_node(
    server: RealServer, name: str, directory: Path, *prefix: str, flags: Sequence[str] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """`mooring node` in a process of its own, with its own kubeconfig: `<name>.kubeconfig`.

    `prefix` is a command that runs it. Afterwards nothing of it runs or is mounted any more.
    """
    kubeconfig = directory / f"{name}.kubeconfig"
    role = ("--role", f"node:{name}", "-o", str(kubeconfig))
    made = command("kubeconfig", "--data-dir", str(server.data_dir), *role)
    subprocess.run(made, check=True, timeout=PROMPTLY)  # noqa: S603  our own command
    run = command(
        *("node", "--kubeconfig", str(kubeconfig), "--node-name", name),
        *("--root-dir", str(directory / name), "--log-level", "warning"),
        *flags,
    )
    with (
        nothing_left_after(directory / name),
        subprocess.Popen([*prefix, *run], stdout=subprocess.PIPE, text=True) as process,  # noqa: S603  ours
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"mooring node {name} is running\n"
            yield process
        finally:
            process.terminate()
            process.wait(PROMPTLY)


class PowerlessServer(ServerWithNode):
    """The same, without the right to mount."""

    prefix = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")


@contextmanager
def network(address: str, other: str) -> Iterator[tuple[str, ...]]:
    """A second network, `other` in it, joined to this one at `address`; how to run something there.

    Skips the test where networks cannot be made.
    """
    name = f"mooring{os.getpid() % 10_000_000}"
    if not all(map(shutil.which, ("ip", "nsenter"))):
        pytest.skip("ip and nsenter, which make networks, are not installed")
    made = _ip("netns", "add", name)
    if made.returncode:
        pytest.skip(f"no network can be made: {made.stderr.strip()}")
    try:
        near, far = f"{name[-11:]}a", f"{name[-11:]}b"
        for line in (
            f"link add {near} type veth peer name {far} netns {name}",
            f"address add {address}/30 dev {near}",
            f"link set {near} up",
            f"-n {name} address add {other}/30 dev {far}",
            f"-n {name} link set {far} up",
            f"-n {name} route add default via {address}",
        ):
            done = _ip(*line.split())
            if done.returncode:
                pytest.skip(f"no network can be made: {done.stderr.strip()}")
        yield "nsenter", f"--net=/run/netns/{name}"
    finally:
        _ip("netns", "delete", name)


def _ip(*arguments: str) -> "subprocess.CompletedProcess[str]":
    line = ["ip", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=PROMPTLY, check=False)  # noqa: S603
