"""Contents made by hand, and contents and snapshots that point at each other wrongly."""

from typing import Any

from mooring.model.wellknown import Finalizer
from tests.fakes.objects import SNAPSHOT_CONTENTS, SNAPSHOTS
from tests.scenarios.snapshots.cluster import Cluster

STATIC: dict[str, Any] = {
    "source": {"volumeSnapshotContentName": "content"},
    "volumeSnapshotClassName": None,
}


async def test_a_content_and_a_snapshot_that_name_each_other_are_bound(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.static()
        assert "finalizers" not in (await cluster.get(SNAPSHOT_CONTENTS, "content"))["metadata"]
        made = await cluster.snapshot(**STATIC)
        await cluster.goes_on()
        content = await cluster.get(SNAPSHOT_CONTENTS, "content")
        assert content["spec"]["volumeSnapshotRef"]["uid"] == made["metadata"]["uid"]
        assert content["metadata"]["finalizers"] == [Finalizer.SNAPSHOT_CONTENT]
        status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
        assert status["readyToUse"]
        assert status["restoreSize"] == "1Gi"
        assert cluster.sidecar.calls == ["ListSnapshots old-1"]


async def test_a_bound_content_that_loses_its_finalizer_gets_it_back(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.static()
        await cluster.snapshot(**STATIC)
        await cluster.patch(SNAPSHOT_CONTENTS, "content", {"metadata": {"finalizers": None}})
        content = await cluster.get(SNAPSHOT_CONTENTS, "content")
        assert content["metadata"]["finalizers"] == [Finalizer.SNAPSHOT_CONTENT]


async def test_a_static_snapshot_under_delete_goes_with_its_content(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.static()
        await cluster.snapshot(**STATIC)
        await cluster.goes_on()
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert cluster.sidecar.calls[-1] == "DeleteSnapshot old-1"
        assert await cluster.all(SNAPSHOTS) == []
        assert await cluster.all(SNAPSHOT_CONTENTS) == []


async def test_a_content_that_comes_later_is_bound(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.snapshot(**STATIC)
        assert await cluster.said("SnapshotContentMissing") == ["VolumeSnapshotContent is missing"]
        await cluster.static()
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]


async def test_a_content_of_another_snapshot_is_left_alone(cluster: Cluster) -> None:
    async with cluster.controller():
        before = await cluster.static(snapshot="other")
        await cluster.snapshot(**STATIC)
        await cluster.goes_on()
        assert await cluster.said("SnapshotContentMisbound") == [
            "VolumeSnapshotContent [content] is bound to a different snapshot"
        ]
        assert await cluster.get(SNAPSHOT_CONTENTS, "content") == before
        await cluster.delete(SNAPSHOTS, "snap")
        assert await cluster.all(SNAPSHOTS) == []
        assert await cluster.get(SNAPSHOT_CONTENTS, "content") == before


async def test_a_content_bound_to_an_earlier_snapshot_of_the_name_is_left_alone(
    cluster: Cluster,
) -> None:
    async with cluster.controller():
        reference = {"name": "snap", "namespace": "default", "uid": "earlier"}
        await cluster.static(volumeSnapshotRef=reference)
        await cluster.snapshot(**STATIC)
        await cluster.goes_on()
        assert len(await cluster.said("SnapshotContentMisbound")) == 1
        content = await cluster.get(SNAPSHOT_CONTENTS, "content")
        assert content["spec"]["volumeSnapshotRef"] == reference
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        content = await cluster.get(SNAPSHOT_CONTENTS, "content")
        assert "deletionTimestamp" not in content["metadata"]


async def test_a_dynamic_content_is_not_bound_as_a_static_one(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.static(source={"volumeHandle": "vol-data"})
        await cluster.snapshot(**STATIC)
        assert await cluster.said("SnapshotContentMismatch") == [
            "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one"
        ]


async def test_an_empty_handle_is_shown_and_not_bound(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.static(source={"snapshotHandle": ""})
        await cluster.snapshot(**STATIC)
        assert await cluster.said("SnapshotBindFailed") == [
            "Snapshot failed to bind VolumeSnapshotContent, the handle in spec.source is empty"
        ]
        (content,) = await cluster.all(SNAPSHOT_CONTENTS)
        assert "uid" not in content["spec"]["volumeSnapshotRef"]


async def test_a_lost_content_is_shown_and_never_replaced(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.goes_on()
        content = await cluster.content_of()
        name = content["metadata"]["name"]
        await cluster.delete(SNAPSHOT_CONTENTS, name)
        await cluster.patch(SNAPSHOT_CONTENTS, name, {"metadata": {"finalizers": None}})
        await cluster.goes_on()
        status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
        assert status["readyToUse"] is False
        assert status["error"]["message"] == "VolumeSnapshotContent is missing"
        assert await cluster.all(SNAPSHOT_CONTENTS) == []
        assert len(cluster.sidecar.calls) == 1

        kept = {key: content["metadata"][key] for key in ("name", "finalizers")}
        restored = {**content, "metadata": kept}
        await cluster.create(SNAPSHOT_CONTENTS, restored)
        # the sidecar asks for the same snapshot by the same name, and is told that it exists
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]


async def test_a_content_that_points_elsewhere_makes_its_snapshot_unready(
    cluster: Cluster,
) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.goes_on()
        name = (await cluster.content_of())["metadata"]["name"]
        elsewhere = {"spec": {"volumeSnapshotRef": {"uid": "another"}}}
        await cluster.patch(SNAPSHOT_CONTENTS, name, elsewhere)
        assert await cluster.said("SnapshotMisbound") == [
            "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly"
        ]
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"] is False
        await cluster.delete(SNAPSHOTS, "snap")
        await cluster.goes_on()
        assert await cluster.all(SNAPSHOTS) == []
        assert "deletionTimestamp" not in (await cluster.all(SNAPSHOT_CONTENTS))[0]["metadata"]
