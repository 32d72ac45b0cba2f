"""Snapshots of claims, from the request to readiness."""

from typing import Any

import pytest

from mooring.model.wellknown import Finalizer
from tests.fakes.objects import CLAIMS, SNAPSHOT_CLASSES, SNAPSHOT_CONTENTS, SNAPSHOTS, a_claim
from tests.scenarios.snapshots.cluster import DEFAULT_CLASS, Cluster
from tests.scenarios.snapshots.sidecar import Answer

BEING_CREATED = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"


async def test_a_snapshot_of_a_bound_claim_becomes_ready(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        made = await cluster.snapshot()
        await cluster.goes_on()

        snapshot, content = await cluster.get(SNAPSHOTS, "snap"), await cluster.content_of()
        uid = made["metadata"]["uid"]
        assert snapshot["status"] == {
            "boundVolumeSnapshotContentName": f"snapcontent-{uid}",
            "creationTime": "2023-11-14T22:13:20Z",
            "readyToUse": True,
            "restoreSize": "1Gi",
        }
        assert snapshot["metadata"]["finalizers"] == [
            Finalizer.SNAPSHOT_AS_SOURCE,
            Finalizer.SNAPSHOT_BOUND,
        ]
        spec = content["spec"]
        reference = spec.pop("volumeSnapshotRef")
        assert (reference["name"], reference["namespace"], reference["uid"]) == (
            "snap",
            "default",
            uid,
        )
        assert spec == {
            "source": {"volumeHandle": "vol-data"},
            "driver": "d.example.com",
            "deletionPolicy": "Delete",
            "volumeSnapshotClassName": "snappy",
            "sourceVolumeMode": "Filesystem",
        }
        assert "annotations" not in content["metadata"]
        assert Finalizer.CLAIM_AS_SOURCE not in (await cluster.get(CLAIMS, "data"))["metadata"].get(
            "finalizers", []
        )
        assert cluster.sidecar.calls == [f"CreateSnapshot snapshot-{uid}"]
        key = "default/snap"
        assert await cluster.said("CreatingSnapshot") == [
            f"Waiting for a snapshot {key} to be created by the CSI driver."
        ]
        assert await cluster.said("SnapshotCreated") == [
            f"Snapshot {key} was successfully created by the CSI driver."
        ]
        assert await cluster.said("SnapshotReady") == [f"Snapshot {key} is ready to use."]


async def test_the_content_has_its_finalizer_and_the_claim_its_own_from_the_start(
    cluster: Cluster,
) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot()
        content, claim = await cluster.content_of(), await cluster.get(CLAIMS, "data")
        assert content["metadata"]["finalizers"] == [Finalizer.SNAPSHOT_CONTENT]
        assert content["metadata"]["generation"] == 1  # nobody has written to it since
        assert Finalizer.CLAIM_AS_SOURCE in claim["metadata"]["finalizers"]


async def test_without_a_class_the_default_of_the_driver_is_taken(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class("other", driver="e.example.com", annotations=DEFAULT_CLASS)
    await cluster.snapshot_class("ours", annotations=DEFAULT_CLASS)
    async with cluster.controller():
        await cluster.snapshot(volumeSnapshotClassName=None)
        await cluster.goes_on()
        snapshot = await cluster.get(SNAPSHOTS, "snap")
        assert snapshot["spec"]["volumeSnapshotClassName"] == "ours"
        assert snapshot["status"]["readyToUse"]


async def test_no_default_or_two_are_an_error_until_there_is_one(cluster: Cluster) -> None:
    await cluster.claim()
    async with cluster.controller():
        await cluster.snapshot(volumeSnapshotClassName=None)
        words = "Failed to set default snapshot class with error"
        status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
        assert status["error"]["message"] == f"{words} cannot find default snapshot class"
        assert await cluster.said("SetDefaultSnapshotClassFailed") == [status["error"]["message"]]

        for name in ("one", "two"):
            doc = {"annotations": DEFAULT_CLASS}
            await cluster.snapshot_class(name)
            await cluster.patch(SNAPSHOT_CLASSES, name, {"metadata": doc})
        # the first default class was enough: a snapshot does not wait for the second
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["spec"]["volumeSnapshotClassName"] == "one"

        await cluster.snapshot("second", volumeSnapshotClassName=None)
        status = (await cluster.get(SNAPSHOTS, "second"))["status"]
        assert status["error"]["message"] == f"{words} 2 default snapshot classes were found"
        await cluster.delete(SNAPSHOT_CLASSES, "one")
        await cluster.goes_on()
        second = await cluster.get(SNAPSHOTS, "second")
        assert second["status"]["readyToUse"]
        assert "error" not in second["status"]


async def test_a_class_that_comes_later_is_enough(cluster: Cluster) -> None:
    await cluster.claim()
    async with cluster.controller():
        await cluster.snapshot()
        missing = 'volumesnapshotclass.snapshot.storage.k8s.io "snappy" not found'
        assert await cluster.said("GetSnapshotClassFailed") == [
            f"Failed to get snapshot class with error {missing}"
        ]
        await cluster.snapshot_class()
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]


async def test_a_class_of_another_driver_is_refused(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class(driver="e.example.com")
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.goes_on()
        (message,) = await cluster.said("SnapshotContentCreationFailed")
        assert "Volume CSI driver (d.example.com) mismatch" in message
        assert await cluster.all(SNAPSHOT_CONTENTS) == []
        assert cluster.sidecar.calls == []


async def test_a_claim_that_is_bound_later_is_copied_then(cluster: Cluster) -> None:
    await cluster.snapshot_class()
    await cluster.claim()
    await cluster.patch(CLAIMS, "data", {"status": {"phase": "Pending"}}, "/status")
    async with cluster.controller():
        await cluster.snapshot()
        assert await cluster.said("SnapshotContentCreationFailed") == [
            "Failed to create snapshot content with error the PVC data is not yet bound to a PV,"
            " will not attempt to take a snapshot"
        ]
        await cluster.api.clock.advance(20)
        await cluster.patch(CLAIMS, "data", {"status": {"phase": "Bound"}}, "/status")
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]


async def test_a_claim_that_is_being_deleted_is_not_copied(cluster: Cluster) -> None:
    await cluster.snapshot_class()
    await cluster.claim()
    await cluster.patch(CLAIMS, "data", {"metadata": {"finalizers": ["example.com/held"]}})
    await cluster.delete(CLAIMS, "data")
    async with cluster.controller():
        await cluster.snapshot()
        (message,) = await cluster.said("SnapshotContentCreationFailed")
        assert message.endswith("cannot add finalizer on claim because it is being deleted")
        assert await cluster.all(SNAPSHOT_CONTENTS) == []
        await cluster.delete(SNAPSHOTS, "snap")
        assert await cluster.find(SNAPSHOTS, "snap") is None


async def test_a_snapshot_that_is_not_ready_yet_is_shown_with_its_time(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    cluster.sidecar.answers.extend([Answer.NOT_READY] * 4)
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.sidecar.turn()
        await cluster.settle()
        status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
        assert status["creationTime"]
        assert not status["readyToUse"]
        held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
        assert Finalizer.CLAIM_AS_SOURCE in held
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]
        assert len(await cluster.said("SnapshotReady")) == 1


async def test_an_error_of_the_driver_is_shown_until_it_is_over(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    cluster.sidecar.answers.append(Answer.REFUSED)
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.sidecar.turn()
        await cluster.settle()
        status = (await cluster.get(SNAPSHOTS, "snap"))["status"]
        assert status["error"]["message"] == "Failed to create snapshot: certainly not taken"
        assert status["readyToUse"] is False
        await cluster.goes_on()
        assert "error" not in (await cluster.get(SNAPSHOTS, "snap"))["status"]


async def test_a_claim_is_held_until_its_last_unfinished_snapshot_is_gone(
    cluster: Cluster,
) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot("good")
        await cluster.goes_on()
        await cluster.snapshot("bad")
        cluster.sidecar.answers.extend([Answer.REFUSED] * 1)
        await cluster.sidecar.turn()
        await cluster.settle()
        await cluster.delete(CLAIMS, "data")
        await cluster.settle()
        held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
        assert Finalizer.CLAIM_AS_SOURCE in held
        await cluster.delete(SNAPSHOTS, "bad")
        await cluster.goes_on()
        held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
        assert held == [Finalizer.CLAIM_PROTECTION]  # of another controller
        assert (await cluster.get(SNAPSHOTS, "good"))["status"]["readyToUse"]


SECRETS: dict[str, tuple[dict[str, str], Any]] = {
    "templates are filled in": (
        {"name": "s-${volumesnapshot.name}", "namespace": "${volumesnapshot.namespace}"},
        ("s-snap", "default"),
    ),
    "a namespace cannot depend on the snapshot's name": (
        {"name": "s", "namespace": "${volumesnapshot.name}"},
        'error resolving value "${volumesnapshot.name}": invalid tokens: ["volumesnapshot.name"]',
    ),
    "one of the two is not enough": (
        {"name": "s"},
        "either name and namespace for Snapshotter secrets specified, Both must be specified",
    ),
}


@pytest.mark.parametrize(("templates", "then"), SECRETS.values(), ids=SECRETS)
async def test_the_secret_of_the_class_is_noted_on_the_content(
    cluster: Cluster, templates: dict[str, str], then: Any
) -> None:
    prefix = "csi.storage.k8s.io/snapshotter-secret-"
    await cluster.claim()
    await cluster.snapshot_class(parameters={prefix + k: v for k, v in templates.items()})
    async with cluster.controller():
        await cluster.snapshot()
        if isinstance(then, str):
            (message,) = await cluster.said("SnapshotContentCreationFailed")
            assert message == f"Failed to create snapshot content with error {then}"
            assert await cluster.all(SNAPSHOT_CONTENTS) == []
        else:
            key = "snapshot.storage.kubernetes.io/deletion-secret-name"
            notes = (await cluster.content_of())["metadata"]["annotations"]
            assert (notes[key], notes[f"{key}space"]) == then


async def test_one_writes_little(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller(100) as client:
        await cluster.snapshot()
        await cluster.goes_on()
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]
        events = 3
        assert 100 - client.left - events == 6


async def test_an_idle_snapshot_costs_no_write(cluster: Cluster) -> None:
    await cluster.claim()
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.goes_on()
    before = cluster.api.parts.backend.store.revision
    async with cluster.controller():
        await cluster.api.clock.advance(1200)
    assert cluster.api.parts.backend.store.revision == before


async def test_a_claim_without_a_csi_volume_is_refused(cluster: Cluster) -> None:
    await cluster.snapshot_class()
    async with cluster.controller():
        await cluster.create(CLAIMS, a_claim("data"))
        await cluster.snapshot("none", claim="absent")
        assert await cluster.said("SnapshotContentCreationFailed") == [
            'Failed to create snapshot content with error persistentvolumeclaim "absent" not found'
        ]
