"""A local disk for a pod, typed as tutorials have it: from bare directories to a file on the host.

The manifests are in `examples/local-storage`. The image that they ask for is not here: the pod runs
on the host's root, and sleeps.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import server_with_node
from tests.clients.tables import read_tables
from tests.clients.terminal import in_terminal
from tests.fakes.real_server import RealServer

EXAMPLES = Path(__file__).parents[2] / "examples" / "local-storage"
DISKS = Path("/mnt/disks")
MAKE = """
mkdir /mnt/disks
for vol in vol1 vol2 vol3; do
    mkdir /mnt/disks/$vol
    mount -t tmpfs $vol /mnt/disks/$vol
done
"""
VOLUME = ("NAME", "CAPACITY", "ACCESS MODES", "RECLAIM POLICY", "STATUS", "CLAIM", "STORAGECLASS")
CLAIM = ("NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS")


@pytest.fixture
def disks(needs_runtime: None) -> Iterator[Path]:
    """/mnt/disks, which goes again."""
    if DISKS.exists():
        pytest.skip(f"{DISKS} exists already on this machine")
    try:
        subprocess.run(["sh", "-ec", MAKE], check=True)  # noqa: S603, S607  as it is typed
        yield DISKS
    finally:
        for disk in DISKS.iterdir():
            subprocess.run(["umount", str(disk)], check=False)  # noqa: S603, S607  as it is typed
            disk.rmdir()
        DISKS.rmdir()


@pytest.fixture
def server(needs_runtime: None, tmp_path: Path) -> Iterator[RealServer]:
    with server_with_node(tmp_path / "data", "--node-name", "node1") as running:
        yield running


def get(kubectl: Kubectl, what: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(row[column] for column in columns) for row in read_tables(kubectl("get", what))]


def test_a_local_disk_is_chosen_when_there_is_a_pod_and_keeps_what_is_written(
    disks: Path, kubectl: Kubectl
) -> None:
    typed = kubectl.in_namespace("default")
    create = ("create", "-f")
    assert typed(*create, str(EXAMPLES / "volume.yaml")) == "persistentvolume/example-pv created"
    typed("wait", "pv/example-pv", "--for=jsonpath={.status.phase}=Available", "--timeout=15s")
    assert get(typed, "pv", VOLUME) == [
        ("example-pv", "512Mi", "RWO", "Delete", "Available", "", "local-storage")
    ]
    said = typed(*create, str(EXAMPLES / "class.yaml"))
    assert said == "storageclass.storage.k8s.io/local-storage created"
    said = typed(*create, str(EXAMPLES / "claim.yaml"))
    assert said == "persistentvolumeclaim/example-local-claim created"
    told = typed.event("example-local-claim", "WaitForFirstConsumer")
    assert "waiting for first consumer to be created before binding" in told
    assert get(typed, "pvc", CLAIM) == [
        ("example-local-claim", "Pending", "", "", "", "local-storage")
    ]

    assert typed(*create, str(EXAMPLES / "pod.yaml")) == "pod/example-pv-pod created"
    typed("wait", "pod/example-pv-pod", "--for=condition=Ready", "--timeout=15s")
    assert get(typed, "pvc", CLAIM) == [
        ("example-local-claim", "Bound", "example-pv", "512Mi", "RWO", "local-storage")
    ]
    told = typed.event("example-pv-pod", "Scheduled")
    assert "Successfully assigned default/example-pv-pod to node1" in told
    told = typed.event("example-pv-pod", "HostRootFilesystem")
    assert 'Image "nginx" is not on this machine' in told

    with in_terminal(typed, "exec", "-it", "example-pv-pod", "--", "/bin/sh") as terminal:
        terminal.wait_for("# ")
        terminal.type("cd /usr/share/nginx/html\n")
        terminal.wait_for("# ")
        terminal.type("touch test.txt\n")
        terminal.wait_for("# ")
        assert os.listdir(disks / "vol1") == ["test.txt"]
        terminal.type("exit\n")
        assert terminal.ends() == 0

    typed("delete", "pvc", "example-local-claim", "--wait=false")
    typed.event("example-local-claim", "DeletionBlocked")
    assert get(typed, "pvc", ("NAME", "STATUS")) == [("example-local-claim", "Terminating")]
    typed("delete", "pod", "example-pv-pod", "--timeout=15s")
    typed("wait", "pvc/example-local-claim", "--for=delete", "--timeout=15s")
    assert os.listdir(disks / "vol1") == ["test.txt"]
