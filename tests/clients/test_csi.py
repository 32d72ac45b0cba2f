"""Claims on CSI drivers, on `mooring up` with a real kubectl: the bundled driver, and another's."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from mooring.driver.settings import NAME
from tests.clients.csi import (
    OnDisk,
    a_class_of,
    a_reader,
    bare_claim,
    driver_process,
    need_loop_devices,
    registrar_process,
    server_with_driver,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import STORAGE, Doc
from tests.clients.nodes import NODE, PodDirectory, ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, of_claim
from tests.clients.tables import read_tables
from tests.fakes.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples" / "csi"
OTHER = "fake.csi.mooring.dev"
BOUND = "--for=jsonpath={.status.phase}=Bound"
GROWN = "--for=jsonpath={.status.capacity.storage}=2Gi"


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture
def disk(server: ServerWithNode) -> OnDisk:
    return OnDisk(server.data_dir)


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    wait_for_class(kubectl)
    return Pods(kubectl)


def wait_for_class(kubectl: Kubectl) -> None:
    """It comes a moment after the API."""
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)


def volume_of(pods: Pods, claim: str) -> str:
    return pods.kubectl.field(".spec.volumeName", "pvc", claim)


def handle_of(pods: Pods, volume: str) -> str:
    """The driver's own name for it."""
    return pods.kubectl.field(".spec.csi.volumeHandle", "pv", volume)


def attached(pods: Pods) -> list[str]:
    """Volumes that attachments are about, whatever has become of these."""
    path = ".items[*].spec.source.persistentVolumeName"
    return pods.kubectl.field(path, "volumeattachments").split()


async def let_go(pods: Pods, disk: OnDisk, claim: str) -> None:
    """Delete it, and see that all of its volume goes with it."""
    volume = volume_of(pods, claim)
    handle = handle_of(pods, volume)
    pods.kubectl("delete", "pvc", claim, WITHIN)
    pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)
    assert handle not in disk.volumes()
    await until(lambda: disk.unfinished() == [])
    assert [at for at in (*disk.published(), *disk.staged()) if volume in at] == []
    assert not [file for file in disk.backings() if handle in file]


async def test_what_a_pod_wrote_to_a_bare_claim_is_there_for_the_next_pod(
    pods: Pods, disk: OnDisk
) -> None:
    pods.kubectl("create", "-f", str(EXAMPLES / "claim-and-pod.yaml"))
    pods.kubectl("wait", "pvc/notes", BOUND, WITHIN)
    pods.kubectl("wait", "pod/notebook", "--for=condition=Ready", WITHIN)
    assert pods.kubectl.field(".spec.storageClassName", "pvc", "notes") == CLASS
    pods.sh("notebook", "echo hello >/notes/letter; stat -f -c %T /notes")
    pods.kubectl("delete", "pod", "notebook", "--grace-period=1", WITHIN)
    volume = volume_of(pods, "notes")
    await until(lambda: volume not in attached(pods))

    pods.ready(a_reader("next", "notes"))

    assert pods.sh("next", "cat /data/letter") == "hello"
    pods.kubectl("delete", "pod", "next", WITHIN)
    await let_go(pods, disk, "notes")


async def test_a_block_claim_is_a_device_that_keeps_what_was_written(
    pods: Pods, disk: OnDisk
) -> None:
    device: Doc = {"volumeDevices": [{"name": "disk", "devicePath": "/dev/disk"}]}
    using: Doc = {"volumes": [of_claim("disk", "raw")], "container": device}
    pods.ready(bare_claim("raw", "8Mi", volumeMode="Block"), a_script("writer", **using))
    assert pods.sh("writer", "stat -c %F /dev/disk") == "block special file"
    pods.sh("writer", "printf hello | dd of=/dev/disk conv=fsync status=none")
    pods.kubectl("delete", "pod", "writer", WITHIN)

    pods.ready(a_script("reader", **using))

    assert pods.sh("reader", "head -c 5 /dev/disk") == "hello"
    assert pods.sh("reader", "blockdev --getsize64 /dev/disk") == str(8 << 20)
    pods.kubectl("delete", "pod", "reader", WITHIN)
    await let_go(pods, disk, "raw")


