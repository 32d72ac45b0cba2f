"""CSI migration with a real kubectl: in-tree volumes are volumes of their CSI driver.

The manifests are those in `examples` that tutorials for Kubernetes show: `gcePersistentDisk`, and a
class of `kubernetes.io/gce-pd`. The bundled driver stands in for the cloud's, with disks that
somebody has made there.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.csi import (
    OnDisk,
    bundled_process,
    registrar_process,
    server_with_driver,
    short_directory,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.fakes.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples"
DRIVER = "pd.csi.storage.gke.io"
PLUGIN = "kubernetes.io/gce-pd"
BOUND = "--for=jsonpath={.status.phase}=Bound"
HANDLE = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"


class Cloud:
    """The driver's state, as its users cannot see it."""

    def __init__(self, state: Path) -> None:
        self._volumes = state / "volumes"

    def disks(self) -> set[str]:
        records = (json.loads(file.read_text()) for file in self._volumes.glob("*/record.json"))
        return {record["name"] for record in records}


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture(scope="module")
def cloud(server: ServerWithNode) -> Iterator[Cloud]:
    """Offered to the node by a registrar, as every driver is."""
    node = OnDisk(server.data_dir)
    socket = node.node / "plugins" / DRIVER / "csi.sock"
    disks = ("--disk", "mongodb-disk=64Mi", "--disk", "inline=64Mi")
    with (
        short_directory() as state,
        bundled_process(socket, NODE, state / "s", "--stand-in-for", DRIVER, *disks, name=DRIVER),
        registrar_process(socket, node.registrations),
    ):
        yield Cloud(state / "s")


@pytest.fixture
def pods(kubectl: Kubectl, cloud: Cloud) -> Pods:
    named = f"{{.spec.drivers[?(@.name=='{DRIVER}')].nodeID}}"
    kubectl("wait", f"csinode/{NODE}", f"--for=jsonpath={named}={NODE}", WITHIN)
    return Pods(kubectl)


def example(name: str) -> list[Doc]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def attachment_of(kubectl: Kubectl) -> Doc:
    found = kubectl.doc("volumeattachments")["items"]
    (ours,) = [each for each in found if each["spec"]["attacher"] == DRIVER]
    return dict(ours)


async def test_a_gce_disk_made_by_hand_is_mounted_through_its_driver(pods: Pods) -> None:
    """Volume, claim and pod as tutorials have them; the image is one that this machine has."""
    kubectl = pods.kubectl
    volume, claim = example("mongodb/volume.yaml") + example("mongodb/claim.yaml")
    assert volume["spec"]["gcePersistentDisk"] == {"pdName": "mongodb-disk", "fsType": "ext4"}
    (pod,) = example("mongodb/pod.yaml")
    container = mounting(data="/data/db")
    pods.create(volume, claim)
    kubectl("wait", "pvc/mongodb-pvc", BOUND, WITHIN)
    pods.ready(a_script("mongodb", volumes=pod["spec"]["volumes"], container=container))
    pods.sh("mongodb", "echo hello >/data/db/letter && sync")
    assert pods.sh("mongodb", "findmnt -n -o FSTYPE /data/db").strip() == "ext4"
    attached = attachment_of(kubectl)
    assert attached["spec"]["source"] == {"persistentVolumeName": "mongodb-pv"}
    listed = kubectl.field(".status.volumesAttached", "node", NODE)
    assert f"kubernetes.io/csi/{DRIVER}^{HANDLE}mongodb-disk" in listed
    assert "gcePersistentDisk" in kubectl.doc("pv", "mongodb-pv")["spec"]

    kubectl("delete", "pod", "mongodb", WITHIN)
    pods.ready(a_script("again", volumes=pod["spec"]["volumes"], container=container))
    assert pods.sh("again", "cat /data/db/letter") == "hello"
    kubectl("delete", "pod", "again", WITHIN)
    kubectl("delete", "pvc", "mongodb-pvc", WITHIN)
    kubectl("delete", "pv", "mongodb-pv", WITHIN)


async def test_an_inline_gce_disk_is_attached_and_mounted_through_its_driver(
    pods: Pods, server: ServerWithNode
) -> None:
    disk: Doc = {"name": "data", "gcePersistentDisk": {"pdName": "inline", "fsType": "ext4"}}
    pods.ready(a_script("inline", volumes=[disk], container=mounting(data="/data")))
    pods.sh("inline", "echo hello >/data/letter")
    source = attachment_of(pods.kubectl)["spec"]["source"]
    assert source["inlineVolumeSpec"]["csi"]["volumeHandle"] == f"{HANDLE}inline"
    on_disk = OnDisk(server.data_dir)
    before = on_disk.published()

    server.kill()
    server.start()
    pods.kubectl("wait", "--for=condition=Ready", "pod/inline", WITHIN)
    assert pods.sh("inline", "cat /data/letter") == "hello"
    assert on_disk.published() == before  # mounted once: the node found it again

    pods.kubectl("delete", "pod", "inline", WITHIN)
    await until(lambda: not on_disk.published() and not on_disk.staged())
    pods.kubectl("wait", "volumeattachments", "--all", "--for=delete", WITHIN)


async def test_a_class_of_the_in_tree_plugin_is_provisioned_by_its_driver(
    pods: Pods, cloud: Cloud
) -> None:
    """The class as tutorials have it; the claim only smaller."""
    kubectl = pods.kubectl
    storage_class, claim = example("dynamic/cloud.yaml")
    assert storage_class["provisioner"] == PLUGIN
    assert storage_class["parameters"] == {"type": "pd-ssd"}
    claim["spec"]["resources"]["requests"]["storage"] = "64Mi"
    pods.create(storage_class, claim)
    kubectl("wait", "pvc/claim1", BOUND, WITHIN)
    asked = kubectl.doc("pvc", "claim1")
    assert asked["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"] == DRIVER
    name = asked["spec"]["volumeName"]
    kubectl(
        "wait",
        f"pv/{name}",
        f"--for=jsonpath={{.metadata.annotations.pv\\.kubernetes\\.io/migrated-to}}={DRIVER}",
        WITHIN,
    )
    made = kubectl.doc("pv", name)
    assert made["spec"]["gcePersistentDisk"]["pdName"] == name
    assert "csi" not in made["spec"]
    assert made["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] == PLUGIN
    finalizers = made["metadata"]["finalizers"]
    assert "external-provisioner.volume.kubernetes.io/finalizer" in finalizers
    assert "kubernetes.io/pv-controller" not in finalizers
    assert name in cloud.disks()

    using: Doc = {"volumes": [of_claim("data", "claim1")], "container": mounting(data="/data")}
    pods.ready(a_script("web", **using))
    pods.sh("web", "echo hello >/data/letter")
    assert pods.sh("web", "cat /data/letter") == "hello"

    kubectl("delete", "pod", "web", WITHIN)
    kubectl("delete", "pvc", "claim1", WITHIN)
    kubectl("wait", f"pv/{name}", "--for=delete", WITHIN)
    assert name not in cloud.disks()
    kubectl("delete", "sc", "block-service")


def test_the_node_says_which_plugins_it_takes_for_drivers(pods: Pods) -> None:
    notes = pods.kubectl.doc("csinode", NODE)["metadata"]["annotations"]
    assert PLUGIN in notes["storage.alpha.kubernetes.io/migrated-plugins"].split(",")
