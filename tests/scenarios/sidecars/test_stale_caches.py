"""Nothing outside is destroyed on the word of a cache: watches are held back, people edit."""

from typing import Any

import pytest

from mooring.csi.outcome import Code
from mooring.errors import Forbidden, ServerTimeout
from mooring.model.attachment import Attachment
from mooring.model.csi_node import CsiNode
from mooring.model.volume import Volume
from tests.fakes.objects import ATTACHMENTS, CLAIMS, CSI_NODES, VOLUMES
from tests.scenarios.sidecars.cluster import INTENT, Cluster
from tests.scenarios.sidecars.driver import NAME, After, Fails, Makes

CLAIM, LINK = f"{CLAIMS}/data", f"{ATTACHMENTS}/link"
RETAIN = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
NODE_ID = "csi.alpha.kubernetes.io/node-id"


async def provisioned(cluster: Cluster) -> str:
    await cluster.storage_class()
    await cluster.claim()
    assert await cluster.phase() == "Bound"
    return str((await cluster.volume_of())["metadata"]["name"])


async def released(cluster: Cluster) -> str:
    """A volume whose deletion the driver has refused so far: it will be tried again in a second."""
    name = await provisioned(cluster)
    cluster.driver.next("delete", Fails(Code.INTERNAL))
    await cluster.delete(CLAIM)
    assert cluster.driver.count("delete") == 1
    return f"{VOLUMES}/{name}"


async def retained(cluster: Cluster, volume: str) -> None:
    await cluster.patch(volume, RETAIN)


async def bound_again(cluster: Cluster, volume: str) -> None:
    await cluster.patch(volume, {"spec": {"claimRef": None}})
    name = volume.rpartition("/")[2]
    await cluster.claim("heir", volumeName=name)
    assert await cluster.phase("heir") == "Bound"


async def freed(cluster: Cluster, volume: str) -> None:
    await cluster.patch(volume, {"spec": {"claimRef": None}})


async def taken_by_hand(cluster: Cluster, volume: str) -> None:
    """Its object is taken away by force, to keep what is behind it."""
    await cluster.delete(volume)
    await cluster.patch(volume, {"metadata": {"finalizers": None}})


EDITS = (retained, bound_again, freed, taken_by_hand)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
async def test_a_volume_that_is_kept_by_now_is_not_deleted(cluster: Cluster, edit: Any) -> None:
    async with cluster.provisioner() as client:
        volume = await released(cluster)
        client.hold(Volume)
        await edit(cluster, volume)
        await cluster.passes(600)
        assert cluster.driver.count("delete") == 1, "not on the word of a cache"
        client.let_through()
        await cluster.passes(600)
    assert len(cluster.driver.volumes) == 1
    assert cluster.driver.count("delete") == 1


@pytest.mark.parametrize(
    "refusal", [Forbidden("not you"), ServerTimeout("late")], ids=["forbidden", "timeout"]
)
async def test_what_cannot_be_looked_at_stays_and_is_told_once(
    cluster: Cluster, refusal: Exception
) -> None:
    async with cluster.provisioner() as client:
        await provisioned(cluster)
        client.refusals["get PersistentVolume"] = [refusal] * 4
        await cluster.delete(CLAIM)
        await cluster.passes(3)
        assert cluster.driver.count("delete") == 0
        assert await cluster.told("VolumeFailedDelete") == [
            f"not deleted: it could not be looked at: {refusal}"
        ]
        await cluster.passes(60)
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


async def test_a_volume_that_another_object_keeps_is_not_deleted(cluster: Cluster) -> None:
    async with cluster.provisioner():
        name = await provisioned(cluster)
        handle = (await cluster.volume_of())["spec"]["csi"]["volumeHandle"]
        await cluster.static_volume("twin", csi={"volumeHandle": handle})
        await cluster.delete(CLAIM)
        await cluster.passes(60)
        assert cluster.driver.count("delete") == 0
        events = await cluster.api.get("/api/v1/namespaces/default/events")
        assert "persistentvolume twin stands for the same volume and keeps it" in events.text
        await cluster.delete(f"{VOLUMES}/twin")
        await cluster.passes(300)
    assert await cluster.find(f"{VOLUMES}/{name}") is None
    assert not cluster.driver.volumes


async def test_two_released_objects_of_one_volume_do_not_wait_for_each_other(
    cluster: Cluster,
) -> None:
    async with cluster.provisioner():
        for name in ("one", "two"):
            await cluster.static_volume(
                name, csi={"volumeHandle": "h"}, persistentVolumeReclaimPolicy="Delete"
            )
            await cluster.claim(name, storageClassName="", volumeName=name)
        await cluster.delete(f"{CLAIMS}/one")
        assert cluster.driver.count("delete") == 0
        await cluster.delete(f"{CLAIMS}/two")
        await cluster.passes(300)
    assert not await cluster.volumes()