async def test_two_pods_of_a_node_share_a_volume_for_one_node(pods: Pods, disk: OnDisk) -> None:
    pods.ready(bare_claim("data"), a_reader("first", "data"), a_reader("second", "data"))
    volume = volume_of(pods, "data")
    pods.sh("first", "echo hello >/data/letter")
    assert pods.sh("second", "cat /data/letter") == "hello"
    assert sum(volume in at for at in disk.published()) == 2
    assert sum(handle_of(pods, volume) in file for file in disk.backings()) == 1

    pods.kubectl("delete", "pod", "first", WITHIN)

    assert pods.sh("second", "cat /data/letter; echo more >>/data/letter") == "hello"
    assert sum(volume in at for at in disk.published()) == 1
    pods.kubectl("delete", "pod", "second", WITHIN)
    await let_go(pods, disk, "data")


async def test_a_group_of_the_pod_owns_the_files(pods: Pods, disk: OnDisk) -> None:
    group: Doc = {"fsGroup": 3456, "runAsUser": 1234, "runAsGroup": 1234}
    pods.ready(bare_claim("data"), a_reader("web", "data", securityContext=group))

    pods.sh("web", "echo mine >/data/letter")

    seen = pods.sh("web", "stat -c %g:%a /data; stat -c %u:%g /data/letter")
    assert seen == "3456:2775\n1234:3456"
    pods.kubectl("delete", "pod", "web", WITHIN)
    await let_go(pods, disk, "data")


async def test_a_published_volume_outlives_mooring_and_is_taken_away_by_the_next_one(
    pods: Pods, disk: OnDisk, server: ServerWithNode
) -> None:
    pods.ready(bare_claim("data"), a_reader("web", "data"))
    pods.sh("web", "echo hello >/data/letter")
    volume = volume_of(pods, "data")
    shown = PodDirectory(disk.node, pods.uid("web")).mounts()
    staged = {at: id for at, id in disk.staged().items() if handle_of(pods, volume) in at}
    started = pods.status("web")["state"]

    server.kill()
    server.start()

    reading = ("exec", "web", "--", "cat", "/data/letter")
    await until(lambda: pods.kubectl.run(*reading).out == "hello\n")
    assert PodDirectory(disk.node, pods.uid("web")).mounts() == shown
    assert staged.items() <= disk.staged().items()
    assert pods.status("web")["state"] == started
    pods.ready(a_reader("later", "data"))
    assert pods.sh("later", "cat /data/letter") == "hello"
    pods.kubectl("delete", "pod", "web", "later", WITHIN)
    await let_go(pods, disk, "data")


def wait_for_drivers(pods: Pods, count: int) -> None:
    """So many drivers have registered with the node."""
    with pods.kubectl.running("get", "csinode", NODE, "-w", "--no-headers") as watching:
        watching.line_where(lambda line: line.split()[1:2] == [str(count)], f"{count} drivers")


async def test_another_driver_registers_serves_is_killed_comes_back_and_goes(
    pods: Pods, disk: OnDisk, unique: str
) -> None:
    """Three lines add it: start it, offer it, make a class."""
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    wait_for_drivers(pods, 1)
    with ExitStack() as offered:
        with driver_process(socket, "NodePublishVolume") as driver:
            offered.enter_context(registrar_process(socket, disk.registrations))
            pods.create(a_class_of(OTHER, unique))
            wait_for_drivers(pods, 2)
            pods.create(bare_claim("data", storageClassName=unique), a_reader("web", "data"))
            pods.kubectl("wait", "pvc/data", BOUND, WITHIN)
            volume = volume_of(pods, "data")
            place = disk.node / "pods" / pods.uid("web") / "volumes/kubernetes.io~csi" / volume
            await until((place / "vol_data.json").exists)
            assert pods.table("NAME", "STATUS") == [("web", "ContainerCreating")]
            driver.kill()
        with driver_process(socket):
            pods.kubectl("wait", "pod/web", "--for=condition=Ready", WITHIN)
            described = pods.kubectl("describe", "pv", volume)
            assert ["Driver:", OTHER] in [line.split() for line in described.splitlines()]
            pods.kubectl("delete", "pod", "web", WITHIN)
            pods.kubectl("delete", "pvc", "data", WITHIN)
            pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)
            offered.close()
            wait_for_drivers(pods, 1)
    pods.kubectl("delete", "sc", unique)


