"""The life of volumes of real drivers, from claims to nothing, by kubectl and manifests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.mountinfo import canonical, read_table
from mooring.oci.probe import NoRuntime, probe
from tests.clients.csi import a_class_of, a_reader, bare_claim, need_loop_devices
from tests.clients.manifests import STORAGE, Doc
from tests.clients.nodes import NODE
from tests.clients.pods import STAYS, WITHIN, Pods, a_script, mounting, of_claim
from tests.conformance.csi.clusters import (
    Cluster,
    Start,
    in_one_process,
    in_processes_apart,
    on_kubernetes,
)
from tests.conformance.csi.drivers import BUNDLED, HOST_PATH, Peer
from tests.conformance.obtain import Missing
from tests.conformance.peers import Find
from tests.fakes.waiting import until

CLUSTERS: dict[str, tuple[Start, Peer]] = {
    "csi-driver-host-path on mooring up": (in_one_process, HOST_PATH),
    "csi-driver-host-path on mooring, each role alone": (in_processes_apart, HOST_PATH),
    "csi-driver-host-path on kube-apiserver": (on_kubernetes, HOST_PATH),
    "the bundled driver on mooring, each role alone": (in_processes_apart, BUNDLED),
    "the bundled driver on kube-apiserver": (on_kubernetes, BUNDLED),
}
LIFE = [
    "CreateVolume",
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
    "ControllerUnpublishVolume",
    "DeleteVolume",
]
BOUND = "--for=jsonpath={.status.phase}=Bound"


@pytest.fixture(scope="module", params=CLUSTERS.values(), ids=list(CLUSTERS))
def cluster(
    request: pytest.FixtureRequest, find: Find, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    need_loop_devices()
    start, peer = request.param
    home = tmp_path_factory.mktemp("home")
    try:
        with start(find, peer, home) as running:
            wait_for_driver(running)
            running.kubectl("create", "-f-", given=a_class_of(running.driver.name, "chosen"))
            yield running
    except Missing as reason:
        pytest.skip(str(reason))


def wait_for_driver(cluster: Cluster) -> None:
    """Until the node has told of it."""
    cluster.kubectl("wait", "--for=create", f"csinode/{NODE}", WITHIN)
    names = 'jsonpath={.spec.drivers[*].name}{"\\n"}'
    with cluster.kubectl.running("get", "csinode", NODE, "-w", "-o", names) as watching:
        watching.line(cluster.driver.name)


@pytest.fixture
async def pods(cluster: Cluster) -> Pods:
    probed = await probe()
    if isinstance(probed, NoRuntime):
        pytest.skip(probed.reason)
    return Pods(cluster.kubectl)


def mounts(cluster: Cluster, word: str) -> list[str]:
    """Below the node's root, with `word` somewhere in their paths."""
    return [each.at for each in read_table().below(canonical(cluster.node_root)) if word in each.at]


def staged(cluster: Cluster) -> list[Path]:
    """What the node remembers of volumes that are staged; a driver need not mount anything then."""
    return list((cluster.node_root / "plugins/kubernetes.io/csi").glob("*/*/vol_data.json"))


def attachments(pods: Pods, volume: str) -> list[Doc]:
    found = pods.kubectl.doc("volumeattachments")["items"]
    return [each for each in found if each["spec"]["source"]["persistentVolumeName"] == volume]


def shown(cluster: Cluster, pods: Pods, pod: str, volume: str) -> Path:
    """Where the volume's files are shown to the pod."""
    place = cluster.node_root / "pods" / pods.uid(pod) / "volumes" / "kubernetes.io~csi"
    return place / volume / "mount"


def forget(pods: Pods, claim: str, volume: str) -> None:
    pods.kubectl("delete", "pvc", claim, WITHIN)
    pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)


