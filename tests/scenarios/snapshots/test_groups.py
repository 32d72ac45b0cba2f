"""Group snapshots: several claims at one moment, and their members."""

from typing import Any

import pytest

from mooring.controllers.snapshots.names import member_name
from mooring.model.document import Doc
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotSource, GroupSnapshotSpec
from mooring.model.meta import ObjectMeta
from mooring.model.wellknown import Annotation, Finalizer
from tests.fakes.objects import (
    CLAIMS,
    NAMESPACES,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    a_claim,
    a_namespace,
    a_snapshot,
)
from tests.scenarios.snapshots.cluster import GROUP_CLASSES, GROUP_CONTENTS, GROUPS, Cluster
from tests.scenarios.snapshots.sidecar import Answer

DRIVER_CALLS = ("CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot", "DeleteSnapshot")


async def three_claims(cluster: Cluster, **body: Any) -> None:
    for name in ("a", "b", "c"):
        await cluster.claim(name, app="db", tier=name)
    await cluster.claim("stranger")
    await cluster.group_class(**body)


async def taken(cluster: Cluster, **body: Any) -> Doc:
    await three_claims(cluster, **body)
    await cluster.group()
    await cluster.goes_on()
    group = await cluster.get(GROUPS, "all")
    assert group["status"]["readyToUse"], group
    return group


def calls(cluster: Cluster, verb: str) -> list[str]:
    return [call for call in cluster.sidecar.calls if call.startswith(verb)]


def test_members_have_the_names_of_upstream() -> None:
    metadata = ObjectMeta(uid="11111111-2222-3333-4444-555555555555")
    group = GroupSnapshot(metadata=metadata, spec=GroupSnapshotSpec(source=GroupSnapshotSource()))
    hashed = "0eda0b18653d901d2d28cc0efb9bf2139c7acb68a593a3907acae7b73de7e3c0"
    assert member_name(group, "vol-1") == f"snapshot-{hashed}"


async def test_all_chosen_claims_are_taken_at_once_and_the_group_is_ready_last(
    cluster: Cluster,
) -> None:
    async with cluster.controller():
        group = await taken(cluster)
        assert calls(cluster, "Create") == ["CreateVolumeGroupSnapshot vol-a vol-b vol-c"]
        uid = group["metadata"]["uid"]
        assert group["status"]["boundVolumeGroupSnapshotContentName"] == f"groupsnapcontent-{uid}"
        members = await cluster.all(SNAPSHOTS)
        assert sorted(each["spec"]["source"]["persistentVolumeClaimName"] for each in members) == [
            "a",
            "b",
            "c",
        ]
        for member in members:
            assert member["status"]["readyToUse"]
            assert member["status"]["volumeGroupSnapshotName"] == "all"
            assert Finalizer.SNAPSHOT_IN_GROUP in member["metadata"]["finalizers"]
            (owner,) = member["metadata"]["ownerReferences"]
            assert owner["apiVersion"] == "groupsnapshot.storage.k8s.io/v1"
            assert owner["uid"] == uid
            assert "volumeSnapshotClassName" not in member["spec"]
        contents = await cluster.all(SNAPSHOT_CONTENTS)
        assert {each["status"]["snapshotHandle"] for each in contents} == {
            *("snap-of-vol-a", "snap-of-vol-b", "snap-of-vol-c")
        }
        for content in contents:
            handle = content["metadata"]["annotations"][Annotation.GROUP_SNAPSHOT_HANDLE]
            assert content["status"]["volumeGroupSnapshotHandle"] == handle
        assert len(await cluster.said("GroupSnapshotReady")) == 1
        assert len(await cluster.said("CreatingGroupSnapshot")) == 1


async def test_expressions_of_the_selector_are_honoured(cluster: Cluster) -> None:
    async with cluster.controller():
        await three_claims(cluster)
        expression = {"key": "tier", "operator": "In", "values": ["a", "c"]}
        await cluster.group(selector={"matchExpressions": [expression]})
        await cluster.goes_on()
        assert calls(cluster, "Create") == ["CreateVolumeGroupSnapshot vol-a vol-c"]


async def test_no_claim_or_an_unbound_one_is_an_error_until_it_is_bound(
    cluster: Cluster,
) -> None:
    async with cluster.controller():
        await cluster.group_class()
        await cluster.group()
        assert await cluster.said("GroupSnapshotContentCreationFailed") == [
            "Failed to create group snapshot content with error"
            " label selector app=db for group snapshot not applied to any PVC"
        ]
        await cluster.claim("a", app="db")
        await cluster.goes_on()
        assert (await cluster.get(GROUPS, "all"))["status"]["readyToUse"]