async def test_an_uncertain_creation_that_somebody_tells_of_is_not_deleted(
    cluster: Cluster,
) -> None:
    await cluster.storage_class()
    late = After(Fails(Code.DEADLINE_EXCEEDED))
    cluster.driver.next("create", late, late)
    async with cluster.provisioner() as client:
        await cluster.claim()
        (handle,) = cluster.driver.volumes
        client.hold(Volume)
        await cluster.static_volume("found", csi={"volumeHandle": handle})
        await cluster.patch(f"{VOLUMES}/found", {"spec": {"storageClassName": "fast"}})
        await cluster.patch(CLAIM, {"spec": {"volumeName": "found"}})
        assert await cluster.phase() == "Bound"
        await cluster.passes(60)
        assert INTENT not in await cluster.finalizers(CLAIM)
        client.let_through()
        await cluster.passes(60)
        assert cluster.driver.count("delete") == 0
        await cluster.delete(CLAIM)
    assert handle in cluster.driver.volumes


async def test_an_unfit_volume_that_somebody_tells_of_is_not_deleted(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
    async with cluster.provisioner():
        await cluster.claim()
        (handle,) = cluster.driver.volumes
        await cluster.static_volume("found", csi={"volumeHandle": handle})
        cluster.driver.next("create", Makes({"capacity_bytes": 5}))
        await cluster.passes(1)
        assert cluster.driver.count("create") == 2
    assert cluster.driver.count("delete") == 0
    assert INTENT in await cluster.finalizers(CLAIM)


REFUSALS = (
    *(Code.UNAUTHENTICATED, Code.INTERNAL, Code.PERMISSION_DENIED, Code.UNKNOWN),
    *(Code.FAILED_PRECONDITION, Code.UNIMPLEMENTED, Code.NOT_FOUND, Code.DATA_LOSS),
)


@pytest.mark.parametrize("code", REFUSALS, ids=lambda code: code.name)
@pytest.mark.parametrize("deleted", ["before", "after"])
async def test_a_refusal_after_an_unclear_answer_is_no_proof(
    cluster: Cluster, code: Code, deleted: str
) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)), Fails(code))
    async with cluster.provisioner():
        await cluster.claim()
        if deleted == "after":
            await cluster.passes(1)
        await cluster.delete(CLAIM)
        await cluster.passes(10)
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes, "leaked"


async def attached(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.static_volume()


async def renamed(cluster: Cluster, node_id: str = "id-new") -> None:
    """The node's driver registers again, under another id."""
    await cluster.delete(f"{CSI_NODES}/n1")
    entry = {"name": NAME, "nodeID": node_id, "topologyKeys": []}
    meta = {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "n1"}}
    await cluster.create(CSI_NODES, {**meta, "spec": {"drivers": [entry]}})


async def test_a_volume_is_detached_from_the_id_it_was_attached_to(cluster: Cluster) -> None:
    await attached(cluster)
    async with cluster.attacher():
        await cluster.attachment()
        await renamed(cluster)
        await cluster.delete(LINK)
    assert cluster.driver.calls == ["attach h-pv1 id-n1", "detach h-pv1 id-n1"]
    assert await cluster.find(LINK) is None


async def test_what_may_be_attached_under_the_old_id_is_detached_before_the_note_changes(
    cluster: Cluster,
) -> None:
    await attached(cluster)
    cluster.driver.next("attach", After(Fails(Code.DEADLINE_EXCEEDED)))
    cluster.driver.next("detach", Fails(Code.INTERNAL, "busy"))
    async with cluster.attacher():
        await cluster.attachment()
        await renamed(cluster)
        link = await cluster.get(LINK)
        assert link["metadata"]["annotations"][NODE_ID] == "id-n1", "still on record"
        assert "busy" in link["status"]["attachError"]["message"]
        await cluster.passes(10)
        link = await cluster.get(LINK)
        assert link["metadata"]["annotations"][NODE_ID] == "id-new"
        assert link["status"] == {"attached": True, "attachmentMetadata": {"device": "/dev/x"}}
        assert cluster.driver.attachments == {("h-pv1", "id-new")}
    assert [call for call in cluster.driver.calls if call != "list"] == [
        "attach h-pv1 id-n1",
        "detach h-pv1 id-n1",
        "detach h-pv1 id-n1",
        "attach h-pv1 id-new",
    ]


