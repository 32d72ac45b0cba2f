"""Snapshots that go, in every state that they can be in."""

from mooring.model.document import Doc
from mooring.model.wellknown import Annotation, Finalizer
from tests.fakes.objects import (
    CLAIMS,
    NAMESPACES,
    SNAPSHOT_CLASSES,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    a_claim,
    a_namespace,
)
from tests.scenarios.snapshots.cluster import Cluster
from tests.scenarios.snapshots.sidecar import Answer

MARK = {Annotation.SNAPSHOT_BEING_DELETED: "yes"}


async def taken(cluster: Cluster, **body: str) -> str:
    """A ready snapshot; returns the name of its content."""
    await cluster.claim()
    await cluster.snapshot_class(**body)
    await cluster.snapshot()
    await cluster.goes_on()
    status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
    assert status["readyToUse"]
    name: str = status["boundVolumeSnapshotContentName"]
    return name


def deletions(cluster: Cluster) -> list[str]:
    return [call for call in cluster.sidecar.calls if call.startswith("Delete")]


async def nothing_is_left(cluster: Cluster) -> None:
    assert await cluster.all(SNAPSHOTS) == []
    assert await cluster.all(SNAPSHOT_CONTENTS) == []
    assert cluster.sidecar.stored == {}
    held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
    assert Finalizer.CLAIM_AS_SOURCE not in held


async def test_delete_takes_the_content_first_then_the_snapshot(cluster: Cluster) -> None:
    async with cluster.controller():
        content = await taken(cluster)
        cluster.sidecar.deletes_fail = 3
        await cluster.delete(SNAPSHOTS, "snap")
        doc = await cluster.get(SNAPSHOT_CONTENTS, content)
        assert doc["metadata"]["annotations"] == MARK
        assert "deletionTimestamp" in doc["metadata"]
        for _ in range(3):
            await cluster.sidecar.turn()
            await cluster.settle()
            assert await cluster.find(SNAPSHOTS, "snap") is not None
        await cluster.goes_on()
        assert deletions(cluster) == [f"DeleteSnapshot handle-of-{content}"] * 4
        await nothing_is_left(cluster)


async def test_retain_keeps_the_content_and_the_snapshot_in_the_driver(cluster: Cluster) -> None:
    async with cluster.controller():
        content = await taken(cluster, deletionPolicy="Retain")
        snapshot = await cluster.get(SNAPSHOTS, "snap")
        assert snapshot["metadata"]["finalizers"] == [Finalizer.SNAPSHOT_AS_SOURCE]
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.find(SNAPSHOTS, "snap") is None
        doc = await cluster.get(SNAPSHOT_CONTENTS, content)
        assert doc["metadata"]["annotations"] == MARK
        assert doc["metadata"]["finalizers"] == [Finalizer.SNAPSHOT_CONTENT]
        await cluster.delete(SNAPSHOT_CONTENTS, content)
        await cluster.goes_on()
        assert await cluster.find(SNAPSHOT_CONTENTS, content) is None
        assert deletions(cluster) == []


async def test_a_policy_that_was_changed_to_retain_is_honoured(cluster: Cluster) -> None:
    async with cluster.controller():
        content = await taken(cluster)
        await cluster.patch(SNAPSHOT_CONTENTS, content, {"spec": {"deletionPolicy": "Retain"}})
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.find(SNAPSHOTS, "snap") is None
        assert await cluster.find(SNAPSHOT_CONTENTS, content) is not None
        assert deletions(cluster) == []


