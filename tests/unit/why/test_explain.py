"""What the explanation of a picture says, and what it never says."""

from typing import Any

import msgspec
import pytest

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Answer, Ref, State, Step, Verdict
from mooring.why.explain import explain
from mooring.why.world import world_of
from tests.unit.why.worlds import (
    KINDS,
    NOW,
    bound_claim,
    bound_volume,
    claim,
    doc,
    typed,
    volume,
    whole_world,
)

DATA = Ref("PersistentVolumeClaim", "data", "shop")
WEB = Ref("Pod", "web", "shop")
DELETED = {"deletionTimestamp": "2026-05-01T11:00:00Z"}


def pod(**spec: Any) -> dict[str, Any]:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    containers = [{"name": "c", "image": "i"}]
    metadata = spec.pop("metadata", {})
    status = spec.pop("status", {})
    whole = {"volumes": volumes, "containers": containers, **spec}
    return doc("Pod", "web", "shop", spec=whole, status=status, metadata=metadata)


def storage_class(provisioner: str = "disk.example", **more: Any) -> dict[str, Any]:
    return doc("StorageClass", "fast", provisioner=provisioner, **more)


def ready_node(name: str = "n1", status: str = "True", **spec: Any) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": status, "message": "says so"}]
    return doc("Node", name, spec=spec, status={"allocatable": room, "conditions": conditions})


def said(kind: str, name: str, reason: str, message: str) -> dict[str, Any]:
    about = {"kind": kind, "namespace": "shop", "name": name, "uid": f"uid-{name}"}
    more = {"reason": reason, "message": message, "type": "Warning"}
    source = {"component": "disk.example"}
    return doc("Event", f"{name}.1", "shop", involvedObject=about, source=source, **more)


RUNS = {"containerStatuses": [{"name": "c", "state": {"running": {}}}], "phase": "Running"}
DRIVER = doc("CSIDriver", "disk.example")

BEING_CREATED = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"


def a_snapshot_with_content(**metadata: Any) -> list[dict[str, Any]]:
    source = {"persistentVolumeClaimName": "data"}
    content = {
        "driver": "disk.example",
        "deletionPolicy": "Delete",
        "source": {"volumeHandle": "h"},
        "volumeSnapshotRef": {"namespace": "shop", "name": "snap", "uid": "uid-snap"},
    }
    bound = {"boundVolumeSnapshotContentName": "content"}
    return [
        doc("VolumeSnapshot", "snap", "shop", spec={"source": source}, status=bound),
        doc("VolumeSnapshotContent", "content", spec=content, metadata=metadata),
    ]