async def test_a_volume_from_its_claim_to_its_end(cluster: Cluster, pods: Pods) -> None:
    kubectl, driver = cluster.kubectl, cluster.driver
    before = len(driver.calls() or ())
    pods.create(bare_claim("data", storageClassName="chosen"))
    kubectl("wait", "pvc/data", BOUND, WITHIN)
    volume = kubectl.field(".spec.volumeName", "pvc", "data")
    handle = kubectl.field(".spec.csi.volumeHandle", "pv", volume)
    assert driver.volumes() == [handle]
    starts = f"echo start >>/data/starts; {STAYS}"
    writer = a_reader("writer", "data", script=starts, nodeName=NODE)
    pods.ready(writer)
    (attachment,) = attachments(pods, volume)
    assert attachment["spec"]["attacher"] == driver.name
    assert attachment["status"]["attached"] is True
    listed = kubectl.doc("node", NODE)["status"]["volumesAttached"]
    assert [each["name"] for each in listed] == [f"kubernetes.io/csi/{driver.name}^{handle}"]
    file = shown(cluster, pods, "writer", volume) / "starts"
    await until(lambda: file.exists() and file.read_text() == "start\n")
    assert len(staged(cluster)) == 1

    kubectl("delete", "pod", "writer", WITHIN)

    await until(lambda: attachments(pods, volume) == [])
    assert not [*mounts(cluster, volume), *staged(cluster)]
    assert kubectl.doc("node", NODE)["status"].get("volumesAttached", []) == []

    pods.ready(writer)
    again = shown(cluster, pods, "writer", volume) / "starts"
    await until(lambda: again.read_text() == "start\nstart\n")
    kubectl("delete", "pod", "writer", WITHIN)
    forget(pods, "data", volume)
    assert driver.volumes() == []
    told = driver.calls()
    if told is not None:
        assert told[before:] == [*LIFE[:-1], *LIFE[1:]]


async def test_a_volume_as_a_device(cluster: Cluster, pods: Pods) -> None:
    device: Doc = {"volumeDevices": [{"name": "disk", "devicePath": "/dev/disk"}]}
    using: Doc = {"volumes": [of_claim("disk", "raw")], "container": device, "nodeName": NODE}
    writes = f"printf hello | dd of=/dev/disk conv=fsync status=none; {STAYS}"
    reads = "test hello = $(head -c 5 /dev/disk)"
    claim = bare_claim("raw", volumeMode="Block", storageClassName="chosen")
    pods.create(claim)
    pods.kubectl("wait", "pvc/raw", BOUND, WITHIN)
    pods.ready(a_script("writer", writes, **using))
    pods.kubectl("delete", "pod", "writer", WITHIN)

    pods.create(a_script("reader", reads, restartPolicy="Never", **using))

    pods.ends("reader")
    volume = pods.kubectl.field(".spec.volumeName", "pvc", "raw")
    pods.kubectl("delete", "pod", "reader", WITHIN)
    forget(pods, "raw", volume)
    assert cluster.driver.volumes() == []
    assert mounts(cluster, volume) == []


async def test_a_volume_that_lives_and_dies_with_its_pod(cluster: Cluster, pods: Pods) -> None:
    driver = cluster.driver
    modes: Doc = {"volumeLifecycleModes": ["Persistent", "Ephemeral"], "podInfoOnMount": True}
    about: Doc = {"apiVersion": STORAGE, "kind": "CSIDriver", "metadata": {"name": driver.name}}
    pods.kubectl("apply", "-f-", given=about | {"spec": modes})
    scratch: Doc = {"name": "scratch", "csi": {"driver": driver.name}}
    web = a_script("web", volumes=[scratch], container=mounting(scratch="/s"), nodeName=NODE)
    before = len(driver.calls() or ())

    pods.ready(web)

    (published,) = mounts(cluster, "kubernetes.io~csi/scratch")
    assert Path(published).name == "mount"
    assert len(driver.volumes()) == 1
    pods.kubectl("delete", "pod", "web", WITHIN)
    assert driver.volumes() == []
    told = driver.calls()
    if told is not None:
        assert told[before:] == ["NodePublishVolume", "NodeUnpublishVolume"]
