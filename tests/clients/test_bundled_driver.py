"""What the bundled driver does beyond claims, on `mooring up` with a real kubectl."""

import json
from collections.abc import Iterator

import pytest

from mooring.driver.objects import CLASS, SLOW
from mooring.driver.settings import NAME
from mooring.host.mountinfo import read_table
from tests.clients.csi import OnDisk, bare_claim, server_with_driver
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.mooring_command import done
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.fakes.waiting import until

FAILED = "reason=ProvisioningFailed"


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver("--feature-gates", "CrossNamespaceVolumeDataSource=true") as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    return Pods(kubectl)


def test_a_class_of_each_kind_is_there(pods: Pods) -> None:
    kubectl = pods.kubectl
    for kind in ("volumesnapshotclass", "volumegroupsnapshotclass"):
        kubectl("wait", "--for=create", f"{kind}/{CLASS}", WITHIN)
        assert kubectl.field(".driver", kind, CLASS) == NAME
        notes = json.loads(kubectl.field(".metadata.annotations", kind, CLASS))
        assert [value for key, value in notes.items() if key.endswith("is-default-class")] == [
            "true"
        ]
    for name in (CLASS, SLOW):
        kubectl("wait", "--for=create", f"volumeattributesclass/{name}", WITHIN)
        assert kubectl.field(".driverName", "volumeattributesclass", name) == NAME
    assert kubectl.field(".allowVolumeExpansion", "sc", CLASS) == "true"
    modes = kubectl.field(".spec.volumeLifecycleModes", "csidriver", NAME)
    assert json.loads(modes) == ["Persistent", "Ephemeral"]


async def test_an_inline_volume_comes_and_goes_with_its_pod(
    pods: Pods, server: ServerWithNode
) -> None:
    disk = OnDisk(server.data_dir)
    before = set(disk.volumes())
    volume: Doc = {"name": "scratch", "csi": {"driver": NAME, "volumeAttributes": {"size": "32Mi"}}}
    mount: Doc = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    pods.ready(a_script("inline", volumes=[volume], container=mount))
    pods.sh("inline", "echo hello >/scratch/letter")
    assert pods.sh("inline", "cat /scratch/letter") == "hello"
    total = int(pods.sh("inline", "df -k /scratch | tail -1 | awk '{print $2}'"))
    assert 20 << 10 < total <= 32 << 10
    assert len(set(disk.volumes()) - before) == 1
    assert not read_table().below(server.data_dir)  # where `rm -rf` would find its files
    pods.kubectl("delete", "pod", "inline", WITHIN)
    await until(lambda: set(disk.volumes()) == before)


def test_top_shows_how_full_a_claim_is(pods: Pods, server: ServerWithNode) -> None:
    pods.create(bare_claim("filled", "32Mi"))
    script = a_script(
        "filler", volumes=[of_claim("data", "filled")], container=mounting(data="/data")
    )
    pods.ready(script)
    pods.sh("filler", "head -c 8388608 /dev/zero >/data/zeros; sync")
    top = ("top", "--kubeconfig", server.kubeconfig, "-n", pods.kubectl.namespace)
    shown = json.loads(done(*top, "pvc", "-o", "json"))
    (row,) = shown["items"]
    assert (row["name"], row["pods"]) == ("filled", [f"{pods.kubectl.namespace}/filler"]), row
    assert 0 < row["usedBytes"] < row["capacityBytes"] <= 32 << 20, row
    assert "filled" in done(*top)
    for subject, name in (("pod", "filler"), ("node", row["nodes"][0])):
        assert name in done(*top, subject)
    pods.kubectl("delete", "pod", "filler", WITHIN)


def test_a_claim_is_cloned_into_another_namespace_once_that_is_granted(
    pods: Pods, server: ServerWithNode
) -> None:
    kubectl, source = pods.kubectl, pods.kubectl.namespace
    kubectl("create", "namespace", "dev")
    pods.create(bare_claim("origin", "32Mi"))
    volumes = [of_claim("data", "origin")]
    pods.ready(a_script("writer", volumes=volumes, container=mounting(data="/data")))
    pods.sh("writer", "echo hello >/data/letter; sync")
    reference = {"kind": "PersistentVolumeClaim", "name": "origin", "namespace": source}
    clone = bare_claim("copy", "32Mi", dataSourceRef=reference)
    reader = a_script(
        "reader", volumes=[of_claim("data", "copy")], container=mounting(data="/data")
    )
    kubectl("create", "-n", "dev", "-f-", given=[clone, reader])
    refused = f"accessing {source}/origin of PersistentVolumeClaim dataSource from dev/copy"
    kubectl("wait", "-n", "dev", "--for=create", "event", "--field-selector", FAILED, WITHIN)
    assert f"{refused} isn't allowed" in kubectl("events", "-n", "dev", "--for", "pvc/copy")
    spec = {
        "from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": "dev"}],
        "to": [{"group": "", "kind": "PersistentVolumeClaim", "name": "origin"}],
    }
    kind: Doc = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ReferenceGrant"}
    pods.create({**kind, "metadata": {"name": "dev"}, "spec": spec})
    kubectl("wait", "-n", "dev", "--for=condition=Ready", "pod/reader", WITHIN)
    told = kubectl("exec", "-n", "dev", "reader", "--", "cat", "/data/letter")
    assert told == "hello"
    kubectl("delete", "namespace", "dev", WITHIN)
