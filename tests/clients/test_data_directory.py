"""What happens to volumes when somebody removes, copies or measures a data directory by hand."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.host.loop_device import detach
from mooring.host.mountinfo import read_table
from mooring.node.home import HOMES, find_home
from tests.clients.containers import NodeContainers, loop_devices, nothing_left_after
from tests.clients.csi import (
    bare_claim,
    need_loop_devices,
    short_directory,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim
from tests.clients.nodes import NODE, need_root, wait_for_node
from tests.clients.pods import STAYS, Pods, a_local_volume, a_script, mounting, of_claim
from tests.clients.test_csi import wait_for_class
from tests.fakes.real_server import RealServer, command
from tests.fakes.waiting import until

LONG = "a-data-directory-whose-path-is-longer-than-the-address-of-a-socket-may-be-in-linux-" * 2


class AsItComes(RealServer):
    """`mooring up` with a node where it has it by itself, in /var/lib."""

    own_flags = ("--node-name", NODE)

    @property
    def node_root(self) -> Path:
        return find_home(self.data_dir)

    @property
    def containers(self) -> NodeContainers:
        return NodeContainers(self.node_root)


@contextmanager
def as_it_comes(data_dir: Path) -> Iterator[AsItComes]:
    """Its node is ready. Afterwards nothing of it is left, in /var/lib neither."""
    data_dir.parent.mkdir(exist_ok=True)
    server = AsItComes(data_dir)
    root = server.node_root
    try:
        with nothing_left_after(root):
            try:
                server.start()
                wait_for_node(server)
                yield server
            finally:
                server.kill()
    finally:
        if root.parent == HOMES and root.exists() and not read_table().below(root):
            shutil.rmtree(root)


@pytest.fixture
def place(needs_runtime: None) -> Iterator[Path]:
    need_loop_devices()
    with short_directory() as made:
        yield made
        for device in loop_devices(made):
            detach(device)


@pytest.fixture
def server(place: Path) -> Iterator[AsItComes]:
    with as_it_comes(place / "data") as running:
        yield running


def pods_of(server: AsItComes, kubectl: Kubectl) -> Pods:
    mine = kubectl.as_user(server.kubeconfig).in_namespace("default")
    wait_for_class(mine)
    return Pods(mine)


def a_pod_with_everything(disk: Path) -> tuple[Doc, ...]:
    """A local disk, a volume of the bundled driver, and memory."""
    return (
        a_local_volume("disk", str(disk), storageClassName="local"),
        a_claim("disk", "1Gi", storageClassName="local", volumeName="disk"),
        bare_claim("made"),
        a_script(
            "web",
            f"echo written > /disk/by-the-pod; echo written > /made/by-the-pod; {STAYS}",
            volumes=[
                of_claim("disk", "disk"),
                of_claim("made", "made"),
                {"name": "memory", "emptyDir": {"medium": "Memory"}},
            ],
            container=mounting(disk="/disk", made="/made", memory="/memory"),
        ),
    )


def rm_rf(directory: Path) -> None:
    subprocess.run(["rm", "-rf", str(directory)], check=True)  # noqa: S603, S607  as it is typed


async def test_removing_the_data_directory_harms_no_volume_and_a_new_start_clears_up(
    server: AsItComes, kubectl: Kubectl, place: Path
) -> None:
    disk = place / "disk"
    disk.mkdir()
    (disk / "precious").write_text("precious")
    pods = pods_of(server, kubectl)
    pods.ready(*a_pod_with_everything(disk))
    uid, root, containers = pods.uid("web"), server.node_root, server.containers
    assert root.parent == HOMES
    assert len(loop_devices(place)) == 1
    assert server.stop() == 0
    assert read_table().below(root), "a stop leaves volumes mounted"
    assert not read_table().below(server.data_dir.resolve())

    rm_rf(server.data_dir)

    assert sorted(os.listdir(disk)) == ["by-the-pod", "precious"]
    assert len(loop_devices(place)) == 1, "the pod has its volume still"

    server.start()
    wait_for_node(server)
    assert (server.data_dir / "node").readlink() == root
    nothing: dict[str, list[str]] = {"containers": [], "processes": [], "groups": [], "mounts": []}
    await until(lambda: containers.left(uid) == nothing)
    await until(lambda: not os.listdir(root / "pods"))
    await until(lambda: not loop_devices(place))
    assert not [
        entry.at
        for entry in read_table().below(root)
        if entry.mount_point != root and not entry.mount_point.is_relative_to(root / "host")
    ]
    assert sorted(os.listdir(disk)) == ["by-the-pod", "precious"]
    pods = pods_of(server, kubectl)
    pods.ready(*a_pod_with_everything(disk))
    assert pods.sh("web", "cat /made/by-the-pod /disk/precious") == "written\nprecious"
    pods.kubectl("delete", "pod", "web", "--timeout=15s")


def test_measuring_and_packing_the_data_directory_stays_in_it(
    server: AsItComes, kubectl: Kubectl, place: Path
) -> None:
    pods = pods_of(server, kubectl)
    disk = place / "disk"
    disk.mkdir()
    (disk / "large").write_bytes(bytes(100 << 20))
    pods.ready(*a_pod_with_everything(disk))
    words = ["du", "-s", "--block-size=1M", str(server.data_dir)]
    counted = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    assert int(counted.stdout.split()[0]) < 50
    words = ["tar", "-c", "-v", "-S", "-f", "/dev/null", "-C", str(place), "data"]
    packed = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603
    inside = [line for line in packed.stdout.splitlines() if line.startswith("data/node")]
    assert inside == ["data/node"]
    pods.kubectl("delete", "pod", "web", "--timeout=15s")


def test_a_long_data_directory_has_its_sockets_all_the_same(
    place: Path, needs_runtime: None, kubectl: Kubectl
) -> None:
    with as_it_comes(place / LONG / "data") as server:
        pods = pods_of(server, kubectl)
        pods.kubectl("wait", "--for=create", "csinode/" + NODE, "--timeout=15s")
        assert len(str(server.node_root)) < 40


async def test_a_moved_data_directory_goes_on_with_its_pods(
    server: AsItComes, kubectl: Kubectl, place: Path
) -> None:
    pods = pods_of(server, kubectl)
    pods.ready(a_script("web"))
    root, before = server.node_root, server.containers.ids()
    server.kill()
    server.data_dir.rename(place / "moved")
    with as_it_comes(place / "moved") as moved:
        assert moved.node_root == root
        pods = pods_of(moved, kubectl)
        assert pods.status("web")["restartCount"] == 0
        assert moved.containers.ids() == before
        pods.kubectl("delete", "pod", "web", "--timeout=15s")


def image(*words: str) -> str:
    line = command("image", *words)
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout  # noqa: S603


def test_an_image_that_is_imported_before_the_first_start_is_where_the_node_looks(
    tmp_path: Path,
) -> None:
    need_root()
    data, files = tmp_path / "data", tmp_path / "files"
    files.mkdir()
    (files / "file").write_text("of the image")
    root = find_home(data)
    try:
        assert "imported" in image("import", "--data-dir", str(data), "tool", str(files))
        assert "tool" in image("ls", "--data-dir", str(data))
        assert (data / "node").readlink() == root
        assert (root / "images").is_dir()
    finally:
        shutil.rmtree(root)
