"""Claims on LVM: the bundled driver's logical volumes, from the first pod to their deletion."""

import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
import yaml

from mooring.model import quantity
from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_claim, a_snapshot
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.vm.inside.lvm_group import (
    GROUP,
    LvmDriver,
    lvs,
    make_group,
    make_shims,
)
from tests.vm.inside.programs import eventually, sh

GUIDE = Path(__file__).parents[3] / "docs" / "lvm.md"
CLASS = "mooring-lvm"
MIB = 1 << 20


def manifests(number: int) -> list[Doc]:
    """Those of the guide's block of this number."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return list(yaml.safe_load_all(blocks[number]))


@pytest.fixture(scope="module")
def lvm(server: ServerWithNode) -> Iterator[LvmDriver]:
    make_group()
    make_shims()
    sh(f"lvcreate -q -y -an -Zn -L 8M -n theirs {GROUP}")
    driver = LvmDriver(server, Path("/run/lvm-state"))
    driver.start()
    yield driver
    driver.stop()


@pytest.fixture
def group(lvm: LvmDriver, kubectl: Kubectl) -> Iterator[LvmDriver]:
    """The driver, introduced. Afterwards only somebody else's logical volume is left."""
    kubectl("apply", "-f-", given=manifests(0))
    yield lvm
    eventually(lambda: [row[0] for row in lvs()] == ["theirs"], f"all are removed: {lvm.log}", 300)


def a_user(name: str, claim: str) -> Doc:
    return a_script(name, volumes=[of_claim("data", claim)], container=mounting(data="/data"))


def a_copy(name: str, size: str, kind: str, source: str, group: str = "") -> Doc:
    wanted = {"kind": kind, "name": source} | ({"apiGroup": group} if group else {})
    return a_claim(name, size, storageClassName=CLASS, dataSource=wanted)


def grow(kubectl: Kubectl, claim: str, size: str) -> None:
    patch = f'{{"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}'
    kubectl("patch", "pvc", claim, "-p", patch)
    kubectl("wait", f"pvc/{claim}", f"--for=jsonpath={{.status.capacity.storage}}={size}", WITHIN)


def megabytes(pods: Pods, pod: str) -> int:
    return int(pods.sh(pod, "df -k /data | tail -1 | awk '{print $2}'")) // 1024


def capacities(kubectl: Kubectl) -> list[int]:
    told = kubectl.field(
        f'.items[?(@.storageClassName=="{CLASS}")].capacity', "csistoragecapacities", "-A"
    )
    return [int(quantity.parse(text).value) for text in told.split()]


def clear(kubectl: Kubectl) -> None:
    for kind in ("pod", "volumesnapshot", "pvc"):
        kubectl("delete", kind, "--all", WITHIN)


def test_the_life_of_a_logical_volume(group: LvmDriver, pods: Pods, kubectl: Kubectl) -> None:
    eventually(lambda: bool(capacities(kubectl)), "the capacity of the pool is told")
    before = capacities(kubectl)
    pods.create(a_claim("data", "64Mi", storageClassName=CLASS))
    assert kubectl.field(".status.phase", "pvc", "data") == "Pending"
    started = monotonic()
    pods.ready(a_user("writer", "data"))
    print(f"a pod on a new logical volume: {monotonic() - started:.1f} s")  # noqa: T201
    pods.sh("writer", "echo first > /data/file; sync /data/file")
    volume = kubectl.field(".spec.volumeName", "pvc", "data")
    handle = kubectl.field(".spec.csi.volumeHandle", "pv", volume)
    assert [handle, str(64 * MIB), "pool"] in lvs("lv_size", "pool_lv")
    assert kubectl("get", "volumeattachments", "-o", "name") == ""
    terms = kubectl.field(".spec.nodeAffinity.required.nodeSelectorTerms", "pv", volume)
    assert "topology.lvm.csi.mooring.dev/node" in terms
    eventually(lambda: capacities(kubectl)[0] <= before[0] - 64 * MIB, "there is less of it")

    started = monotonic()
    snapshot = a_snapshot("snap", "data")
    snapshot["spec"]["volumeSnapshotClassName"] = CLASS
    pods.create(snapshot)
    kubectl("wait", "volumesnapshot/snap", "--for=jsonpath={.status.readyToUse}=true", WITHIN)
    print(f"a snapshot of it in use: {monotonic() - started:.1f} s")  # noqa: T201
    pods.sh("writer", "echo second > /data/file; sync /data/file")
    snapshots = "snapshot.storage.k8s.io"
    restored = a_copy("restored", "96Mi", "VolumeSnapshot", "snap", snapshots)
    clone = a_copy("clone", "64Mi", "PersistentVolumeClaim", "data")
    pods.ready(restored, a_user("of-snapshot", "restored"), clone, a_user("of-clone", "clone"))
    assert pods.sh("of-snapshot", "cat /data/file") == "first"
    assert pods.sh("of-clone", "cat /data/file") == "second"
    assert megabytes(pods, "of-snapshot") > 80
    clear(kubectl)