async def test_one_claim_of_another_driver_spoils_the_group(cluster: Cluster) -> None:
    async with cluster.controller():
        await cluster.claim("a", app="db")
        await cluster.claim("b", driver="e.example.com", app="db")
        await cluster.group_class()
        await cluster.group()
        await cluster.goes_on()
        (message,) = await cluster.said("CreateGroupSnapshotContentFailed")
        assert message.startswith(
            "Volume CSI driver (e.example.com) mismatch with VolumeGroupSnapshotClass"
        )
        assert cluster.sidecar.calls == []


async def test_a_group_that_is_not_ready_yet_has_its_members_already(cluster: Cluster) -> None:
    cluster.sidecar.answers.extend([Answer.NOT_READY] * 2)
    async with cluster.controller():
        await three_claims(cluster)
        await cluster.group()
        await cluster.sidecar.turn()
        await cluster.settle()
        await cluster.api.clock.advance(2)
        assert len(await cluster.all(SNAPSHOTS)) == 3
        assert not (await cluster.get(GROUPS, "all"))["status"]["readyToUse"]
        await cluster.goes_on()
        assert (await cluster.get(GROUPS, "all"))["status"]["readyToUse"]


async def test_an_incomplete_answer_is_never_ready(cluster: Cluster) -> None:
    cluster.sidecar.forgets_members = 1
    async with cluster.controller():
        await three_claims(cluster)
        await cluster.group()
        await cluster.goes_on()
        status = (await cluster.get(GROUPS, "all"))["status"]
        assert status["readyToUse"] is False
        assert "2 snapshots for 3 volumes" in status["error"]["message"]
        assert await cluster.all(SNAPSHOTS) == []
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        assert len(calls(cluster, "DeleteVolumeGroupSnapshot")) == 1
        assert await cluster.all(GROUP_CONTENTS) == []


async def nothing_is_left(cluster: Cluster) -> None:
    for collection in (GROUPS, GROUP_CONTENTS, SNAPSHOTS, SNAPSHOT_CONTENTS):
        assert await cluster.all(collection) == [], collection
    assert cluster.sidecar.groups == {}