async def test_a_volume_made_anew_under_its_name_is_not_the_one_that_is_detached(
    cluster: Cluster,
) -> None:
    await attached(cluster)
    async with cluster.attacher():
        await cluster.attachment()
    await cluster.delete(f"{VOLUMES}/pv1")
    await cluster.patch(f"{VOLUMES}/pv1", {"metadata": {"finalizers": None}})
    await cluster.static_volume(csi={"volumeHandle": "h-new"})
    async with cluster.attacher():
        await cluster.delete(LINK)
    assert cluster.driver.calls[-1] == "detach h-pv1 id-n1"
    assert not cluster.driver.attachments


async def test_an_attachment_of_the_same_volume_there_keeps_it(cluster: Cluster) -> None:
    """Backup tools make attachments of their own, under names of their own."""
    await attached(cluster)
    async with cluster.attacher():
        await cluster.attachment()
        await cluster.attachment(name="backup")
        await cluster.delete(LINK)
        assert await cluster.find(LINK) is None
        assert cluster.driver.attachments == {("h-pv1", "id-n1")}
        await cluster.delete(f"{ATTACHMENTS}/backup")
    assert not cluster.driver.attachments
    assert cluster.driver.count("detach") == 1


async def test_an_attachment_of_the_same_name_is_not_detached_for_its_predecessor(
    cluster: Cluster,
) -> None:
    await attached(cluster)
    async with cluster.attacher() as client:
        await cluster.attachment()
        cluster.driver.next("detach", Fails(Code.INTERNAL))
        await cluster.delete(LINK)
        client.hold(Attachment)
        await cluster.patch(LINK, {"metadata": {"finalizers": None}})
        await cluster.attachment()
        await cluster.passes(60)
        assert cluster.driver.count("detach") == 1, "not on the word of a cache"
        client.let_through()
        await cluster.passes(300)
    assert (await cluster.status())["attached"] is True
    assert cluster.driver.attachments == {("h-pv1", "id-n1")}


async def test_a_deleted_attachment_that_waits_for_its_node_is_tried_at_once(
    cluster: Cluster,
) -> None:
    await attached(cluster)
    async with cluster.attacher():
        await cluster.attachment()
    await cluster.patch(LINK, {"metadata": {"annotations": {NODE_ID: None}}})
    await cluster.delete(f"{CSI_NODES}/n1")
    async with cluster.attacher():
        await cluster.delete(LINK)
        await cluster.passes(40)
        assert await cluster.find(LINK) is not None
        await cluster.csi_node("n1")
        await cluster.passes(1)
        assert await cluster.find(LINK) is None
    assert not cluster.driver.attachments


async def test_an_attachment_in_doubt_that_waits_for_its_node_is_tried_at_once(
    cluster: Cluster,
) -> None:
    await attached(cluster)
    async with cluster.attacher():
        await cluster.attachment()
        await cluster.delete(f"{CSI_NODES}/n1")
        cluster.driver.attachments.clear()
        await cluster.passes(60)
        assert cluster.driver.count("attach") == 1
        await cluster.csi_node("n1")
        await cluster.passes(1)
        assert cluster.driver.attachments == {("h-pv1", "id-n1")}


async def test_who_is_outrun_time_and_again_waits_longer_each_time(cluster: Cluster) -> None:
    await attached(cluster)
    async with cluster.attacher() as client:
        client.hold(Volume)
        await cluster.patch(f"{VOLUMES}/pv1", {"metadata": {"labels": {"a": "b"}}})
        await cluster.attachment()
        for _ in range(100):
            await cluster.passes(0.1)
        tries = client.calls.count("patch PersistentVolume")
        assert 2 <= tries <= 12, "with pauses that grow"
        client.let_through()
        await cluster.passes(10)
    assert (await cluster.status())["attached"] is True


async def test_a_node_id_on_the_word_of_a_cache_moves_nothing(cluster: Cluster) -> None:
    """The record is of a later registration than the cache knows."""
    await attached(cluster)
    async with cluster.attacher() as client:
        client.hold(CsiNode)
        await renamed(cluster)
        async with cluster.attacher():
            cluster.driver.next("attach", After(Fails(Code.DEADLINE_EXCEEDED)))
            client.hold(Attachment)
            await cluster.attachment()
        assert cluster.driver.attachments == {("h-pv1", "id-new")}
        client.let_through()
        client.hold(CsiNode)
        await cluster.passes(5)
        assert cluster.driver.count("detach") == 0
        assert ("h-pv1", "id-n1") not in cluster.driver.attachments