@pytest.mark.parametrize(
    ("fs_type", "name", "size", "larger"),
    [
        ("ext4", CLASS, "64Mi", "128Mi"),
        ("xfs", CLASS, "320Mi", "512Mi"),
        ("ext4", "mooring-loop", "64Mi", "128Mi"),
    ],
    ids=["ext4 on LVM", "xfs on LVM", "ext4 on a loop device"],
)
def test_a_mounted_file_system_grows(  # noqa: PLR0917  fixtures and a case
    fs_type: str,
    name: str,
    size: str,
    larger: str,
    group: LvmDriver,
    pods: Pods,
    kubectl: Kubectl,
    unique: str,
) -> None:
    doc = kubectl.doc("sc", name)
    doc["metadata"] = {"name": unique}
    doc["parameters"] = {"csi.storage.k8s.io/fstype": fs_type}
    pods.create(doc, a_claim("data", size, storageClassName=unique))
    pods.ready(a_user("writer", "data"))
    assert pods.sh("writer", "stat -f -c %T /data").replace("ext2/ext3", "ext4") == fs_type
    uid, before = pods.uid("writer"), megabytes(pods, "writer")
    pods.sh("writer", "echo kept > /data/file")
    started = monotonic()
    grow(kubectl, "data", larger)
    print(f"{fs_type} of {name} grown: {monotonic() - started:.1f} s")  # noqa: T201
    assert megabytes(pods, "writer") > before * 1.4
    assert (pods.uid("writer"), pods.sh("writer", "cat /data/file")) == (uid, "kept")
    clear(kubectl)
    kubectl("delete", "sc", unique)


def test_a_raw_volume(group: LvmDriver, pods: Pods, kubectl: Kubectl) -> None:
    claim = a_claim("raw", "16Mi", storageClassName=CLASS, volumeMode="Block")
    devices = {"volumeDevices": [{"name": "data", "devicePath": "/dev/raw"}]}
    pods.ready(claim, a_script("writer", volumes=[of_claim("data", "raw")], container=devices))
    pods.sh("writer", "echo hello | dd of=/dev/raw conv=fsync 2>/dev/null")
    assert pods.sh("writer", "head -c 5 /dev/raw") == "hello"
    assert pods.sh("writer", "blockdev --getsize64 /dev/raw") == str(16 * MIB)
    clear(kubectl)


@pytest.mark.parametrize("moment", ["before-lvcreate", "after-lvcreate"])
def test_killed_while_it_makes_a_volume_it_makes_one(
    moment: str, group: LvmDriver, pods: Pods, kubectl: Kubectl
) -> None:
    group.kill_at(moment)
    pods.create(a_claim("data", "16Mi", storageClassName=CLASS), a_user("writer", "data"))
    group.await_kill()
    group.start()
    kubectl("wait", "pod/writer", "--for=condition=Ready", WITHIN)
    assert len(lvs()) == 2, lvs()
    clear(kubectl)


def test_killed_while_it_deletes_a_volume_nothing_is_left(
    group: LvmDriver, pods: Pods, kubectl: Kubectl
) -> None:
    pods.ready(a_claim("data", "16Mi", storageClassName=CLASS), a_user("writer", "data"))
    kubectl("delete", "pod", "writer", WITHIN)
    group.kill_at("before-lvremove")
    kubectl("delete", "pvc", "data", WITHIN)
    group.await_kill()
    group.start()
