"""Volumes are attached, and detached, by their drivers."""

import asyncio

import pytest

from mooring.csi.capability import ControllerCapability, Mount, VolumeCapability, WireMode
from mooring.csi.outcome import Code
from mooring.csi.requests import AttachVolume
from mooring.errors import Conflict
from tests.fakes.objects import ATTACHMENTS, CSI_NODES, NODES, VOLUMES
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails, Waits

LINK, VOLUME = f"{ATTACHMENTS}/link", f"{VOLUMES}/pv1"
FINALIZER = "external-attacher/d-example-com"
HERE = {("h-pv1", "id-n1")}


@pytest.fixture
async def place(cluster: Cluster) -> Cluster:
    """A node with the driver, and a volume of it."""
    await cluster.node("n1")
    await cluster.static_volume(csi={"volumeAttributes": {"a": "b"}, "fsType": "xfs"})
    return cluster


async def test_an_attachment_becomes_so(place: Cluster) -> None:
    async with place.attacher() as client:
        await place.attachment()
    link = await place.get(LINK)
    assert link["status"] == {"attached": True, "attachmentMetadata": {"device": "/dev/x"}}
    assert link["metadata"]["finalizers"] == [FINALIZER]
    assert link["metadata"]["annotations"] == {
        "csi.alpha.kubernetes.io/node-id": "id-n1",
        "attacher.mooring.dev/volume-handle": "h-pv1",
    }
    assert FINALIZER in await place.finalizers(VOLUME)
    assert place.driver.requests == [
        AttachVolume(
            "h-pv1",
            "id-n1",
            VolumeCapability(Mount("xfs"), WireMode.SINGLE_NODE_WRITER),
            volume_context={"a": "b"},
        )
    ]
    assert client.calls == [
        "patch PersistentVolume",
        "patch VolumeAttachment",
        "patch VolumeAttachment",
    ]


async def test_records_are_written_before_the_driver_is_asked(place: Cluster) -> None:
    gate = asyncio.Event()
    place.driver.next("attach", Waits(gate))
    async with place.attacher():
        await place.attachment()
        assert FINALIZER in await place.finalizers(LINK)
        assert FINALIZER in await place.finalizers(VOLUME)
        assert (await place.status())["attached"] is False
        gate.set()
        await place.settle()
    assert (await place.status())["attached"] is True


async def test_a_deleted_attachment_is_undone_and_its_volume_let_go(place: Cluster) -> None:
    async with place.attacher():
        await place.attachment()
        await place.delete(VOLUME)
        assert FINALIZER in await place.finalizers(VOLUME)
        await place.delete(LINK)
    assert place.driver.calls == ["attach h-pv1 id-n1", "detach h-pv1 id-n1"]
    assert await place.find(LINK) is None
    assert await place.find(VOLUME) is None


async def test_a_volume_being_deleted_is_not_attached(place: Cluster) -> None:
    await place.patch(VOLUME, {"metadata": {"finalizers": ["example.com/mine"]}})
    await place.delete(VOLUME)
    async with place.attacher():
        await place.attachment()
    status = await place.status()
    assert status["attached"] is False
    assert status["attachError"]["message"] == 'PersistentVolume "pv1" is marked for deletion'
    assert not place.driver.calls
    assert not await place.finalizers(LINK)


async def test_an_attach_without_an_answer_is_repeated_in_the_same_words(
    place: Cluster,
) -> None:
    place.driver.next("attach", After(Fails(Code.DEADLINE_EXCEEDED, "late")))
    async with place.attacher():
        await place.attachment()
        error = (await place.status())["attachError"]
        assert (error["message"], error["errorCode"]) == (
            "rpc error: code = DeadlineExceeded desc = late",
            4,
        )
        await place.passes(1)
    status = await place.status()
    assert status["attached"] is True
    assert "attachError" not in status
    first, second = place.driver.requests
    assert first == second


async def test_an_attachment_deleted_before_the_answer_is_undone(place: Cluster) -> None:
    gate = asyncio.Event()
    place.driver.next("attach", Waits(gate))
    place.driver.next("detach", Fails(Code.INTERNAL, "busy"))
    async with place.attacher():
        await place.attachment()
        await place.delete(LINK)
        gate.set()
        await place.settle()
        status = await place.status()
        assert status["attached"] is True, "uncertain: it counts as attached"
        assert status["detachError"]["message"] == "rpc error: code = Internal desc = busy"
        await place.passes(1)
    assert await place.find(LINK) is None
    assert not place.driver.attachments


async def test_a_node_that_is_gone_is_detached_by_the_record(place: Cluster) -> None:
    async with place.attacher():
        await place.attachment()
        await place.delete(f"{CSI_NODES}/n1")
        await place.delete(f"{NODES}/n1")
        await place.delete(LINK)
    assert not place.driver.attachments
    assert await place.find(LINK) is None


async def test_a_volume_taken_away_by_force_is_detached_by_the_record(place: Cluster) -> None:
    async with place.attacher():
        await place.attachment()
    await place.delete(VOLUME)
    await place.patch(VOLUME, {"metadata": {"finalizers": None}})
    async with place.attacher():
        await place.delete(LINK)
    assert not place.driver.attachments
    assert await place.find(LINK) is None