async def test_a_refused_create_leaves_nothing_and_is_not_deleted(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    cluster.sidecar.answers.append(Answer.REFUSED)
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.sidecar.turn()
        await cluster.settle()
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        await nothing_is_left(cluster)
        assert deletions(cluster) == []


async def test_an_uncertain_create_is_settled_before_the_snapshot_goes(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    cluster.sidecar.answers.extend([Answer.UNCERTAIN] * 3)
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.sidecar.turn()
        await cluster.settle()
        await cluster.delete(SNAPSHOTS, "snap")
        notes = (await cluster.content_of())["metadata"]["annotations"]
        assert notes == MARK | {Annotation.SNAPSHOT_BEING_CREATED: "yes"}
        await cluster.goes_on()
        await nothing_is_left(cluster)
        assert len(deletions(cluster)) == 1


async def test_marks_of_both_sides_survive_each_other(cluster: Cluster) -> None:
    """The sidecar marks the content while the controller decides by an older picture of it."""
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot()
        content = await cluster.content_of()
        name = content["metadata"]["name"]
        both = MARK | {Annotation.SNAPSHOT_BEING_CREATED: "yes"}
        mark = {"metadata": {"annotations": {Annotation.SNAPSHOT_BEING_CREATED: "yes"}}}
        # no turn of the event loop in between: the controller has not seen the mark
        answer = await cluster.api.patch(f"{SNAPSHOT_CONTENTS}/{name}", mark)
        assert answer.code == 200
        await cluster.api.delete(f"{SNAPSHOTS}/snap")
        await cluster.settle()
        await cluster.api.clock.advance(2)
        assert (await cluster.get(SNAPSHOT_CONTENTS, name))["metadata"]["annotations"] == both


async def test_a_content_deleted_by_hand_waits_for_its_snapshot(cluster: Cluster) -> None:
    async with cluster.controller():
        content = await taken(cluster)
        await cluster.delete(SNAPSHOT_CONTENTS, content)
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]
        assert deletions(cluster) == []
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert len(deletions(cluster)) == 1
        await nothing_is_left(cluster)


async def test_a_content_whose_snapshot_was_removed_by_force_is_left_alone(
    cluster: Cluster,
) -> None:
    async with cluster.controller():
        content = await taken(cluster)
    await cluster.patch(SNAPSHOTS, "snap", {"metadata": {"finalizers": None}})
    await cluster.delete(SNAPSHOTS, "snap")
    async with cluster.controller():
        await cluster.goes_on()
        await cluster.api.clock.advance(3600)
        doc = await cluster.get(SNAPSHOT_CONTENTS, content)
        assert "deletionTimestamp" not in doc["metadata"]
        assert deletions(cluster) == []


def restoring(name: str, **more: str) -> Doc:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snap"}
    return a_claim(name, dataSourceRef=source | more, storageClassName="")


async def test_a_claim_that_is_being_restored_holds_the_snapshot(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        await cluster.create(CLAIMS, restoring("copy"))
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.said("SnapshotDeletePending") == [
            "Snapshot is being used to restore a PVC"
        ]
        assert deletions(cluster) == []
        assert "annotations" not in (await cluster.content_of())["metadata"]
        await cluster.patch(CLAIMS, "copy", {"status": {"phase": "Bound"}}, "/status")
        await cluster.goes_on()
        assert await cluster.find(SNAPSHOTS, "snap") is None


async def test_a_provisioner_at_work_holds_the_snapshot(cluster: Cluster) -> None:
    """Even if no cache shows the claim: the provisioner's finalizer does."""
    async with cluster.controller():
        await taken(cluster)
        snapshot = await cluster.get(SNAPSHOTS, "snap")
        held = [*snapshot["metadata"]["finalizers"], Finalizer.RESTORE_SOURCE]
        await cluster.patch(SNAPSHOTS, "snap", {"metadata": {"finalizers": held}})
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert deletions(cluster) == []
        await cluster.patch(SNAPSHOTS, "snap", {"metadata": {"finalizers": held[:-1]}})
        await cluster.goes_on()
        await nothing_is_left(cluster)


async def test_a_class_that_is_gone_is_not_missed(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        await cluster.delete(SNAPSHOT_CLASSES, "snappy")
        assert "error" not in (await cluster.get(SNAPSHOTS, "snap"))["status"]
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert len(deletions(cluster)) == 1
        await nothing_is_left(cluster)


async def test_a_snapshot_goes_with_its_namespace(cluster: Cluster) -> None:
    """What the namespace lifecycle does: it deletes everything in it, claims and snapshots."""
    async with cluster.controller():
        await taken(cluster)
        await cluster.create(NAMESPACES, a_namespace("other"))
        await cluster.delete(CLAIMS, "data")
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.all(SNAPSHOTS) == []
        assert await cluster.all(SNAPSHOT_CONTENTS) == []
        assert cluster.sidecar.stored == {}


async def test_another_content_of_the_same_snapshot_keeps_it(cluster: Cluster) -> None:
    async with cluster.controller():
        content = await taken(cluster)
        handle = {"snapshotHandle": f"handle-of-{content}"}
        await cluster.static("keeper", "second", source=handle, deletionPolicy="Retain")
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.said("SnapshotDeletePending") == [
            "VolumeSnapshotContent keeper stands for the same snapshot"
        ]
        assert deletions(cluster) == []
        await cluster.delete(SNAPSHOT_CONTENTS, "keeper")
        await cluster.goes_on()
        await nothing_is_left(cluster)
