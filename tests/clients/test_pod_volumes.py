"""What pods do with their volumes while they run, seen through a real kubectl and on the disk."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim, a_config_map
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import (
    STAYS,
    WITHIN,
    Pods,
    a_container,
    a_local_volume,
    a_script,
    mounting,
    of_claim,
)
from tests.fakes.waiting import until

SETTINGS: Doc = {"name": "settings", "configMap": {"name": "settings"}}


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


def test_a_claim_for_one_pod_makes_the_second_wait_until_the_first_is_gone(
    pods: Pods, unique: str, tmp_path: Path
) -> None:
    only: Doc = {"accessModes": ["ReadWriteOncePod"]}
    using: Doc = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    volume = a_local_volume(unique, str(tmp_path), **only)
    pods.ready(volume, a_claim(volumeName=unique, **only), a_script("first", **using))
    pods.create(a_script("second", **using))

    told = pods.kubectl.event("second", "FailedScheduling")

    assert (
        "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with "
        "ReadWriteOncePod access mode already in-use by another pod." in told
    )
    assert pods.table("NAME", "STATUS") == [("first", "Running"), ("second", "Pending")]

    pods.kubectl("delete", "pod", "first", WITHIN)
    pods.kubectl("wait", "pod/second", "--for=condition=Ready", WITHIN)


def test_two_pods_on_a_node_share_a_claim(pods: Pods, unique: str, tmp_path: Path) -> None:
    using: Doc = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    pods.ready(
        a_local_volume(unique, str(tmp_path)),
        a_claim(volumeName=unique),
        a_script("writer", **using),
        a_script("reader", **using),
    )
    pods.sh("writer", "echo hello >/data/letter")

    assert pods.sh("reader", "cat /data/letter") == "hello"
    pods.kubectl("delete", "pod", "writer", WITHIN)
    assert pods.sh("reader", "cat /data/letter") == "hello"
    assert (tmp_path / "letter").read_text() == "hello\n"


async def test_a_pod_that_is_deleted_while_its_volumes_are_missing_goes_at_once(
    pods: Pods, server: ServerWithNode
) -> None:
    scratch: Doc = {"name": "scratch", "emptyDir": {"medium": "Memory"}}
    pods.create(a_script("web", volumes=[scratch, SETTINGS], container=mounting(settings="/s")))
    told = pods.kubectl.event("web", "FailedMount")
    assert 'MountVolume.SetUp failed for volume "settings"' in told
    assert 'configmap "settings" not found' in told
    assert pods.table("STATUS") == [("ContainerCreating",)]
    uid = pods.uid("web")

    pods.kubectl("delete", "pod", "web", "--timeout=5s")

    assert not (server.node_root / "pods" / uid).exists()
    assert not any(server.containers.left(uid).values())


async def test_a_changed_config_map_reaches_a_running_container(pods: Pods) -> None:
    pod = a_script("web", volumes=[SETTINGS], container=mounting(settings="/settings"))
    pods.ready(a_config_map("settings", colour="blue"), pod)
    assert pods.sh("web", "cat /settings/colour") == "blue"

    pods.kubectl("patch", "configmap", "settings", "-p", '{"data":{"colour":"red"}}')

    await until(lambda: pods.sh("web", "cat /settings/colour") == "red")
    assert pods.status("web")["restartCount"] == 0


def test_a_pod_that_fills_more_than_its_limit_is_evicted(pods: Pods) -> None:
    limited: Doc = {"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}
    filling = f"head -c 2000000 /dev/zero >/scratch/big; {STAYS}"
    pods.create(a_script("big", filling, volumes=[limited], container=mounting(scratch="/scratch")))
    pods.kubectl("wait", "pod/big", "--for=jsonpath={.status.reason}=Evicted", "--timeout=18s")
    pods.becomes("big", ".containerStatuses[0].state.terminated.reason", "Completed")

    status = pods.kubectl.doc("pod", "big")["status"]
    assert status["phase"] == "Failed"
    assert status["message"] == 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '
    told = pods.kubectl.event("big", "Evicted")
    assert 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".' in told


def test_volumes_are_seen_as_the_mounts_of_a_container_say(pods: Pods, tmp_path: Path) -> None:
    host: Doc = {"name": "host", "hostPath": {"path": str(tmp_path)}}
    scratch: Doc = {"name": "scratch", "emptyDir": {}}
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("inner file\n")
    mounts: list[Doc] = [
        {"name": "host", "mountPath": "/part", "subPath": "inner"},
        {"name": "host", "mountPath": "/one/file", "subPath": "inner/file"},
        {"name": "host", "mountPath": "/named", "subPathExpr": "for-$(POD)"},
        {"name": "host", "mountPath": "/fixed", "readOnly": True},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    name = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    user = {"runAsUser": 1234}
    seer = a_container("main", STAYS, volumeMounts=mounts, env=[name])
    guest = a_container("guest", STAYS, volumeMounts=mounts[-1:], securityContext=user)
    group = {"fsGroup": 3456}
    pods.ready(
        a_script("web", containers=[seer, guest], volumes=[host, scratch], securityContext=group)
    )

    assert pods.sh("web", "cat /part/file /one/file") == "inner file\ninner file"
    pods.sh("web", "echo named >/named/mark")
    assert (tmp_path / "for-web" / "mark").read_text() == "named\n"
    refusal = pods.kubectl.refused("exec", "web", "-c", "main", "--", "touch", "/fixed/mark")
    assert "Read-only file system" in refusal
    guest_writes = ("exec", "web", "-c", "guest", "--", "sh", "-c", "echo mine >/scratch/mark")
    pods.kubectl(*guest_writes)
    assert pods.sh("web", "stat -c %u:%g /scratch/mark; stat -c %a:%g /scratch") == (
        "1234:3456\n2777:3456"
    )


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device, and its backing file beside it."""
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    with (tmp_path / "disk.img").open("wb") as file:
        file.truncate(8 << 20)
    made = ["losetup", "--find", "--show", file.name]
    ran = subprocess.run(made, capture_output=True, text=True, check=True)  # noqa: S603
    path = ran.stdout.strip()
    yield Path(path)
    subprocess.run(["losetup", "--detach", path], check=False)  # noqa: S603, S607


def test_a_block_device_is_a_device_in_the_container(pods: Pods, unique: str, device: Path) -> None:
    block: Doc = {"volumeMode": "Block"}
    using: Doc = {"volumeDevices": [{"name": "disk", "devicePath": "/dev/disk"}]}
    pods.ready(
        a_local_volume(unique, str(device), **block),
        a_claim(volumeName=unique, **block),
        a_script("web", volumes=[of_claim("disk", "data")], container=using),
    )

    assert pods.sh("web", "stat -c %F /dev/disk") == "block special file"
    pods.sh("web", "printf hello | dd of=/dev/disk conv=fsync status=none")

    with device.open("rb") as opened:
        assert opened.read(5) == b"hello"
    pods.kubectl("delete", "pod", "web", WITHIN)


def test_pods_on_other_nodes_are_left_alone(pods: Pods) -> None:
    pods.create(a_script("elsewhere", nodeName="elsewhere"), a_script("here", nodeName=NODE))
    pods.kubectl("wait", "pod/here", "--for=condition=Ready", WITHIN)
    assert pods.table("NAME", "STATUS") == [("elsewhere", "Pending"), ("here", "Running")]
