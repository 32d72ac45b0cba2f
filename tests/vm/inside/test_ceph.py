"""A real Ceph, of one machine: images by the kernel's rbd, files by ceph-fuse and by the kernel."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from time import monotonic

import pytest

from mooring.host.mountinfo import read_table
from mooring.plugins.cephfs import FUSE_HELPER
from tests.clients.kubectl import Doc
from tests.clients.manifests import a_claim, a_secret, a_volume
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import Pods, a_script, mounting, of_claim
from tests.vm.inside.ceph_cluster import MONITOR, POOL, PROGRAMS, CephCluster
from tests.vm.inside.programs import eventually, sh
from tests.vm.inside.udev import udev

RAW = "/dev/raw-image"  # in a pod
MISSING = sorted({package for name, package in PROGRAMS.items() if not shutil.which(name)})

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no Ceph: install {' '.join(MISSING)}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[CephCluster]:
    started = monotonic()
    running = CephCluster()
    running.start()
    print(f"a Ceph is up: {monotonic() - started:.1f} s")  # noqa: T201
    yield running
    running.stop()


@pytest.fixture
def ceph(cluster: CephCluster, pods: Pods) -> CephCluster:
    """The namespace knows its key."""
    pods.create({**a_secret("ceph", key=cluster.key), "type": "kubernetes.io/rbd"})
    return cluster


@pytest.fixture
def with_udev() -> Iterator[None]:
    with udev():
        yield


@pytest.fixture(params=[udev, nullcontext], ids=["with udev", "without udev"])
def with_and_without_udev(request: pytest.FixtureRequest) -> Iterator[None]:
    """`rbd map` waits for what it tells of the new device."""
    with request.param():
        yield


def an_image(name: str) -> Doc:
    access = {"monitors": [MONITOR], "user": "admin", "secretRef": {"name": "ceph"}}
    return {"name": "data", "rbd": access | {"pool": POOL, "image": name, "fsType": "ext4"}}


def a_raw_image(volume: str, image: str, namespace: str) -> list[Doc]:
    source = an_image(image)["rbd"] | {"secretRef": {"name": "ceph", "namespace": namespace}}
    persistent = a_volume(volume, rbd=source, volumeMode="Block")
    del persistent["spec"]["csi"]
    return [persistent, a_claim("c", volumeName=volume, volumeMode="Block")]


def files_of(path: str) -> Doc:
    access = {"monitors": [MONITOR], "user": "admin", "secretRef": {"name": "ceph"}}
    return {"name": "data", "cephfs": access | {"path": path}}


def a_user(name: str, volume: Doc) -> Doc:
    return a_script(name, volumes=[volume], container=mounting(data="/data"))


def mapped() -> list[str]:
    """The images that the kernel has."""
    return [path.read_text().strip() for path in Path("/sys/bus/rbd/devices").glob("*/name")]


@pytest.mark.usefixtures("with_and_without_udev")
def test_an_image_is_formatted_once_and_keeps_its_files(
    ceph: CephCluster, pods: Pods, unique: str, server: ServerWithNode
) -> None:
    image = ceph.add_image(unique)
    started = monotonic()
    pods.ready(a_user("first", an_image(image)))
    print(f"a pod on a new image: {monotonic() - started:.1f} s")  # noqa: T201
    pods.sh("first", "echo hello > /data/file; sync /data/file")
    assert mapped() == [image]
    pods.kubectl("delete", "pod", "first")
    eventually(lambda: mapped() == [], "it is unmapped")
    pods.ready(a_user("second", an_image(image)))
    assert pods.sh("second", "cat /data/file") == "hello"
    kept = sh(f"grep -rslF '{ceph.key}' {server.node_root}/plugins {server.node_root}/pods || true")
    assert kept == "", "its key is left on the disk"
    pods.kubectl("delete", "pod", "second")
    eventually(lambda: mapped() == [], "it is unmapped")


@pytest.mark.usefixtures("with_udev")
def test_a_node_that_was_killed_lets_a_raw_image_go(
    ceph: CephCluster, pods: Pods, unique: str, server: ServerWithNode
) -> None:
    image = ceph.add_image(unique)
    device: Doc = {"volumeDevices": [{"name": "data", "devicePath": RAW}]}
    writer = a_script("writer", volumes=[of_claim("data", "c")], container=device)
    pods.ready(*a_raw_image(unique, image, pods.kubectl.namespace), writer)
    pods.sh("writer", f"printf hello | dd of={RAW} conv=fsync,notrunc status=none")
    server.kill()
    server.start()
    eventually(lambda: pods.sh("writer", f"head -c 5 {RAW}") == "hello", "the pod goes on")
    pods.kubectl("delete", "pod", "writer")
    eventually(lambda: mapped() == [], "it is unmapped")
    assert sh(f"rbd export {POOL}/{image} - 2>/dev/null | tr -d '\\0'") == "hello"


@pytest.mark.usefixtures("with_udev")
def test_an_image_that_another_client_has_mapped_waits(
    ceph: CephCluster, pods: Pods, unique: str
) -> None:
    image = ceph.add_image(unique)
    # With options first: what is mapped by "rbd-nbd map" alone, the node takes for its own.
    other = sh(f"rbd-nbd --id admin map {POOL}/{image}")
    pods.create(a_user("patient", an_image(image)))
    pods.kubectl.event("patient", "FailedMount", "is still being used")
    assert mapped() == []
    sh(f"rbd-nbd unmap {other}")
    pods.kubectl("wait", "pod/patient", "--for=condition=Ready", "--timeout=280s")
    pods.kubectl("delete", "pod", "patient")
    eventually(lambda: mapped() == [], "it is unmapped")


@pytest.fixture
def without_fuse() -> Iterator[None]:
    hidden = FUSE_HELPER.with_suffix(".hidden")
    FUSE_HELPER.rename(hidden)
    yield
    hidden.rename(FUSE_HELPER)


def use_files(pods: Pods, server: ServerWithNode, fs_type: str) -> None:
    """Two pods share what one of them writes, before and after a restart of the node."""
    pods.ready(a_user("one", files_of("/")), a_user("two", files_of("/")))
    uid = pods.uid("one")
    found = [entry for entry in read_table().entries if uid in entry.at]
    assert fs_type in {entry.fs_type for entry in found}
    pods.sh("one", f"echo from-one > /data/{fs_type}; sync /data/{fs_type}")
    eventually(lambda: pods.sh("two", f"cat /data/{fs_type}") == "from-one", "the other has it")
    server.kill()
    server.start()
    assert pods.sh("two", f"cat /data/{fs_type}") == "from-one"
    pods.kubectl("delete", "pod", "one", "two")
    eventually(lambda: uid not in sh("cat /proc/mounts"), "it is unmounted")


@pytest.mark.usefixtures("ceph")
def test_files_by_ceph_fuse(pods: Pods, server: ServerWithNode) -> None:
    use_files(pods, server, "fuse.ceph-fuse")
    eventually(lambda: sh("pidof ceph-fuse || true") == "", "its processes have ended")


@pytest.mark.usefixtures("ceph", "without_fuse")
def test_files_by_the_kernel(pods: Pods, server: ServerWithNode) -> None:
    use_files(pods, server, "ceph")
