"""What the bundled driver does beyond claims, on `mooring up` with a real kubectl."""

import json
from collections.abc import Iterator

import pytest

from mooring.driver.objects import CLASS, SLOW
from mooring.driver.settings import NAME
from mooring.host.mountinfo import read_table
from tests.clients.csi import OnDisk, server_with_driver
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script
from tests.fakes.waiting import until


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
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