VERDICTS: dict[str, tuple[Ref, list[dict[str, Any]], Verdict, str]] = {
    "a bound claim without a pod": (
        DATA,
        [bound_claim(), bound_volume()],
        Verdict.FINE,
        "no pod uses it",
    ),
    "a running pod": (
        WEB,
        [bound_claim(), bound_volume(), ready_node(), pod(nodeName="n1", status=RUNS)],
        Verdict.FINE,
        "its containers run",
    ),
    "a volume that fits is about to be bound": (
        DATA,
        [claim(), volume()],
        Verdict.WAITING,
        "a volume fits; the binding is about to be written",
    ),
    "a provisioner at work": (
        DATA,
        [claim(storageClassName="fast"), storage_class(), DRIVER],
        Verdict.WAITING,
        "the provisioner disk.example is asked to make a volume",
    ),
    "a provisioner that fails": (
        DATA,
        [
            *(claim(storageClassName="fast"), storage_class(), DRIVER),
            said("PersistentVolumeClaim", "data", "ProvisioningFailed", "the pool is full"),
        ],
        Verdict.BROKEN,
        "disk.example says: the pool is full",
    ),
    "a claim that was bound, and its volume is gone": (
        DATA,
        [bound_claim()],
        Verdict.BROKEN,
        "the data is lost",
    ),
    "a subject that is not there": (DATA, [], Verdict.UNKNOWN, "there is no PersistentVolumeClaim"),
    "a pod that fits": (
        WEB,
        [bound_claim(), bound_volume(), ready_node(), pod()],
        Verdict.WAITING,
        "it fits on n1; the scheduler default-scheduler has not put it there",
    ),
    "no node": (
        WEB,
        [bound_claim(), bound_volume(), pod()],
        Verdict.BROKEN,
        "there is no node in the cluster",
    ),
    "a node that is not ready": (
        Ref("Node", "n1"),
        [ready_node(status="Unknown")],
        Verdict.BROKEN,
        "it is not ready: says so",
    ),
    "a file system that grows with a pod": (
        DATA,
        [
            bound_claim(
                resources={"requests": {"storage": "2Gi"}},
                status={"allocatedResourceStatuses": {"storage": "NodeResizePending"}},
            ),
            bound_volume(capacity={"storage": "2Gi"}),
        ],
        Verdict.WAITING,
        "its file system grows when a pod runs with it",
    ),
    "a driver that no node has": (
        Ref("CSIDriver", "disk.example"),
        [DRIVER, ready_node()],
        Verdict.BROKEN,
        "no node has it registered",
    ),
    "a class that nobody serves": (
        Ref("StorageClass", "fast"),
        [storage_class("typo.example")],
        Verdict.BROKEN,
        'No CSI driver or plugin "typo.example" is registered',
    ),
    "a deleted pod whose node is gone": (
        WEB,
        [pod(nodeName="n1", metadata=DELETED), bound_claim(), bound_volume()],
        Verdict.BROKEN,
        "waits for the kubelet of n1: there is no such Node any more",
    ),
    "a deleted pod whose volume cannot be unmounted": (
        WEB,
        [
            pod(nodeName="n1", metadata=DELETED, status={"phase": "Succeeded"}),
            ready_node(),
            bound_claim(),
            bound_volume(),
            said("Pod", "web", "FailedUnmount", "driver name disk.example not found"),
        ],
        Verdict.BROKEN,
        "it is being deleted; disk.example says: driver name disk.example not found",
    ),
    "a snapshot at its driver": (
        Ref("VolumeSnapshot", "snap", "shop"),
        a_snapshot_with_content(annotations={BEING_CREATED: "yes"}),
        Verdict.WAITING,
        "driver disk.example was asked to take it, and has not finished",
    ),
    "a snapshot that nobody takes to its driver": (
        Ref("VolumeSnapshot", "snap", "shop"),
        a_snapshot_with_content(),
        Verdict.WAITING,
        "no snapshotter of disk.example has taken it on",
    ),
}


@pytest.mark.parametrize(("subject", "docs", "verdict", "told"), VERDICTS.values(), ids=VERDICTS)
def test_verdict_and_summary(
    subject: Ref, docs: list[dict[str, Any]], verdict: Verdict, told: str
) -> None:
    answer = explain(whole_world(*docs), subject, NOW)
    assert (answer.verdict, told in answer.summary) == (verdict, True), answer


@pytest.mark.parametrize("case", VERDICTS)
def test_every_link_names_an_object_that_was_read_or_is_named_as_missing(case: str) -> None:
    subject, docs, _, _ = VERDICTS[case]
    world = whole_world(*docs)
    read = {(it["kind"], it["metadata"]["name"]) for it in docs}
    for link in explain(world, subject, NOW).links:
        assert (link.source.kind, link.source.name) in read, link


@pytest.mark.parametrize("kind", [Volume, StorageClass, Node, Pod, CsiNode, CsiDriver, Claim])
@pytest.mark.parametrize("case", VERDICTS)
def test_what_may_not_be_read_is_said_and_never_called_missing(
    case: str, kind: type[ApiObject]
) -> None:
    subject, docs, _, _ = VERDICTS[case]
    kept = [typed(it) for it in docs if it["kind"] != kind.resource.kind]
    others = [each for each in KINDS if each is not kind]
    world = world_of(kept, whole=others, unseen={kind: "forbidden"})
    answer = explain(world, subject, NOW)
    assert f"{kind.resource.plural}: forbidden" in answer.unseen
    for link in answer.links:
        missing = "there is no such" in link.says and link.object.kind == kind.resource.kind
        assert not missing, link


def test_candidates_are_grouped_and_counted() -> None:
    small = [volume(f"small-{n}", capacity={"storage": "1Mi"}) for n in range(3)]
    other = volume("other", storageClassName="slow")
    answer = explain(whole_world(claim(), other, *small), DATA, NOW)
    groups = [(group.reason, group.count, group.names) for group in answer.candidates]
    assert groups == [
        ("requested PV is too small", 3, ("small-0", "small-1", "small-2")),
        ("storageClassName does not match", 1, ("other",)),
    ]


