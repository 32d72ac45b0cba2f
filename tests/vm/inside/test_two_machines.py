"""Two machines on one wire: a disk moves when the one that has it dies."""

from time import monotonic

import pytest

from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_claim, a_volume
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.vm.inside.iscsi_targets import IscsiTargets
from tests.vm.inside.second_machine import NAME, OURS, SecondMachine

pytestmark = pytest.mark.timeout(1800)  # a machine boots meanwhile
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


@pytest.fixture(scope="module")
def second(server: ServerWithNode) -> SecondMachine:
    machine = SecondMachine(server)
    machine.boot()
    return machine


def a_user(name: str, claim: str, node: str) -> Doc:
    return a_script(
        name,
        volumes=[of_claim("data", claim)],
        container=mounting(data="/data"),
        nodeSelector={"kubernetes.io/hostname": node},
    )


def a_source(name: str, mode: str, plugin: str, source: Doc) -> list[Doc]:
    volume = a_volume(name, accessModes=[mode])
    del volume["spec"]["csi"]
    volume["spec"] |= {"persistentVolumeReclaimPolicy": "Retain", plugin: source}
    return [volume, a_claim("c", accessModes=[mode], volumeName=name)]


def test_a_disk_moves_when_its_machine_has_lost_its_power(
    second: SecondMachine, iscsi: IscsiTargets, pods: Pods, kubectl: Kubectl, unique: str
) -> None:
    second.join(kubectl)
    target = iscsi.add()
    source = {"targetPortal": OURS, "iqn": target.iqn, "lun": 1, "fsType": "ext4"}
    pods.create(*a_source(unique, "ReadWriteOnce", "iscsi", source))
    pods.ready(a_user("there", "c", NAME))
    pods.sh("there", "echo kept > /data/file; sync /data/file")
    pods.create(a_user("here", "c", NODE))
    kubectl.event("here", "FailedAttachVolume", "Waiting for detach for volume")
    second.lose_power()
    started = monotonic()
    kubectl("wait", f"node/{NAME}", "--for=condition=Ready=Unknown", WITHIN)
    phase = kubectl.field(".status.phase", "pod", "here")
    assert phase == "Pending", "it must not move before somebody says that the machine is off"
    kubectl("taint", "node", NAME, OUT_OF_SERVICE)
    kubectl("wait", "pod/here", "--for=condition=Ready", WITHIN)
    print(f"a disk moved from a dead machine: {monotonic() - started:.1f} s")  # noqa: T201
    assert pods.sh("here", "cat /data/file") == "kept"
    kubectl("delete", "pod", "here", WITHIN)
    kubectl("delete", "node", NAME)
    kubectl("delete", "pvc", "c")
    kubectl("delete", "pv", unique)