async def test_another_driver_serves_the_next_mooring_without_being_touched(
    pods: Pods, disk: OnDisk, server: ServerWithNode, unique: str
) -> None:
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    with driver_process(socket), registrar_process(socket, disk.registrations):
        wait_for_drivers(pods, 2)
        pods.create(a_class_of(OTHER, unique))
        pods.ready(bare_claim("data", storageClassName=unique), a_reader("web", "data"))
        volume = volume_of(pods, "data")

        server.kill()
        server.start()

        pods.ready(bare_claim("more", storageClassName=unique), a_reader("later", "more"))
        pods.kubectl("delete", "pod", "web", "later", WITHIN)
        pods.kubectl("delete", "pvc", "data", "more", WITHIN)
        pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)
    wait_for_drivers(pods, 1)
    pods.kubectl("delete", "sc", unique)


def test_the_driver_is_told_of_by_its_objects(pods: Pods) -> None:
    wait_for_drivers(pods, 1)
    node, driver = read_tables(pods.kubectl("get", "csinode,csidriver"))
    assert (node["NAME"], node["DRIVERS"]) == (f"csinode.storage.k8s.io/{NODE}", "1")
    assert driver["NAME"] == f"csidriver.storage.k8s.io/{NAME}"
    told = ("ATTACHREQUIRED", "PODINFOONMOUNT", "STORAGECAPACITY", "MODES")
    assert [driver[column] for column in told] == ["true", "true", "true", "Persistent,Ephemeral"]
    (entry,) = pods.kubectl.doc("csinode", NODE)["spec"]["drivers"]
    assert entry["name"] == NAME
    assert entry["nodeID"] == NODE
    assert entry["topologyKeys"] == [f"topology.{NAME}/node"]
    labels = pods.kubectl.doc("node", NODE)["metadata"]["labels"]
    assert labels[f"topology.{NAME}/node"] == NODE


def test_a_default_class_that_somebody_deleted_does_not_come_back(kubectl: Kubectl) -> None:
    need_loop_devices()
    with server_with_driver() as server:
        own = kubectl.as_user(server.kubeconfig).in_namespace("default")
        wait_for_class(own)
        own("delete", "sc", CLASS)
        server.stop()
        server.start()
        wait_for_drivers(Pods(own), 1)
        own("create", "-f-", given=bare_claim("data"))

        own.event("data", "FailedBinding")

        assert own("get", "sc", "-o", "name") == ""
        assert own("get", "csidriver", "-o", "name") == f"csidriver.storage.k8s.io/{NAME}"


def grow(pods: Pods, claim: str, size: str) -> None:
    asked = {"spec": {"resources": {"requests": {"storage": size}}}}
    pods.kubectl("patch", "pvc", claim, "-p", json.dumps(asked))


def size_seen(pods: Pods, pod: str) -> int:
    """MiB, as `df` has it inside the pod."""
    return int(pods.sh(pod, "df -m /data | awk 'NR == 2 { print $2 }'"))


@pytest.mark.parametrize("fs_type", ["xfs", "btrfs"])
async def test_the_claim_of_a_running_pod_grows_and_the_pod_sees_it(
    pods: Pods, disk: OnDisk, unique: str, fs_type: str
) -> None:
    growing = a_class_of(NAME, unique) | {"allowVolumeExpansion": True}
    pods.create(growing | {"parameters": {"csi.storage.k8s.io/fstype": fs_type}})
    pods.ready(bare_claim("data", "1Gi", storageClassName=unique), a_reader("web", "data"))
    pods.sh("web", "echo hello >/data/letter")
    before = size_seen(pods, "web")
    assert before <= 1024

    grow(pods, "data", "2Gi")

    pods.kubectl("wait", "pvc/data", GROWN, WITHIN)
    assert size_seen(pods, "web") > before + 900
    assert pods.sh("web", "cat /data/letter") == "hello"
    status = json.loads(pods.kubectl("get", "pvc", "data", "-o", "json"))["status"]
    assert [each["type"] for each in status["conditions"]] == ["Unused"], "no growth goes on"
    assert "allocatedResourceStatuses" not in status
    told = {line.split()[2] for line in _events(pods, "data")}
    assert told >= {"Resizing", "FileSystemResizeRequired", "FileSystemResizeSuccessful"}
    assert "VolumeResizeFailed" not in told
    pods.kubectl("delete", "pod", "web", WITHIN)
    await let_go(pods, disk, "data")


