"""Snapshots through the snapshotter: taken, polled, found, deleted; what fails, what is kept."""

import pytest

from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.snapshotter.options import NamePattern, SnapshotterOptions
from tests.fakes.objects import SECRETS, SNAPSHOT_CLASSES, SNAPSHOT_CONTENTS, SNAPSHOTS
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Dies, Fails, Makes
from tests.scenarios.sidecars.snapshot_driver import NANOSECONDS, SIZE
from tests.scenarios.sidecars.snapshot_world import (
    CREATED,
    DELETED,
    HELD,
    RECORD,
    SECRET,
    SnapshotWorld,
)

FINAL = (2, 3, 5, 6, 7, 9, 11, 12, 13, 15, 16)
UNCERTAIN = (1, 4, 8, 10, 14)
STATIC = {"snapshotHandle": "s-1"}


@pytest.fixture
def world(cluster: Cluster) -> SnapshotWorld:
    return SnapshotWorld(cluster)


async def name_of(world: SnapshotWorld, snapshot: str = "snap") -> str:
    uid = (await world.content(snapshot))["spec"]["volumeSnapshotRef"]["uid"]
    return f"snapshot-{uid}"


# taking


async def test_a_snapshot_is_taken_under_the_uid_of_its_object(world: SnapshotWorld) -> None:
    await world.snapshot_class(pool="fast")
    async with world.cluster.snapshotter() as client:
        await world.snapshot()
        name = await name_of(world)
        assert await world.status() == {
            "snapshotHandle": f"id-of-{name}",
            "readyToUse": True,
            "creationTime": NANOSECONDS,
            "restoreSize": SIZE,
        }
        assert await world.notes() == {}
        assert world.cluster.driver.calls == [f"take {name}"]
        (request,) = world.driver.requests
        assert (request.source_volume_id, request.parameters) == ("vol-1", {"pool": "fast"})
        assert client.calls == ["patch VolumeSnapshotContent"] * 3, "recorded, told, closed"
        await world.cluster.passes(3600)
        assert len(world.cluster.driver.calls) == 1
    assert await world.cluster.told() == []


async def test_it_is_on_record_before_the_driver_is_asked(world: SnapshotWorld) -> None:
    await world.snapshot_class(pool="fast")
    world.cluster.driver.next("take", Dies())
    async with world.cluster.snapshotter():
        await world.snapshot(finalizers=[])
        notes = await world.notes()
        assert notes[CREATED] == "yes"
        assert (
            notes[RECORD] == f'{{"name":"{await name_of(world)}","parameters":{{"pool":"fast"}}}}'
        )
        assert (await world.content())["metadata"]["finalizers"] == [HELD]


async def test_names_and_metadata_follow_the_flags(world: SnapshotWorld) -> None:
    world.cluster.snapshotting = SnapshotterOptions(
        names=NamePattern("nightly", 8), extra_create_metadata=True
    )
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        content = await world.snapshot()
    uid = content["spec"]["volumeSnapshotRef"]["uid"].replace("-", "")
    (request,) = world.driver.requests
    assert request.name == f"nightly-{uid[:8]}"
    assert request.parameters == {
        "csi.storage.k8s.io/volumesnapshot/name": "snap",
        "csi.storage.k8s.io/volumesnapshot/namespace": "default",
        "csi.storage.k8s.io/volumesnapshotcontent/name": "content-snap",
    }


@pytest.mark.parametrize(
    ("missing", "rpc"),
    [
        ((), "get"),
        ((ControllerCapability.GET_SNAPSHOT,), "look"),
        ((ControllerCapability.GET_SNAPSHOT, ControllerCapability.LIST_SNAPSHOTS), "take"),
    ],
)
async def test_one_that_is_not_ready_is_asked_about_with_growing_pauses_and_no_writes(
    world: SnapshotWorld, missing: tuple[ControllerCapability, ...], rpc: str
) -> None:
    world.cluster.driver.without(*missing)
    world.driver.unready = 8
    await world.snapshot_class()
    async with world.cluster.snapshotter() as client:
        await world.snapshot()
        assert (await world.status())["readyToUse"] is False
        assert (await world.status())["creationTime"] == NANOSECONDS
        writes = len(client.calls)
        for seconds in (1, 2, 4, 8, 10, 10, 10):
            await world.cluster.passes(seconds)
            assert (await world.status())["readyToUse"] is False
        assert len(client.calls) == writes
        await world.cluster.passes(10)
        assert (await world.status())["readyToUse"] is True
        assert world.cluster.driver.count(rpc) == 8 + (rpc == "take")
        assert await world.notes() == {}
        assert len({(each.name, *each.parameters) for each in world.driver.requests}) == 1


