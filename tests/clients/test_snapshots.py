"""Snapshots as people type them, on a `mooring up`; the driver's sidecar is played with kubectl."""

from collections.abc import Iterator

import pytest

from mooring.model.document import Doc
from tests.clients.kubectl import Kubectl
from tests.clients.tables import read_tables
from tests.fakes.real_server import RealServer

DRIVER = "d.example.com"
SNAPSHOTS, GROUPS = "snapshot.storage.k8s.io/v1", "groupsnapshot.storage.k8s.io/v1"
MERGE = {"Content-Type": "application/merge-patch+json"}
NANOSECONDS = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("snapshots") / "data").start()
    yield running
    running.stop()


def a_doc(api: str, kind: str, name: str, **body: object) -> Doc:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body}


def a_bound_claim(kubectl: Kubectl, name: str, unique: str) -> None:
    volume = f"{unique}-{name}"
    size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
    ref = {"namespace": kubectl.namespace, "name": name}
    csi = {"driver": DRIVER, "volumeHandle": volume}
    spec = {"capacity": size, "accessModes": modes, "claimRef": ref, "csi": csi}
    kubectl("create", "-f-", given=a_doc("v1", "PersistentVolume", volume, spec=spec))
    spec = {"accessModes": modes, "resources": {"requests": size}, "storageClassName": ""}
    claim = a_doc("v1", "PersistentVolumeClaim", name, spec=spec)
    claim["metadata"]["labels"] = {"app": "db"}
    kubectl("create", "-f-", given=claim)
    kubectl("wait", f"pvc/{name}", "--for=jsonpath={.status.phase}=Bound", "--timeout=15s")


def report(server: RealServer, url: str, status: Doc) -> None:
    """What the sidecar writes when the driver has answered."""
    answer = server.ask("PATCH", f"{url}/status", {"status": status}, MERGE)
    assert answer.code == 200, answer


def let_go(server: RealServer, url: str) -> None:
    """What the sidecar writes when the driver has deleted it."""
    answer = server.ask("PATCH", url, {"metadata": {"finalizers": None}}, MERGE)
    assert answer.code == 200, answer


def test_a_snapshot_is_taken_shown_and_deleted(
    server: RealServer, kubectl: Kubectl, unique: str
) -> None:
    a_bound_claim(kubectl, "data", unique)
    policy = {"driver": DRIVER, "deletionPolicy": "Delete"}
    kubectl("create", "-f-", given=a_doc(SNAPSHOTS, "VolumeSnapshotClass", unique, **policy))
    spec = {
        "volumeSnapshotClassName": unique,
        "source": {"persistentVolumeClaimName": "data"},
    }
    kubectl("create", "-f-", given=a_doc(SNAPSHOTS, "VolumeSnapshot", "before", spec=spec))
    kubectl.event("before", "CreatingSnapshot", "Waiting for a snapshot")
    bound = ".status.boundVolumeSnapshotContentName"
    kubectl("wait", "vs/before", "--for=jsonpath={.status.readyToUse}=false", "--timeout=15s")
    content = kubectl.field(bound, "vs/before")
    assert kubectl.field(".spec.source.volumeHandle", f"vsc/{content}") == f"{unique}-data"

    url = f"/apis/{SNAPSHOTS}/volumesnapshotcontents/{content}"
    done = {"snapshotHandle": "s-1", "creationTime": NANOSECONDS, "restoreSize": 1 << 30}
    report(server, url, {**done, "readyToUse": True})
    kubectl("wait", "vs/before", "--for=jsonpath={.status.readyToUse}=true", "--timeout=15s")
    (row,) = read_tables(kubectl("get", "vs"))
    shown = ("NAME", "READYTOUSE", "SOURCEPVC", "RESTORESIZE", "SNAPSHOTCLASS", "SNAPSHOTCONTENT")
    assert [row[name] for name in shown] == ["before", "true", "data", "1Gi", unique, content]

    kubectl("delete", "vs/before", "--wait=false")
    mark = r".metadata.annotations.snapshot\.storage\.kubernetes\.io/volumesnapshot-being-deleted"
    gone = f"--for=jsonpath={{{mark}}}=yes"
    kubectl("wait", f"vsc/{content}", gone, "--timeout=15s")
    let_go(server, url)
    kubectl("wait", "vs/before", "--for=delete", "--timeout=15s")


def test_a_group_of_two_claims_has_two_snapshots(
    server: RealServer, kubectl: Kubectl, unique: str
) -> None:
    for name in ("data", "logs"):
        a_bound_claim(kubectl, name, unique)
    policy = {"driver": DRIVER, "deletionPolicy": "Delete"}
    kubectl("create", "-f-", given=a_doc(GROUPS, "VolumeGroupSnapshotClass", unique, **policy))
    expression = {"key": "app", "operator": "In", "values": ["db"]}
    spec = {
        "volumeGroupSnapshotClassName": unique,
        "source": {"selector": {"matchExpressions": [expression]}},
    }
    kubectl("create", "-f-", given=a_doc(GROUPS, "VolumeGroupSnapshot", "both", spec=spec))
    kubectl("wait", "vgs/both", "--for=jsonpath={.status.readyToUse}=false", "--timeout=15s")
    content = kubectl.field(".status.boundVolumeGroupSnapshotContentName", "vgs/both")
    handles = [f"{unique}-data", f"{unique}-logs"]
    status = {
        "volumeGroupSnapshotHandle": "g-1",
        "readyToUse": True,
        "creationTime": "2026-01-02T03:04:05Z",
        "volumeSnapshotInfoList": [
            {"volumeHandle": each, "snapshotHandle": f"s-{each}", "readyToUse": True}
            for each in handles
        ],
    }
    report(server, f"/apis/{GROUPS}/volumegroupsnapshotcontents/{content}", status)
    kubectl("wait", "vgs/both", "--for=jsonpath={.status.readyToUse}=true", "--timeout=15s")
    rows = read_tables(kubectl("get", "vs"))
    assert sorted(row["SOURCEPVC"] for row in rows) == ["data", "logs"]
    assert {row["READYTOUSE"] for row in rows} == {"true"}


def test_a_claim_of_an_unknown_kind_says_so_until_a_populator_comes(kubectl: Kubectl) -> None:
    source = {"apiGroup": "example.com", "kind": "Book", "name": "moby-dick"}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "dataSourceRef": source,
    }
    kubectl("create", "-f-", given=a_doc("v1", "PersistentVolumeClaim", "filled", spec=spec))
    told = kubectl.event("filled", "UnrecognizedDataSourceKind")
    assert "does not match any registered VolumePopulator" in told
