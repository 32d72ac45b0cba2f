"""OpenEBS' LVM-LocalPV from its published manifests: the life of one of its logical volumes."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
import yaml

from tests.clients.containers import nothing_left_after
from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_claim, a_snapshot
from tests.clients.nodes import NODE
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.fakes.real_server import RealServer, command
from tests.vm.inside.lvm_group import lvs
from tests.vm.inside.programs import eventually, sh
from tests.vm.inside.udev import udev
from tests.vm.lvm_localpv import MISSING, NAMES, PLACE
from tests.vm.machine import SHARED
from tests.vm.words import BRING_LVM_LOCALPV

pytestmark = pytest.mark.timeout(2700)  # the driver may have to be built meanwhile
BRING_SECONDS = 1500
TRIES = 5
PUBLISHED = SHARED / PLACE
KUBELET = Path("/var/lib/kubelet")  # where published manifests expect the node's root
DRIVER = "local.csi.openebs.io"
GROUP = "lvmvg"  # of the published class
DISK = Path("/run/localpv-disk")
COPY = Path("/run/localpv-image")
MIB = 1 << 20
GROWN = "--for=jsonpath={.status.capacity.storage}=96Mi"
USABLE = "--for=jsonpath={.status.readyToUse}=true"
KNOWN = f"--for=jsonpath={{.spec.drivers[?(@.name=='{DRIVER}')].name}}={DRIVER}"


PROGRAMS = (
    ("openebs-lvm-controller", "csi-provisioner"),
    ("openebs-lvm-controller", "openebs-lvm-plugin"),
    ("openebs-lvm-node", "openebs-lvm-plugin"),
)


class AsKubelet(RealServer):
    own_flags = ("--node-name", NODE, "--root-dir", str(KUBELET), "--no-pull-images")

    def take_image(self, name: str, layout: Path) -> None:
        """From a copy: each of its small reads would go to the outer machine and back."""
        near = shutil.copytree(layout, COPY)
        words = ("image", "import", "--data-dir", str(self.data_dir), name, str(near))
        subprocess.run(command(*words), check=True, capture_output=True)  # noqa: S603  our own
        shutil.rmtree(near)


@pytest.fixture(scope="module")
def published() -> Path:
    print(BRING_LVM_LOCALPV, flush=True)  # noqa: T201  on the console
    eventually(PUBLISHED.exists, "LVM-LocalPV is brought", BRING_SECONDS)
    missing = PUBLISHED / MISSING
    if missing.exists():
        pytest.skip(f"LVM-LocalPV cannot be had: {missing.read_text()}")
    return PUBLISHED


@pytest.fixture(scope="module")
def server(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """With its images. It has the volume group of their class."""
    sh("for m in loop dm_mod dm_snapshot ext4; do modprobe $m; done")
    # The machine's root is an overlay, which can hold no overlay of a container.
    sh(f"mkdir -p {KUBELET} && mount -t tmpfs -o mode=0755,size=60% tmpfs {KUBELET}")
    sh(f"truncate -s 300M {DISK}")
    device = sh(f"losetup --find --show {DISK}")
    sh(f"pvcreate -q {device} && vgcreate -q {GROUP} {device}")
    running = AsKubelet(tmp_path_factory.mktemp("localpv") / "data")
    with udev(), nothing_left_after(KUBELET):  # as on any machine
        try:
            running.start()
            started = monotonic()
            for line in (published / NAMES).read_text().splitlines():
                image, directory = line.split()
                running.take_image(image, published / directory)
            print(f"images imported: {monotonic() - started:.1f} s")  # noqa: T201
            yield running
        finally:
            running.kill()


@pytest.fixture
def installed(published: Path, kubectl: Kubectl) -> Iterator[None]:
    """All that its documentation applies, unchanged, but that volumes wait for their pods."""
    everywhere = kubectl.in_namespace("")
    system = kubectl.in_namespace("kube-system")
    everywhere("apply", "-f", str(published / "lvm-operator.yaml"))
    everywhere("apply", "-f", str(published / "lvmsnapclass.yaml"), "-f-", given=_class(published))
    _allow(system)
    for workload in ("deployment/openebs-lvm-controller", "daemonset/openebs-lvm-node"):
        _wait(system, "rollout", "status", workload)
    _wait(kubectl, "wait", f"csinode/{NODE}", KNOWN)
    yield
    everywhere("delete", "--wait=false", "-f", str(published / "lvm-operator.yaml"))
    system("wait", "--for=delete", "pods", "-l", "role=openebs-lvm", WITHIN)


def _wait(kubectl: Kubectl, *words: str) -> None:
    """Five programs of 60 MB and more start at once."""
    for _ in range(TRIES):
        if kubectl.run(*words, "--timeout=100s").code == 0:
            return
    pods = kubectl.in_namespace("kube-system")("describe", "pods")
    pytest.fail(f"not in time: kubectl {' '.join(words)}\n{pods}")


@pytest.fixture
def explained(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[None]:
    """What the cluster says of it, when it fails."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        everywhere = kubectl.in_namespace("")
        print(everywhere.run("get", "events", "-A").out)  # noqa: T201
        print(everywhere.run("get", "pods,pvc,lvmvolumes,lvmnodes", "-A", "-o", "wide").out)  # noqa: T201
        for pod, container in PROGRAMS:
            named = ("-l", f"app={pod}", "-c", container, "--tail=30")
            print(everywhere.run("logs", "-n", "kube-system", *named).out)  # noqa: T201


