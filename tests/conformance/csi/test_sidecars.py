"""One driver's volumes and snapshots, with upstream's sidecars and with ours, by kubectl."""

import http.client
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.oci.probe import NoRuntime, probe
from tests.clients.csi import a_class_of, a_reader, bare_claim, need_loop_devices
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import GROUP_SNAPSHOTS, SNAPSHOTS, STORAGE, Doc, a_snapshot
from tests.clients.nodes import NODE
from tests.clients.pods import WITHIN, Pods
from tests.conformance.csi import upstream
from tests.conformance.csi.drivers import MUTABLE
from tests.conformance.csi.sidecar_clusters import (
    Share,
    SidecarCluster,
    Start,
    on_kubernetes,
    on_mooring,
)
from tests.conformance.csi.test_life_cycle import attachments, shown, wait_for_driver
from tests.conformance.obtain import LIVENESSPROBE, Missing
from tests.conformance.peers import Find, free_port, running
from tests.fakes.waiting import until

OURS = ("all",)
_BUT_SNAPSHOTS = (upstream.PROVISIONER, upstream.ATTACHER, upstream.RESIZER)

CLUSTERS: dict[str, tuple[Start, Share]] = {
    "upstream's sidecars on mooring apiserver": (on_mooring, Share(upstream.EVERY)),
    "mooring's sidecars on kube-apiserver": (
        on_kubernetes,
        Share(sidecars=OURS, has_snapshot_controller=True),
    ),
    "upstream's csi-snapshotter with mooring's snapshot controller": (
        on_mooring,
        Share((*_BUT_SNAPSHOTS, upstream.SNAPSHOTTER), has_snapshot_controller=True),
    ),
    "mooring's snapshotter with upstream's snapshot-controller": (
        on_kubernetes,
        Share((upstream.SNAPSHOT_CONTROLLER,), OURS),
    ),
}
TRIES = 6  # of 15 seconds: upstream's sidecars wait for leases and between their retries
LOST = "VolumeConditionAbnormal"


@pytest.fixture(scope="module", params=CLUSTERS.values(), ids=list(CLUSTERS))
def cluster(
    request: pytest.FixtureRequest, find: Find, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SidecarCluster]:
    need_loop_devices()
    start, share = request.param
    try:
        with start(find, share, tmp_path_factory.mktemp("home")) as running_cluster:
            wait_for_driver(running_cluster)
            running_cluster.kubectl("create", "-f-", given=list(classes(running_cluster)))
            yield running_cluster
    except Missing as reason:
        pytest.skip(str(reason))


def classes(cluster: SidecarCluster) -> Iterator[Doc]:
    driver = cluster.driver.name
    yield a_class_of(driver, "chosen") | {"allowVolumeExpansion": True}
    policy: Doc = {"driver": driver, "deletionPolicy": "Delete"}
    yield _named(SNAPSHOTS, "VolumeSnapshotClass", "chosen") | policy
    yield _named(GROUP_SNAPSHOTS, "VolumeGroupSnapshotClass", "chosen") | policy
    for name, parameter in (("gold", MUTABLE), ("impossible", "colour")):
        attributes: Doc = {"driverName": driver, "parameters": {parameter: "100"}}
        yield _named(STORAGE, "VolumeAttributesClass", name) | attributes


def _named(version: str, kind: str, name: str, **fields: Any) -> Doc:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}} | fields


@pytest.fixture(autouse=True)
def sidecars_live(cluster: SidecarCluster) -> Iterator[None]:
    """A test leaves all of them running."""
    yield
    for log, process in cluster.sidecars.items():
        ended = process.poll()
        assert ended is None, f"{log.stem} ended with {ended}: {log.read_text()[-2000:]}"


@pytest.fixture
async def pods(cluster: SidecarCluster) -> Pods:
    probed = await probe()
    if isinstance(probed, NoRuntime):
        pytest.skip(probed.reason)
    return Pods(cluster.kubectl)


def becomes(kubectl: Kubectl, thing: str, path: str, value: str) -> None:
    """Waits for a field; the thing itself as it is, if that never comes."""
    wanted = f"--for=jsonpath={{{path}}}={value}"
    for _ in range(TRIES):
        if kubectl.run("wait", thing, wanted, WITHIN).code == 0:
            return
    pytest.fail(f"{path} of {thing} is not {value}: {kubectl('describe', thing)}")


def gone(kubectl: Kubectl, thing: str) -> None:
    for _ in range(TRIES):
        if kubectl.run("wait", thing, "--for=delete", WITHIN).code == 0:
            return
    pytest.fail(f"{thing} is still there: {kubectl('get', thing, '-o', 'yaml')}")