async def test_a_group_is_deleted_as_a_whole(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        await nothing_is_left(cluster)
        assert len(calls(cluster, "DeleteVolumeGroupSnapshot")) == 1
        assert calls(cluster, "DeleteSnapshot") == []


async def test_a_member_cannot_go_before_its_group(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        name = (await cluster.all(SNAPSHOTS))[0]["metadata"]["name"]
        await cluster.delete(SNAPSHOTS, name)
        await cluster.goes_on()
        (message,) = await cluster.said("SnapshotDeletePending")
        assert message.startswith(
            f"deletion of the individual volume snapshot default/{name} is not allowed as it"
            " belongs to group snapshot default/all."
        )
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        await nothing_is_left(cluster)
        assert calls(cluster, "DeleteSnapshot") == []


async def test_retain_keeps_the_contents_and_lets_the_snapshots_go(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster, deletionPolicy="Retain")
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        assert await cluster.all(GROUPS) == []
        assert await cluster.all(SNAPSHOTS) == []
        assert len(await cluster.all(SNAPSHOT_CONTENTS)) == 3
        assert len(await cluster.all(GROUP_CONTENTS)) == 1
        assert calls(cluster, "Delete") == []


async def test_a_restore_from_a_member_holds_the_group(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        name = (await cluster.all(SNAPSHOTS))[0]["metadata"]["name"]
        source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}
        await cluster.create(CLAIMS, a_claim("copy", dataSource=source, storageClassName=""))
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        assert await cluster.said("SnapshotDeletePending") == [
            f"Snapshot {name} belonging to VolumeGroupSnapshot all is being used to restore a PVC"
        ]
        assert calls(cluster, "Delete") == []
        await cluster.patch(CLAIMS, "copy", {"status": {"phase": "Bound"}}, "/status")
        await cluster.goes_on()
        await nothing_is_left(cluster)


async def test_a_snapshot_elsewhere_that_names_the_group_does_not_hold_it(
    cluster: Cluster,
) -> None:
    async with cluster.controller():
        group = await taken(cluster)
        foreign = a_snapshot("foreign", "data")
        foreign["metadata"] |= {
            "namespace": "elsewhere",
            "finalizers": [Finalizer.RESTORE_SOURCE],
            "ownerReferences": [
                {
                    "apiVersion": "groupsnapshot.storage.k8s.io/v1",
                    "kind": "VolumeGroupSnapshot",
                    "name": "all",
                    "uid": group["metadata"]["uid"],
                }
            ],
        }
        await cluster.create(NAMESPACES, a_namespace("elsewhere"))
        await cluster.create(SNAPSHOTS.replace("default", "elsewhere"), foreign)
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        await nothing_is_left(cluster)


UNFINISHED = {
    "refused": ([Answer.REFUSED], 0),
    "uncertain, then taken": ([Answer.UNCERTAIN] * 3, 1),
}


@pytest.mark.parametrize(("answers", "deletions"), UNFINISHED.values(), ids=UNFINISHED)
async def test_an_unfinished_group_can_be_deleted(
    cluster: Cluster, answers: list[Answer], deletions: int
) -> None:
    cluster.sidecar.answers.extend(answers)
    async with cluster.controller():
        await three_claims(cluster)
        await cluster.group()
        await cluster.sidecar.turn()
        await cluster.settle()
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        await nothing_is_left(cluster)
        assert len(calls(cluster, "DeleteVolumeGroupSnapshot")) == deletions


async def test_members_of_an_older_version_of_the_api_are_recognised(cluster: Cluster) -> None:
    async with cluster.controller():
        await taken(cluster)
        for member in await cluster.all(SNAPSHOTS):
            (owner,) = member["metadata"]["ownerReferences"]
            old = owner | {"apiVersion": "groupsnapshot.storage.k8s.io/v1beta2"}
            change = {"metadata": {"ownerReferences": [old]}}
            await cluster.patch(SNAPSHOTS, member["metadata"]["name"], change)
        await cluster.delete(GROUPS, "all")
        await cluster.goes_on()
        await nothing_is_left(cluster)


async def test_the_secret_of_a_group_is_noted_on_its_members_too(cluster: Cluster) -> None:
    prefix = "csi.storage.k8s.io/group-snapshotter-secret-"
    names = {"name": "s", "namespace": "${volumegroupsnapshot.namespace}"}
    async with cluster.controller():
        await taken(cluster, parameters={prefix + key: value for key, value in names.items()})
        (content,) = await cluster.all(GROUP_CONTENTS)
        key = "groupsnapshot.storage.kubernetes.io/deletion-secret-name"
        notes = content["metadata"]["annotations"]
        assert (notes[key], notes[f"{key}space"]) == ("s", "default")
        for member in await cluster.all(SNAPSHOT_CONTENTS):
            key = "snapshot.storage.kubernetes.io/deletion-secret-name"
            notes = member["metadata"]["annotations"]
            assert (notes[key], notes[f"{key}space"]) == ("s", "default")


async def test_a_group_made_by_hand_is_joined_by_snapshots_made_by_hand(cluster: Cluster) -> None:
    handles = {"volumeGroupSnapshotHandle": "g-1", "volumeSnapshotHandles": ["old-1"]}
    async with cluster.controller():
        await cluster.create(
            GROUP_CONTENTS,
            {
                "apiVersion": "groupsnapshot.storage.k8s.io/v1",
                "kind": "VolumeGroupSnapshotContent",
                "metadata": {"name": "by-hand"},
                "spec": {
                    "deletionPolicy": "Delete",
                    "driver": "d.example.com",
                    "source": {"groupSnapshotHandles": handles},
                    "volumeGroupSnapshotRef": {"name": "all", "namespace": "default"},
                },
            },
        )
        await cluster.group_class()
        made = await cluster.group(volumeGroupSnapshotContentName="by-hand")
        await cluster.goes_on()
        assert (await cluster.get(GROUPS, "all"))["status"]["readyToUse"]
        assert await cluster.all(SNAPSHOTS) == []

        await cluster.static()
        source = {"volumeSnapshotContentName": "content"}
        await cluster.snapshot(source=source, volumeSnapshotClassName=None)
        await cluster.goes_on()
        snapshot = await cluster.get(SNAPSHOTS, "snap")
        assert snapshot["status"]["volumeGroupSnapshotName"] == "all"
        (owner,) = snapshot["metadata"]["ownerReferences"]
        assert owner["uid"] == made["metadata"]["uid"]


async def test_a_default_class_of_groups_is_taken(cluster: Cluster) -> None:
    annotations = {"groupsnapshot.storage.kubernetes.io/is-default-class": "true"}
    async with cluster.controller():
        await cluster.claim("a", app="db")
        await cluster.create(
            GROUPS,
            {
                "apiVersion": "groupsnapshot.storage.k8s.io/v1",
                "kind": "VolumeGroupSnapshot",
                "metadata": {"name": "all"},
                "spec": {"source": {"selector": {"matchLabels": {"app": "db"}}}},
            },
        )
        words = "Failed to set default group snapshot class with error"
        assert await cluster.said("SetDefaultGroupSnapshotClassFailed") == [
            f"{words} cannot find default group snapshot class"
        ]
        await cluster.group_class("given", annotations=annotations)
        await cluster.goes_on()
        group = await cluster.get(GROUPS, "all")
        assert group["spec"]["volumeGroupSnapshotClassName"] == "given"
        assert group["status"]["readyToUse"]
        assert len(await cluster.all(GROUP_CLASSES)) == 1