async def test_a_driver_that_lists_only_what_is_ready_is_asked_by_name(
    world: SnapshotWorld,
) -> None:
    world.cluster.driver.without(ControllerCapability.GET_SNAPSHOT)
    world.driver.unready, world.driver.hides_unready = 2, True
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.cluster.passes(60)
        assert (await world.status())["readyToUse"] is True
        assert await world.notes() == {}
    assert len(world.driver.snapshots) == 1


async def test_a_snapshot_that_is_never_ready_stays_unready_and_can_be_deleted(
    world: SnapshotWorld,
) -> None:
    world.driver.unready = 10**6
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.cluster.passes(600)
        assert (await world.status())["readyToUse"] is False
        assert 60 <= world.cluster.driver.count("get") <= 70
        await world.delete()
        await world.cluster.passes(10)
    assert await world.find() is None
    assert not world.driver.snapshots


async def test_without_a_time_of_creation_it_is_that_of_the_answer(world: SnapshotWorld) -> None:
    world.cluster.driver.next("take", Makes({"created_nanoseconds": 0}))
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        now = world.cluster.clock.now().timestamp()
        assert (await world.status())["creationTime"] // 10**9 == int(now)


# what fails


@pytest.mark.parametrize("code", FINAL)
async def test_a_certain_no_is_told_once_and_tried_again(world: SnapshotWorld, code: int) -> None:
    world.cluster.driver.next("take", *[Fails(Code(code), "no")] * 3)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        why = f'failed to take snapshot of the volume vol-1: "{_text(code)}"'
        assert (await world.status())["error"]["message"] == f"Failed to create snapshot: {why}"
        assert (await world.status())["readyToUse"] is False
        assert await world.notes() == {}
        await world.cluster.passes(1)
        await world.cluster.passes(2)
        told = await world.cluster.told("SnapshotCreationFailed")
        assert told == [f"Failed to create snapshot: {why}"]
        await world.cluster.passes(4)
        assert (await world.status())["readyToUse"] is True
        assert "error" not in await world.status()


@pytest.mark.parametrize("code", FINAL)
async def test_after_a_certain_no_nothing_is_deleted(world: SnapshotWorld, code: int) -> None:
    world.cluster.driver.next("take", *[Fails(Code(code), "no")] * 20)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete()
        await world.cluster.passes(5)
    assert await world.find() is None
    assert not world.cluster.driver.count("drop")


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("code", UNCERTAIN)
async def test_after_an_uncertain_answer_the_same_is_asked_until_it_is_certain(
    world: SnapshotWorld, code: int, *, is_restarted: bool
) -> None:
    """Even though it is deleted, its class is gone, and the flags are others."""
    world.cluster.driver.next("take", After(Fails(Code(code))), *[Fails(Code(code))] * 5)
    await world.snapshot_class(pool="fast")
    async with world.cluster.snapshotter():
        await world.snapshot()
        assert (await world.notes())[CREATED] == "yes"
        if not is_restarted:
            await _delete_unsettled(world)
    world.cluster.snapshotting = SnapshotterOptions(names=NamePattern("other"))
    async with world.cluster.snapshotter():
        if is_restarted:
            await _delete_unsettled(world)
        await world.cluster.passes(60)
    assert await world.find() is None
    assert not world.driver.snapshots
    assert world.cluster.driver.count("drop") == 1
    assert len({(each.name, each.parameters["pool"]) for each in world.driver.requests}) == 1


async def _delete_unsettled(world: SnapshotWorld) -> None:
    await world.cluster.delete(f"{SNAPSHOT_CLASSES}/daily")
    await world.delete()
    assert await world.find() is not None
    assert not world.cluster.driver.count("drop")


@pytest.mark.parametrize("code", [2, 6, 7, 12, 13, 15, 16])
async def test_after_an_uncertain_answer_a_refusal_of_one_call_is_no_proof(
    world: SnapshotWorld, code: int
) -> None:
    took = After(Fails(Code.UNAVAILABLE))
    world.cluster.driver.next("take", took, *[Fails(Code(code))] * 5)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete()
        await world.cluster.passes(120)
    assert await world.find() is None
    assert not world.driver.snapshots


