"""FlexVolumes through a real kubectl: drivers put in place while Mooring runs, that really mount.

The drivers and manifests are in `examples/flexvolume`.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import WITHIN, Pods
from tests.fakes.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples" / "flexvolume"
MEBI = 1 << 20
*_, POD = yaml.safe_load_all((EXAMPLES / "volume.yaml").read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flex")


@pytest.fixture(scope="module")
def drivers(place: Path) -> Path:
    """The plugin directory, which does not exist at first."""
    return place / "exec"


@pytest.fixture(scope="module")
def server(needs_runtime: None, place: Path, drivers: Path) -> Iterator[ServerWithNode]:
    flags = ("--node-name", "node1", "--volume-plugin-dir", str(drivers))
    with server_with_node(place / "data", *flags) as running:
        try:
            yield running
        finally:
            for image in drivers.rglob("*.img"):
                subprocess.run([drivers / "example.com~image/image", "detach", image.stem, "n"])  # noqa: PLW1510, S603  tidying up


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl.in_namespace("default"))


def loop_devices() -> str:
    return subprocess.run(["losetup", "-a"], check=True, capture_output=True, text=True).stdout  # noqa: S607


def install(drivers: Path, name: str) -> None:
    """Whole, by renaming it into place."""
    drivers.mkdir(exist_ok=True)
    shutil.rmtree(drivers / name, ignore_errors=True)
    shutil.copytree(EXAMPLES / name, drivers / f".{name}")
    (drivers / f".{name}").rename(drivers / name)


def test_a_pod_waits_for_its_driver_and_gets_its_volume_from_it(
    pods: Pods, drivers: Path, server: ServerWithNode
) -> None:
    typed = pods.kubectl
    typed("apply", "-f", str(EXAMPLES / "pod.yaml"))
    assert "no volume plugin matched" in typed.event("flex-tmpfs", "FailedMount")

    install(drivers, "example.com~tmpfs")
    typed("wait", "pod/flex-tmpfs", "--for=condition=Ready", WITHIN)
    assert pods.sh("flex-tmpfs", "stat -f -c %T /data; df -m --output=size /data").split() == [
        "tmpfs",
        "1M-blocks",
        "16",
    ]

    uid = pods.uid("flex-tmpfs")
    mounted = server.node_root / "pods" / uid / "volumes" / "example.com~tmpfs" / "data"
    assert mounted.is_mount()
    typed("delete", "pod", "flex-tmpfs", WITHIN)
    assert not mounted.exists()


def test_a_persistent_volume_is_attached_formatted_mounted_grown_and_detached(
    pods: Pods, drivers: Path, server: ServerWithNode
) -> None:
    typed = pods.kubectl
    install(drivers, "example.com~image")
    typed("apply", "-f", str(EXAMPLES / "volume.yaml"))
    typed("wait", "pod/flex-image", "--for=condition=Ready", WITHIN)
    assert "AttachVolume.Attach succeeded" in typed.event("flex-image", "SuccessfulAttachVolume")
    (attached,) = typed.doc("node", "node1")["status"]["volumesAttached"]
    assert attached["name"] == "example.com/image/flex-image"
    assert attached["devicePath"].startswith("/dev/loop")
    assert pods.sh("flex-image", "stat -c %g /data; echo kept > /data/file") == "2000"

    typed("delete", "pod", "flex-image", WITHIN)
    pods.create(POD)
    typed("wait", "pod/flex-image", "--for=condition=Ready", WITHIN)
    assert pods.sh("flex-image", "cat /data/file") == "kept"

    more = '{"spec": {"resources": {"requests": {"storage": "128Mi"}}}}'
    typed("patch", "pvc", "flex-image", "-p", more)
    grown = "--for=jsonpath={.spec.capacity.storage}=128Mi"  # the file system may need more rights
    typed("wait", "pv/flex-image", grown, WITHIN)
    (image,) = drivers.rglob("*.img")
    assert image.stat().st_size == 128 * MEBI
    server.kill()
    server.start()
    typed("delete", "pod", "flex-image", WITHIN)
    asyncio.run(until(lambda: str(image) not in loop_devices()))
    assert "volumesAttached" not in typed.doc("node", "node1")["status"]


def test_a_driver_that_fails_says_so_in_an_event_and_is_replaced(pods: Pods, drivers: Path) -> None:
    typed = pods.kubectl
    install(drivers, "example.com~tmpfs")
    program = drivers / "example.com~tmpfs" / "tmpfs"
    good = program.read_text()
    bad = program.with_name(".bad")
    bad.write_text(good.replace("if mount -t", "if false -t"))
    bad.chmod(0o755)
    bad.rename(program)
    typed("apply", "-f", str(EXAMPLES / "pod.yaml"))
    words = "mount command failed, status: Failure, reason: mount was refused"
    assert words in typed.event("flex-tmpfs", "FailedMount", words)

    fixed = program.with_name(".good")
    fixed.write_text(good)
    fixed.chmod(0o755)
    fixed.rename(program)
    typed("wait", "pod/flex-tmpfs", "--for=condition=Ready", WITHIN)
    typed("delete", "pod", "flex-tmpfs", WITHIN)