def a_claim(name: str, size: str = "64Mi", **spec: Any) -> Doc:
    return bare_claim(name, size, storageClassName="chosen", **spec)


class Mounted:
    """Claims of a running pod each, seen from the node."""

    def __init__(self, cluster: SidecarCluster, pods: Pods) -> None:
        self._cluster = cluster
        self._pods = pods

    def ready(self, claim: Doc) -> Path:
        """Where the files of the new claim are shown to its pod."""
        name, kubectl = claim["metadata"]["name"], self._pods.kubectl
        self._pods.create(claim)
        becomes(kubectl, f"pvc/{name}", ".status.phase", "Bound")
        self._pods.create(a_reader(name, name, nodeName=NODE))
        becomes(kubectl, f"pod/{name}", ".status.phase", "Running")
        return shown(self._cluster, self._pods, name, self.volume(name))

    def volume(self, name: str) -> str:
        return self._pods.kubectl.field(".spec.volumeName", "pvc", name)

    async def forget(self, *names: str) -> None:
        """Pods, claims and volumes go, for the driver as well."""
        kubectl = self._pods.kubectl
        volumes = [self.volume(name) for name in names]
        for name in names:
            kubectl("delete", "pod", name, "--ignore-not-found", WITHIN)
            kubectl("delete", "pvc", name, WITHIN)
        for volume in volumes:
            gone(kubectl, f"pv/{volume}")


@pytest.fixture
def mounted(cluster: SidecarCluster, pods: Pods) -> Mounted:
    return Mounted(cluster, pods)


def changed(kubectl: Kubectl, claim: str, **spec: Any) -> None:
    kubectl("patch", "pvc", claim, "--type=merge", "-p", json.dumps({"spec": spec}))


def members_of(kubectl: Kubectl, group: str) -> list[str]:
    """Snapshots that the group owns; upstream's say the group in their status much later."""
    return [
        each["metadata"]["name"]
        for each in kubectl.doc("volumesnapshots")["items"]
        if any(owner["name"] == group for owner in each["metadata"].get("ownerReferences", ()))
    ]


def sized(size: str) -> Doc:
    return {"resources": {"requests": {"storage": size}}}


async def test_a_volume_is_made_attached_and_deleted(
    cluster: SidecarCluster, pods: Pods, mounted: Mounted
) -> None:
    place = mounted.ready(a_claim("data"))
    volume = mounted.volume("data")
    (place / "words").write_text("kept")
    (attachment,) = attachments(pods, volume)
    assert attachment["status"]["attached"] is True
    assert len(cluster.driver.volumes()) == 1

    await mounted.forget("data")

    assert attachments(pods, volume) == []
    assert cluster.driver.volumes() == []


async def test_a_clone_has_what_its_source_has(cluster: SidecarCluster, mounted: Mounted) -> None:
    (mounted.ready(a_claim("source")) / "words").write_text("kept")
    source = {"kind": "PersistentVolumeClaim", "name": "source"}

    place = mounted.ready(a_claim("copy", dataSource=source))

    assert (place / "words").read_text() == "kept"
    await mounted.forget("source", "copy")
    assert cluster.driver.volumes() == []


async def test_a_snapshot_restores_what_was_there_when_it_was_taken(
    cluster: SidecarCluster, mounted: Mounted
) -> None:
    kubectl = cluster.kubectl
    file = mounted.ready(a_claim("source")) / "words"
    file.write_text("old")
    taken = a_snapshot("taken", "source")
    taken["spec"]["volumeSnapshotClassName"] = "chosen"
    kubectl("create", "-f-", given=taken)
    becomes(kubectl, "volumesnapshot/taken", ".status.readyToUse", "true")
    file.write_text("new")
    source = {"apiGroup": SNAPSHOTS.partition("/")[0], "kind": "VolumeSnapshot", "name": "taken"}

    place = mounted.ready(a_claim("restored", dataSource=source))

    assert (place / "words").read_text() == "old"
    content = kubectl.field(".status.boundVolumeSnapshotContentName", "volumesnapshot", "taken")
    kubectl("delete", "volumesnapshot", "taken", WITHIN)
    gone(kubectl, f"volumesnapshotcontent/{content}")
    await mounted.forget("source", "restored")
    assert cluster.driver.volumes() == []