@pytest.mark.parametrize("code", [3, 5, 9, 11])
async def test_an_uncertain_answer_and_then_a_certain_no_leave_nothing(
    world: SnapshotWorld, code: int
) -> None:
    world.cluster.driver.next("take", Fails(Code.UNAVAILABLE), *[Fails(Code(code))] * 9)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete()
        await world.cluster.passes(60)
    assert await world.find() is None
    assert not world.cluster.driver.count("drop")


async def test_a_key_that_looks_like_ours_is_refused_before_anything_is_recorded(
    world: SnapshotWorld,
) -> None:
    await world.snapshot_class(**{"csi.storage.k8s.io/foo": "bar"})
    async with world.cluster.snapshotter():
        await world.snapshot()
        assert "found unknown parameter key" in (await world.status())["error"]["message"]
        assert CREATED not in await world.notes()
        await world.delete()
        await world.cluster.passes(10)
    assert await world.find() is None
    assert not world.cluster.driver.calls


async def test_a_class_that_comes_later_is_noticed_at_once(world: SnapshotWorld) -> None:
    async with world.cluster.snapshotter():
        await world.snapshot()
        message = (await world.status())["error"]["message"]
        assert message.endswith("failed to take snapshot content-snap without a snapshot class")
        await world.snapshot_class()
        assert (await world.status())["readyToUse"] is True


