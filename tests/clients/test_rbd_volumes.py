"""A class of `kubernetes.io/rbd` on a whole `mooring up`, with a played `rbd` in its PATH.

The volume is a block device, which needs no node to grow.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.pods import WITHIN
from tests.fakes.rbd_program import KEY, RbdProgram
from tests.fakes.real_server import RealServer

OBJECTS = f"""\
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


def test_an_image_comes_grows_and_goes_with_its_claim(
    kubectl: Kubectl, server: RealServer, rbd: RbdProgram
) -> None:
    typed = kubectl.in_namespace("default")
    typed("apply", "-f-", given=OBJECTS)
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