async def test_a_detach_that_was_not_recorded_is_repeated(place: Cluster) -> None:
    async with place.attacher():
        await place.attachment()
    async with place.attacher(writes=0):
        await place.delete(LINK)
    assert not place.driver.attachments
    assert FINALIZER in await place.finalizers(LINK)
    async with place.attacher():
        await place.settle()
    assert place.driver.count("detach") == 2
    assert await place.find(LINK) is None


async def test_a_volume_detached_behind_our_back_is_attached_again(place: Cluster) -> None:
    async with place.attacher():
        await place.attachment()
        place.driver.attachments.clear()
        await place.passes(60)
        assert place.driver.count("attach") == 2
        assert place.driver.attachments == HERE
        await place.passes(120)
        assert place.driver.count("attach") == 2, "once"


async def test_without_attachments_the_driver_is_not_asked_for_lists(place: Cluster) -> None:
    async with place.attacher():
        await place.passes(600)
    assert not place.driver.calls


@pytest.mark.parametrize(
    "missing",
    [ControllerCapability.LIST_VOLUMES, ControllerCapability.LIST_VOLUMES_PUBLISHED_NODES],
    ids=lambda capability: capability.name,
)
async def test_a_driver_that_cannot_list_is_believed(
    place: Cluster, missing: ControllerCapability
) -> None:
    place.driver.without(missing)
    async with place.attacher():
        await place.attachment()
        await place.passes(600)
    assert place.driver.calls == ["attach h-pv1 id-n1"]


async def test_a_driver_that_does_not_attach_has_it_so_at_once(place: Cluster) -> None:
    place.driver.without(ControllerCapability.PUBLISH_UNPUBLISH_VOLUME)
    async with place.attacher():
        await place.attachment()
        assert await place.status() == {"attached": True}
        assert not await place.finalizers(LINK)
        await place.delete(LINK)
    assert await place.find(LINK) is None
    assert not place.driver.calls


async def test_an_old_error_is_cleared_by_success(place: Cluster) -> None:
    place.driver.next("attach", *[Fails(Code.RESOURCE_EXHAUSTED, "full")] * 2)
    async with place.attacher():
        await place.attachment()
        assert (await place.status())["attachError"]["errorCode"] == 8
        await place.passes(1)
        assert (await place.status())["attachError"]["errorCode"] == 8
        await place.passes(2)
    assert "attachError" not in await place.status()


async def test_modes_that_csi_cannot_say_together_are_an_error(place: Cluster) -> None:
    await place.static_volume("pv2", accessModes=["ReadOnlyMany", "ReadWriteOnce"])
    async with place.attacher():
        await place.attachment("pv2")
    error = (await place.status())["attachError"]
    assert error["message"] == (
        "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume"
    )
    assert "errorCode" not in error
    assert not place.driver.calls


@pytest.mark.parametrize("able", [True, False], ids=["told", "not told"])
async def test_readonly_is_told_to_drivers_that_know_it(place: Cluster, *, able: bool) -> None:
    if not able:
        place.driver.without(ControllerCapability.PUBLISH_READONLY)
    await place.static_volume("pv2", csi={"readOnly": True})
    async with place.attacher():
        await place.attachment("pv2")
    (request,) = place.driver.requests
    assert isinstance(request, AttachVolume)
    assert request.readonly is able


async def test_a_node_that_registers_later_wakes_its_attachments(cluster: Cluster) -> None:
    await cluster.static_volume()
    async with cluster.attacher():
        await cluster.attachment()
        error = (await cluster.status())["attachError"]
        assert error["message"] == 'csinode.storage.k8s.io "n1" not found'
        await cluster.node("n1")
    assert (await cluster.status())["attached"] is True


async def test_a_secret_goes_to_the_driver_and_nowhere_else(place: Cluster) -> None:
    reference = {"name": "key", "namespace": "default"}
    await place.static_volume("pv2", csi={"controllerPublishSecretRef": reference})
    async with place.attacher():
        await place.attachment("pv2")
        error = (await place.status())["attachError"]
        assert error["message"] == 'failed to load secret "default/key": secrets "key" not found'
        await place.secret()
        await place.passes(1)
        await place.delete(LINK)
    assert [each.reveal() for each in place.driver.secrets] == [{"password": "hush"}] * 2
    assert "hush" not in repr(place.driver.requests)


async def test_others_who_write_do_not_have_it_attached_twice(place: Cluster) -> None:
    async with place.attacher() as client:
        gate = asyncio.Event()
        place.driver.next("attach", Waits(gate))
        await place.attachment()
        client.refusals["patch VolumeAttachment"] = [Conflict("somebody wrote")]
        gate.set()
        await place.settle()
    assert place.driver.count("attach") == 1
    assert (await place.status())["attached"] is True


async def test_an_attachment_of_another_driver_is_left_alone(place: Cluster) -> None:
    spec = {"attacher": "o.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "x"}}
    meta = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
    async with place.attacher():
        await place.create(ATTACHMENTS, {**meta, "metadata": {"name": "link"}, "spec": spec})
    assert not place.driver.calls
    assert not await place.finalizers(LINK)