def _allow(system: Kubectl) -> None:
    """Its account gets what Mooring's sidecars read beyond those that its roles are made for."""
    rights = subprocess.run(  # noqa: S603  our own program
        command("sidecar", "rbac", "--namespace", "kube-system"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    system("apply", "-f-", given=rights)
    account = "--serviceaccount=kube-system:openebs-lvm-controller-sa"
    system(
        "create", "clusterrolebinding", "lvm-sidecars", "--clusterrole=mooring-sidecars", account
    )


def _class(published: Path) -> Doc:
    first: Doc = next(yaml.safe_load_all((published / "fio.yaml").read_text()))
    return first | {"volumeBindingMode": "WaitForFirstConsumer"}


@pytest.mark.usefixtures("installed", "explained")
def test_its_published_manifests_serve_the_life_of_a_logical_volume(
    published: Path, pods: Pods, kubectl: Kubectl
) -> None:
    name = _class(published)["metadata"]["name"]
    told = ".items[*].capacity"
    eventually(lambda: kubectl.field(told, "csistoragecapacities", "-A") != "", "there is room")
    user = a_script("writer", volumes=[of_claim("data", "data")], container=mounting(data="/data"))
    started = monotonic()
    pods.ready(a_claim("data", "64Mi", storageClassName=name), user)
    print(f"a pod on a new logical volume: {monotonic() - started:.1f} s")  # noqa: T201
    volume = kubectl.field(".spec.volumeName", "pvc", "data")
    assert lvs("lv_size", group=GROUP) == [[volume, str(64 * MIB)]]
    assert kubectl("get", "volumeattachments", "-o", "name") == ""
    terms = kubectl.field(".spec.nodeAffinity.required.nodeSelectorTerms", "pv", volume)
    assert "openebs.io/nodename" in terms
    pods.sh("writer", "echo first > /data/file; sync /data/file")

    pods.create(a_snapshot("snap", "data"))
    kubectl("wait", "volumesnapshot/snap", USABLE, WITHIN)
    pods.sh("writer", "echo second > /data/file; sync /data/file")
    snapshot = kubectl.field(".metadata.uid", "volumesnapshot", "snap")
    assert _file_of(snapshot) == "first"
    kubectl("delete", "volumesnapshot", "snap", WITHIN)
    eventually(lambda: len(lvs(group=GROUP)) == 1, "the snapshot is removed")

    uid = pods.uid("writer")
    wanted = '{"spec":{"resources":{"requests":{"storage":"96Mi"}}}}'
    kubectl("patch", "pvc", "data", "-p", wanted)
    kubectl("wait", "pvc/data", GROWN, WITHIN)
    assert lvs("lv_size", group=GROUP) == [[volume, str(96 * MIB)]]
    assert int(pods.sh("writer", "df -m /data | tail -1 | awk '{print $2}'")) > 80
    assert (pods.uid("writer"), pods.sh("writer", "cat /data/file")) == (uid, "second")

    kubectl("delete", "pod", "writer", WITHIN)
    kubectl("delete", "pvc", "data", WITHIN)
    kubectl("wait", "--for=delete", f"pv/{volume}", WITHIN)
    assert lvs(group=GROUP) == []
    assert kubectl("get", "lvmvolumes,lvmsnapshots", "-A", "-o", "name") == ""


def _file_of(snapshot: str) -> str:
    """What is in the file that a pod wrote, as it was in a snapshot that nobody uses."""
    place = Path("/run/of-snapshot")
    place.mkdir()
    sh(f"mount -o ro,noload /dev/{GROUP}/{snapshot} {place}")
    try:
        return (place / "file").read_text().strip()
    finally:
        sh(f"umount {place}")