async def test_a_group_snapshot_has_a_snapshot_of_each_claim(
    cluster: SidecarCluster, mounted: Mounted
) -> None:
    kubectl = cluster.kubectl
    for name in ("first", "second"):
        claim = a_claim(name)
        claim["metadata"]["labels"] = {"app": "db"}
        (mounted.ready(claim) / "words").write_text(name)
    source = {"selector": {"matchLabels": {"app": "db"}}}
    spec: Doc = {"source": source, "volumeGroupSnapshotClassName": "chosen"}
    group = _named(GROUP_SNAPSHOTS, "VolumeGroupSnapshot", "both", spec=spec)

    kubectl("create", "-f-", given=group)

    becomes(kubectl, "volumegroupsnapshot/both", ".status.readyToUse", "true")
    await until(lambda: len(members_of(kubectl, "both")) == 2, 60)
    for name in members_of(kubectl, "both"):
        becomes(kubectl, f"volumesnapshot/{name}", ".status.readyToUse", "true")
    kubectl("delete", "volumegroupsnapshot", "both", WITHIN)
    for kind in ("volumesnapshots", "volumesnapshotcontents"):
        await until(lambda kind=kind: kubectl.doc(kind)["items"] == [], 60)  # type: ignore[misc]
    await mounted.forget("first", "second")
    assert cluster.driver.volumes() == []


async def test_a_claim_in_use_grows_and_comes_back_from_what_is_impossible(
    cluster: SidecarCluster, mounted: Mounted
) -> None:
    kubectl = cluster.kubectl
    mounted.ready(a_claim("data"))
    volume = mounted.volume("data")
    changed(kubectl, "data", **sized("128Mi"))
    becomes(kubectl, "pvc/data", ".status.capacity.storage", "128Mi")
    assert kubectl.field(".spec.capacity.storage", "pv", volume) == "128Mi"
    changed(kubectl, "data", **sized("2Gi"))
    status = ".status.allocatedResourceStatuses.storage"
    becomes(kubectl, "pvc/data", status, "ControllerResizeInfeasible")

    changed(kubectl, "data", **sized("256Mi"))

    becomes(kubectl, "pvc/data", ".status.capacity.storage", "256Mi")
    await until(lambda: kubectl.field(status, "pvc", "data") == "", 60)
    conditions = kubectl.doc("pvc", "data")["status"].get("conditions") or []
    assert {each["type"] for each in conditions} <= {"Unused"}  # which is not about growth
    await mounted.forget("data")


async def test_a_claim_changes_its_attributes_and_comes_back_from_what_is_impossible(
    cluster: SidecarCluster, pods: Pods, mounted: Mounted
) -> None:
    kubectl = cluster.kubectl
    pods.create(a_claim("data"))
    becomes(kubectl, "pvc/data", ".status.phase", "Bound")
    changed(kubectl, "data", volumeAttributesClassName="impossible")
    becomes(kubectl, "pvc/data", ".status.modifyVolumeStatus.status", "Infeasible")

    changed(kubectl, "data", volumeAttributesClassName="gold")

    becomes(kubectl, "pvc/data", ".status.currentVolumeAttributesClassName", "gold")
    volume = mounted.volume("data")
    assert kubectl.field(".spec.volumeAttributesClassName", "pv", volume) == "gold"
    assert kubectl.field(".status.modifyVolumeStatus", "pvc", "data") == ""
    await mounted.forget("data")


async def test_a_volume_that_lost_its_files_is_told_of_on_its_claim(
    cluster: SidecarCluster, pods: Pods, mounted: Mounted
) -> None:
    if not any(log.stem == upstream.HEALTH_MONITOR.program.name for log in cluster.sidecars):
        pytest.skip("Mooring's health monitor asks this driver every five minutes, as upstream's")
    kubectl = cluster.kubectl
    pods.create(a_claim("data"))
    becomes(kubectl, "pvc/data", ".status.phase", "Bound")
    handle = kubectl.field(".spec.csi.volumeHandle", "pv", mounted.volume("data"))
    files = cluster.driver.socket.parent.parent / "state" / handle

    shutil.rmtree(files)

    about = ("events", f"--field-selector=involvedObject.name=data,reason={LOST}")
    await until(lambda: kubectl.doc(*about)["items"] != [], 60)
    (told,) = kubectl.doc(*about)["items"]
    assert "source path of the volume doesn't exist" in told["message"]
    files.mkdir()
    await mounted.forget("data")


async def test_the_liveness_probe_answers_for_the_driver(
    cluster: SidecarCluster, find: Find, tmp_path: Path
) -> None:
    try:
        program = find(LIVENESSPROBE)
    except Missing as reason:
        pytest.skip(str(reason))
    port = free_port()
    command = [
        *(str(program), f"--csi-address={cluster.driver.socket}"),
        f"--http-endpoint=127.0.0.1:{port}",
    ]

    def is_well() -> bool:
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            asking.request("GET", "/healthz")
            return asking.getresponse().status == http.client.OK
        except ConnectionRefusedError:
            return False
        finally:
            asking.close()

    with running(command, tmp_path / "livenessprobe"):
        await until(is_well)