async def test_secrets_are_read_when_they_are_needed(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot(annotations=SECRET)
        assert not world.cluster.driver.calls
        assert CREATED not in await world.notes()
        message = (await world.status())["error"]["message"]
        assert 'cannot get credentials for snapshot content "content-snap"' in message
        assert '"key" not found' in message
        await world.cluster.secret("key", "b25l")
        await world.cluster.passes(2)
        assert (await world.status())["readyToUse"] is True
        await world.cluster.patch(f"{SECRETS}/key", {"data": {"password": "dHdv"}})
        await world.delete()
        assert await world.find() is None
    revealed = [each.reveal() for each in world.cluster.driver.secrets]
    assert revealed == [{"password": "one"}, {"password": "two"}]


async def test_a_secret_that_is_gone_holds_the_deletion_up(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    await world.cluster.secret()
    async with world.cluster.snapshotter():
        await world.snapshot(annotations=SECRET)
        await world.cluster.delete(f"{SECRETS}/key")
        await world.delete()
        (told,) = await world.cluster.told("SnapshotDeleteError")
        assert told.startswith("Failed to get snapshot credentials")
        assert world.driver.snapshots
        await world.cluster.secret()
        await world.cluster.passes(10)
    assert await world.find() is None
    assert not world.driver.snapshots


# drivers that lie


async def test_a_snapshot_of_another_content_is_not_taken_for_ones_own(
    world: SnapshotWorld,
) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot("first")
        first = (await world.status("first"))["snapshotHandle"]
        again = {"snapshot_id": first}
        world.cluster.driver.next("take", *[Makes(again)] * 9)
        await world.snapshot("second")
        status = await world.status("second")
        assert "which is that of volumesnapshotcontent content-first" in status["error"]["message"]
        assert "snapshotHandle" not in status
        await world.delete("second")
        await world.cluster.passes(60)
        assert await world.find("second") is None
        assert not world.cluster.driver.count("drop")
        assert (await world.status("first"))["readyToUse"] is True


async def test_a_snapshot_of_another_volume_never_becomes_ready_and_does_not_leak(
    world: SnapshotWorld,
) -> None:
    lie = {"source_volume_id": "vol-9"}
    for rpc in ("take", "get"):
        world.cluster.driver.next(rpc, *[Makes(lie)] * 99)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.cluster.passes(60)
        status = await world.status()
        assert status["readyToUse"] is False
        assert "a snapshot of volume vol-9 instead of vol-1" in status["error"]["message"]
        await world.delete()
        await world.cluster.passes(60)
    assert await world.find() is None
    assert not world.driver.snapshots


async def test_another_id_for_the_same_name_does_not_replace_the_first(
    world: SnapshotWorld,
) -> None:
    world.cluster.driver.without(
        ControllerCapability.GET_SNAPSHOT, ControllerCapability.LIST_SNAPSHOTS
    )
    world.driver.unready = 10**6
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        first = (await world.status())["snapshotHandle"]
        world.cluster.driver.next("take", Makes({"snapshot_id": "other", "ready_to_use": True}))
        await world.cluster.passes(1)
        status = await world.status()
        assert (status["snapshotHandle"], status["readyToUse"]) == (first, False)
        assert f"snapshot other instead of {first}" in status["error"]["message"]


# static ones


async def test_a_snapshot_that_exists_already_is_found(world: SnapshotWorld) -> None:
    world.cluster.driver.without(ControllerCapability.GET_SNAPSHOT)
    world.driver.has("s-1", group_snapshot_id="g-1")
    async with world.cluster.snapshotter():
        await world.snapshot(source=STATIC, volumeSnapshotClassName=None)
        assert await world.status() == {
            "snapshotHandle": "s-1",
            "readyToUse": True,
            "creationTime": NANOSECONDS,
            "restoreSize": SIZE,
            "volumeGroupSnapshotHandle": "g-1",
        }
    assert world.cluster.driver.calls == ["look s-1"]


async def test_it_is_believed_where_the_driver_cannot_be_asked(world: SnapshotWorld) -> None:
    world.cluster.driver.without(
        ControllerCapability.GET_SNAPSHOT, ControllerCapability.LIST_SNAPSHOTS
    )
    async with world.cluster.snapshotter():
        await world.snapshot(source=STATIC)
        status = await world.status()
        assert status["readyToUse"] is True
        assert status["creationTime"] // 10**9 == int(world.cluster.clock.now().timestamp())
        assert "restoreSize" not in status
    assert not world.cluster.driver.calls


async def test_one_that_the_driver_does_not_know_is_looked_for_again(world: SnapshotWorld) -> None:
    async with world.cluster.snapshotter():
        await world.snapshot(source=STATIC)
        await world.cluster.passes(600)
        message = (await world.status())["error"]["message"]
        assert message.endswith("can not find snapshot for snapshotID s-1")
        assert world.cluster.driver.count("get") < 12, "slowly"
        world.driver.has("s-1")
        await world.cluster.passes(300)
        assert (await world.status())["readyToUse"] is True
        assert "error" not in await world.status()


async def test_the_secret_of_a_list_is_that_of_its_class(world: SnapshotWorld) -> None:
    world.driver.has("s-1")
    await world.cluster.secret("for-content-snap")
    prefix = "csi.storage.k8s.io/snapshotter-list-secret"
    name = {f"{prefix}-name": "for-${volumesnapshotcontent.name}", f"{prefix}-namespace": "default"}
    await world.snapshot_class(**name)
    async with world.cluster.snapshotter():
        await world.snapshot(source=STATIC)
        assert (await world.status())["readyToUse"] is True
    assert [each.reveal() for each in world.cluster.driver.secrets] == [{"password": "hush"}]


# deleting


async def test_a_deleted_snapshot_goes(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete()
        assert await world.find() is None
    assert not world.driver.snapshots
    assert world.cluster.driver.count("drop") == 1


async def test_a_driver_that_fails_is_asked_again_to_delete(world: SnapshotWorld) -> None:
    world.cluster.driver.next("drop", *[Fails(Code.INTERNAL, "busy")] * 3)
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete()
        assert await world.find() is not None
        (told,) = await world.cluster.told("SnapshotDeleteError")
        assert told == "Failed to delete snapshot: rpc error: code = Internal desc = busy"
        await world.cluster.passes(60)
    assert await world.find() is None
    assert world.cluster.driver.count("drop") == 4


async def test_a_retained_snapshot_is_never_deleted(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot(deletionPolicy="Retain")
        await world.mark_deleted()
        await world.cluster.passes(60)
        assert DELETED in await world.notes()
        await world.delete_content()
        await world.cluster.passes(60)
    assert await world.find() is None
    assert world.driver.snapshots
    assert not world.cluster.driver.count("drop")


async def test_a_content_deleted_by_hand_waits_for_its_snapshot(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.delete_content()
        await world.cluster.passes(60)
        assert (await world.status())["readyToUse"] is True
        assert not world.cluster.driver.count("drop")
        await world.mark_deleted()
        assert await world.find() is None
    assert not world.driver.snapshots


async def test_a_mark_on_the_content_of_a_living_snapshot_deletes_nothing(
    world: SnapshotWorld,
) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.note(DELETED, "yes")
        await world.delete_content()
        await world.cluster.passes(60)
        assert world.driver.snapshots
        await world.cluster.delete(f"{SNAPSHOTS}/snap")
        await world.cluster.passes(120)
    assert await world.find() is None


async def test_a_static_one_goes_by_the_handle_that_it_was_given(world: SnapshotWorld) -> None:
    world.cluster.driver.next("get", *[Fails(Code.UNAVAILABLE)] * 99)
    world.driver.has("s-1")
    async with world.cluster.snapshotter():
        await world.snapshot(source=STATIC)
        assert "snapshotHandle" not in await world.status()
        await world.delete()
        await world.cluster.passes(5)
    assert await world.find() is None
    assert not world.driver.snapshots


async def test_what_another_content_stands_for_is_not_deleted(world: SnapshotWorld) -> None:
    world.driver.has("s-1")
    async with world.cluster.snapshotter():
        await world.snapshot("one", source=STATIC)
        await world.snapshot("two", source=STATIC, deletionPolicy="Retain")
        await world.delete("one")
        await world.cluster.passes(5)
        assert world.driver.snapshots
        (told,) = await world.cluster.told("SnapshotDeleteError")
        assert "volumesnapshotcontent content-two stands for the same snapshot" in told
        await world.delete("two")
        await world.cluster.passes(60)
        assert await world.find("one") is None, "nobody keeps it any more"


async def test_two_contents_of_one_snapshot_that_both_go_do_not_wait_for_each_other(
    world: SnapshotWorld,
) -> None:
    world.driver.has("s-1")
    async with world.cluster.snapshotter():
        await world.snapshot("one", source=STATIC)
        await world.snapshot("two", source=STATIC)
        await world.delete("one")
        await world.delete("two")
        await world.cluster.passes(60)
    assert await world.find("one") is None
    assert await world.find("two") is None


async def test_both_marks_survive_when_two_write_at_once(world: SnapshotWorld) -> None:
    world.cluster.driver.next("take", Dies())
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.note(DELETED, "yes")
        assert {CREATED, DELETED} <= (await world.notes()).keys()


async def test_an_object_that_others_hold_tells_no_more_of_a_snapshot_that_is_gone(
    world: SnapshotWorld,
) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot(finalizers=[HELD, "example.com/held"])
        await world.delete()
        assert "snapshotHandle" not in await world.status()
        assert (await world.content())["metadata"]["finalizers"] == ["example.com/held"]
        await world.cluster.passes(600)
    assert world.cluster.driver.count("drop") == 1


# members of groups


async def test_a_member_of_a_group_is_neither_taken_nor_deleted_by_itself(
    world: SnapshotWorld,
) -> None:
    marker = {"groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle": "g-1"}
    world.driver.has("s-1", source_volume_id="vol-1")
    async with world.cluster.snapshotter():
        await world.snapshot(annotations=marker)
        await world.cluster.passes(60)
        assert not world.cluster.driver.calls
        told = {"snapshotHandle": "s-1", "volumeGroupSnapshotHandle": "g-1", "readyToUse": False}
        await world.write_status(told)
        assert (await world.status())["readyToUse"] is True
        await world.delete()
        await world.cluster.passes(10)
    assert await world.find() is None
    assert world.cluster.driver.calls == ["get s-1"]


async def test_contents_of_other_drivers_are_left_alone(world: SnapshotWorld) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter() as client:
        await world.snapshot(driver="other.example.com")
        await world.delete()
        await world.cluster.passes(60)
        assert client.calls == []
    assert await world.cluster.find(f"{SNAPSHOT_CONTENTS}/content-snap") is not None


def _text(code: int) -> str:
    return f"rpc error: code = {Code(code).label} desc = no"


async def test_on_a_node_only_what_is_labelled_with_it_is_taken(world: SnapshotWorld) -> None:
    world.cluster.driver.own_node = OwnNode("n1")
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        mine = await world.snapshot("mine")
        await world.snapshot("theirs")
        await world.label("theirs", "n2")
        assert world.driver.requests == []
        await world.label("mine", "n1")
        (request,) = world.driver.requests
    assert request.name == f"snapshot-{mine['spec']['volumeSnapshotRef']['uid']}"