async def test_a_claim_of_the_default_class_has_grown_for_the_next_pod_at_the_latest(
    pods: Pods, disk: OnDisk
) -> None:
    """ext4 grows under a pod only where root has CAP_SYS_RESOURCE."""
    pods.ready(bare_claim("data", "1Gi"), a_reader("web", "data"))
    pods.sh("web", "echo hello >/data/letter")
    grow(pods, "data", "2Gi")
    volume = volume_of(pods, "data")
    pods.kubectl("wait", f"pv/{volume}", "--for=jsonpath={.spec.capacity.storage}=2Gi", WITHIN)
    pods.kubectl("delete", "pod", "web", WITHIN)

    pods.ready(a_reader("next", "data"))

    pods.kubectl("wait", "pvc/data", GROWN, WITHIN)
    assert size_seen(pods, "next") > 1900
    assert pods.sh("next", "cat /data/letter") == "hello"
    pods.kubectl("delete", "pod", "next", WITHIN)
    await let_go(pods, disk, "data")


def _events(pods: Pods, claim: str) -> list[str]:
    chosen = f"involvedObject.kind=PersistentVolumeClaim,involvedObject.name={claim}"
    listed = pods.kubectl("get", "events", "--field-selector", chosen, "--no-headers")
    return listed.splitlines()


async def test_a_block_claim_grows_under_its_pod(pods: Pods, disk: OnDisk) -> None:
    device: Doc = {"volumeDevices": [{"name": "disk", "devicePath": "/dev/disk"}]}
    using: Doc = {"volumes": [of_claim("disk", "raw")], "container": device}
    pods.ready(bare_claim("raw", "8Mi", volumeMode="Block"), a_script("writer", **using))

    grow(pods, "raw", "16Mi")

    pods.kubectl("wait", "pvc/raw", "--for=jsonpath={.status.capacity.storage}=16Mi", WITHIN)
    told = "blockdev --getsize64 /dev/disk"
    await until(lambda: pods.sh("writer", told) == str(16 << 20))
    pods.kubectl("delete", "pod", "writer", WITHIN)
    await let_go(pods, disk, "raw")


async def test_a_claim_changes_its_attributes_class_on_another_driver(
    pods: Pods, disk: OnDisk, unique: str
) -> None:
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    slow, fast = f"{unique}-slow", f"{unique}-fast"
    with driver_process(socket), registrar_process(socket, disk.registrations):
        wait_for_drivers(pods, 2)
        pods.create(a_class_of(OTHER, unique), *(attributes(name) for name in (slow, fast)))
        asked: Doc = {"storageClassName": unique, "volumeAttributesClassName": slow}
        pods.create(bare_claim("data", **asked))
        pods.kubectl("wait", "pvc/data", BOUND, WITHIN)
        current = ".status.currentVolumeAttributesClassName"
        assert pods.kubectl.field(current, "pvc", "data") == slow

        pods.kubectl("patch", "pvc", "data", "-p", _asking(fast))

        pods.kubectl("wait", "pvc/data", f"--for=jsonpath={{{current}}}={fast}", WITHIN)
        volume = volume_of(pods, "data")
        assert pods.kubectl.field(".spec.volumeAttributesClassName", "pv", volume) == fast
        reasons = {line.split()[2] for line in _events(pods, "data")}
        assert reasons >= {"VolumeModify", "VolumeModifySuccessful"}
        pods.kubectl("patch", "pvc", "data", "-p", _asking(f"{unique}-none"))
        state = "{.status.modifyVolumeStatus.status}=Pending"
        pods.kubectl("wait", "pvc/data", f"--for=jsonpath={state}", WITHIN)
        pods.create(attributes(f"{unique}-none"))
        pods.kubectl("wait", "pvc/data", f"--for=jsonpath={{{current}}}={unique}-none", WITHIN)
        pods.kubectl("delete", "pvc", "data", WITHIN)
        pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)


def attributes(name: str) -> Doc:
    return {
        "apiVersion": STORAGE,
        "kind": "VolumeAttributesClass",
        "metadata": {"name": name},
        "driverName": OTHER,
        "parameters": {"tier": name},
    }


def _asking(name: str) -> str:
    return json.dumps({"spec": {"volumeAttributesClassName": name}})