def test_nodes_are_grouped_by_the_reason_of_the_scheduler() -> None:
    tainted = [
        ready_node(f"n{n}", taints=[{"key": "db", "effect": "NoSchedule"}]) for n in range(4)
    ]
    cordoned = ready_node("off", unschedulable=True)
    world = whole_world(bound_claim(), bound_volume(), pod(), cordoned, *tainted)
    answer = explain(world, WEB, NOW)
    assert [(group.kind, group.reason, group.count) for group in answer.candidates] == [
        ("Node", "node(s) had untolerated taint(s)", 4),
        ("Node", "node(s) were unschedulable", 1),
    ]
    assert [fix.command for fix in answer.fixes] == [
        "kubectl taint node n0 db:NoSchedule-",
        "kubectl uncordon off",
    ]


TOO_LARGE = {
    "fractions of a byte are none": ("ephemeral-storage", "50Ti", "243497856615", "113Gi"),
    "what is whole stays whole": ("memory", "50Ti", "4Gi", "2Gi"),
    "little is lost of a small one": ("memory", "50Ti", "3Gi", "1536Mi"),
    "pages are bytes": ("hugepages-2Mi", "1Gi", "64Mi", "32Mi"),
    "cores have thousandths": ("cpu", "50", "3", "1500m"),
    "things are counted": ("example.com/gpu", "50", "5", "2"),
}


@pytest.mark.parametrize(("what", "asked", "has", "half"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_half_of_a_node_is_an_amount_that_the_api_takes_without_a_warning(
    what: str, asked: str, has: str, half: str
) -> None:
    node = ready_node()
    node["status"]["allocatable"][what] = has
    wants = [{"name": "c", "image": "i", "resources": {"requests": {what: asked}}}]
    answer = explain(whole_world(node, pod(volumes=[], containers=wants)), WEB, NOW)
    (fix,) = [one for one in answer.fixes if "half of what" in one.what_it_does]
    assert f'{what}: "{half}"' in fix.command


def test_the_chain_goes_from_the_claim_to_the_container() -> None:
    docs = [bound_claim(), bound_volume(), ready_node(), pod(nodeName="n1", status=RUNS)]
    steps = [(link.step, link.state) for link in explain(whole_world(*docs), DATA, NOW).links]
    assert steps == [
        (Step.CLAIM, State.DONE),
        (Step.CLASS, State.SKIPPED),
        (Step.VOLUME, State.DONE),
        (Step.SCHEDULING, State.DONE),
        (Step.ATTACHMENT, State.DONE),
        (Step.STAGING, State.DONE),
        (Step.PUBLISHING, State.DONE),
        (Step.CONTAINER, State.DONE),
    ]


def test_the_class_of_a_bound_claim_may_be_gone() -> None:
    answer = explain(whole_world(bound_claim(storageClassName="fast"), bound_volume()), DATA, NOW)
    (found,) = (link for link in answer.links if link.step is Step.CLASS)
    told = "there is no StorageClass fast; a bound claim needs none"
    assert (found.state, found.says, found.who) == (State.DONE, told, ""), found


def test_an_answer_is_the_same_after_json() -> None:
    answer = explain(whole_world(claim(), volume("other", storageClassName="slow")), DATA, NOW)
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer


def test_the_time_of_a_forced_detach_is_not_guessed() -> None:
    """Since when the volume is unwanted is known to the controller alone."""
    source = {"driver": "disk.example", "volumeHandle": "h"}
    attachment = doc(
        "VolumeAttachment",
        "link",
        spec={
            "attacher": "disk.example",
            "nodeName": "n2",
            "source": {"persistentVolumeName": "disk"},
        },
        status={"attached": True},
        metadata={"managedFields": [{"manager": "mooring", "fieldsV1": {"f:spec": {}}}]},
    )
    lost = ready_node("n2", status="Unknown")
    lost["status"]["volumesInUse"] = ["kubernetes.io/csi/disk.example^h"]
    managed = "volumes.kubernetes.io/controller-managed-attach-detach"
    here = ready_node()
    here["metadata"]["annotations"] = {managed: "true"}
    disk = bound_volume(csi=source)
    world = whole_world(bound_claim(), disk, here, lost, attachment, pod(nodeName="n1"))
    answer = explain(world, WEB, NOW)
    assert answer.verdict is Verdict.BROKEN, answer
    assert "6 minutes after its last pod there is gone" in answer.summary
    assert "2026" not in answer.summary
    assert "out-of-service" in answer.fixes[0].command
