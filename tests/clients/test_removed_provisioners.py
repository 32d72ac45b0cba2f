"""Classes of provisioners that Kubernetes has dropped, on a whole `mooring up` without a node.

There is a played `rbd` in its PATH, and a heketi on loopback.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.pods import WITHIN
from tests.fakes.heketi_server import KEY as HEKETI_KEY
from tests.fakes.heketi_server import HeketiServer, served
from tests.fakes.rbd_program import KEY, RbdProgram
from tests.fakes.real_server import RealServer

CEPH = f"""\
apiVersion: v1
kind: Secret
metadata: {{name: ceph-admin, namespace: default}}
type: kubernetes.io/rbd
stringData: {{key: {KEY}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: ceph}}
provisioner: kubernetes.io/rbd
allowVolumeExpansion: true
parameters:
  monitors: 10.0.0.1:6789
  adminSecretName: ceph-admin
  userSecretName: ceph-user
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: default}}
spec:
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  storageClassName: ceph
  resources: {{requests: {{storage: 1Gi}}}}
"""
HEKETI = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: gluster}}
provisioner: kubernetes.io/glusterfs
allowVolumeExpansion: true
parameters: {{resturl: "{url}", restuser: admin, restuserkey: "{key}"}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: shared, namespace: default}}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: gluster
  resources: {{requests: {{storage: 1Gi}}}}
"""
STATUS = "--for=jsonpath={.status.%s}=%s"


@pytest.fixture(scope="module")
def rbd(tmp_path_factory: pytest.TempPathFactory) -> RbdProgram:
    return RbdProgram(tmp_path_factory.mktemp("ceph"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, rbd: RbdProgram) -> Iterator[RealServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{rbd.bin}{os.pathsep}{os.environ['PATH']}")
        running = RealServer(tmp_path_factory.mktemp("up") / "data").start()
    yield running
    running.stop()


def test_an_image_of_rbd_comes_grows_and_goes_with_its_claim(
    kubectl: Kubectl, server: RealServer, rbd: RbdProgram
) -> None:
    typed = kubectl.in_namespace("default")
    typed("apply", "-f-", given=CEPH)
    typed("wait", "pvc/data", STATUS % ("phase", "Bound"), WITHIN)
    uid = typed.field(".metadata.uid", "pvc", "data")
    image = f"rbd-kubernetes-dynamic-pvc-{uid}"
    assert rbd.images() == {image: 1024}
    typed("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}')
    typed("wait", "pvc/data", STATUS % ("capacity.storage", "2Gi"), WITHIN)
    assert rbd.images() == {image: 2048}
    rbd.opens(image)
    typed("delete", "pvc", "data")
    refused = typed.event(f"pvc-{uid}", "VolumeFailedDelete")
    assert "is still being used" in refused
    rbd.closes(image)
    typed("wait", f"pv/pvc-{uid}", "--for=delete", WITHIN)
    assert rbd.images() == {}
    log = Path(server.log).read_text()
    assert KEY not in log
    assert not any(KEY in word for run in rbd.runs() for word in run.argv)


async def test_a_volume_of_glusterfs_comes_with_its_servers_grows_and_goes(
    kubectl: Kubectl,
) -> None:
    heketi, typed = HeketiServer(), kubectl.in_namespace("default")
    async with served(heketi):
        given = HEKETI.format(url=heketi.url, key=HEKETI_KEY)
        await asyncio.to_thread(a_shared_volume_comes_and_grows, typed, given)
        (volume,) = heketi.volumes.values()
        assert volume["size"] == 2
        await asyncio.to_thread(a_shared_volume_goes, typed)
        assert heketi.volumes == {}


def a_shared_volume_comes_and_grows(typed: Kubectl, given: str) -> None:
    typed("apply", "-f-", given=given)
    typed("wait", "pvc/shared", STATUS % ("phase", "Bound"), WITHIN)
    named = typed.field(".metadata.uid", "pvc", "shared")
    name = f"glusterfs-dynamic-{named}"
    assert typed.field(".subsets[0].addresses[*].ip", "endpoints", name) == "10.0.0.1 10.0.0.2"
    assert typed.field(".spec.ports[0].port", "service", name) == "1"
    typed("patch", "pvc", "shared", "-p", '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}')
    typed("wait", "pvc/shared", STATUS % ("capacity.storage", "2Gi"), WITHIN)


def a_shared_volume_goes(typed: Kubectl) -> None:
    volume = typed.field(".spec.volumeName", "pvc", "shared")
    name = typed.field(".spec.glusterfs.endpoints", "pv", volume)
    typed("delete", "pvc", "shared")
    typed.run("wait", f"pv/{volume}", "--for=delete", WITHIN)
    assert typed("get", "endpoints,service", "--ignore-not-found", name) == ""
