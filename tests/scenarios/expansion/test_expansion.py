"""Claims that ask for more."""

from typing import Any

import pytest

from mooring.model.document import Doc
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_claim, a_class, a_volume
from tests.scenarios.neighbours import Cluster

PRE_RESIZE = "volume.alpha.kubernetes.io/pre-resize-capacity"
RESIZER = "volume.kubernetes.io/storage-resizer"
UNUSED = {"type": "Unused", "status": "True"}  # written before, so that nobody else writes
FLEX: Doc = {"csi": None, "flexVolume": {"driver": "example.com/flex"}}
GCE: Doc = {"csi": None, "gcePersistentDisk": {"pdName": "disk"}}


async def bound(cluster: Cluster, uid: str = "", **source: Any) -> None:
    """A claim of 5Gi, bound to a volume of that size, as the binder leaves them."""
    await cluster.create(CLASSES, a_class(allowVolumeExpansion=True))
    claim = await cluster.create(
        CLAIMS, a_claim(storage="5Gi", storageClassName="fast", volumeName="disk")
    )
    ref = {"namespace": "default", "name": "data", "uid": uid or claim["metadata"]["uid"]}
    await cluster.create(VOLUMES, a_volume(claimRef=ref, storageClassName="fast", **source))
    status: Doc = {
        "phase": "Bound",
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
    }
    status["conditions"] = [UNUSED]
    await cluster.patch(CLAIMS, "data", {"status": status}, "/status")


async def ask_for(cluster: Cluster, size: str) -> None:
    await cluster.patch(CLAIMS, "data", {"spec": {"resources": {"requests": {"storage": size}}}})


async def shown(cluster: Cluster) -> Doc:
    """What of claim and volume growing is about."""
    claim, volume = await cluster.get(CLAIMS, "data"), await cluster.get(VOLUMES, "disk")
    status = claim["status"]
    return {
        "volume": volume["spec"]["capacity"]["storage"],
        "remembers": volume["metadata"].get("annotations", {}).get(PRE_RESIZE),
        "capacity": status["capacity"]["storage"],
        "allocated": status.get("allocatedResources", {}).get("storage"),
        "at": status.get("allocatedResourceStatuses", {}).get("storage"),
        "conditions": [c["type"] for c in status.get("conditions", []) if c["type"] != "Unused"],
        "resizer": claim["metadata"].get("annotations", {}).get(RESIZER),
    }


PENDING: Doc = {
    "volume": "10Gi",
    "remembers": "5Gi",
    "capacity": "5Gi",
    "allocated": "10Gi",
    "at": "NodeResizePending",
    "conditions": ["Resizing", "FileSystemResizePending"],
    "resizer": "example.com/flex",
}
DONE = PENDING | {"remembers": None, "capacity": "10Gi", "at": None, "conditions": []}


async def finish_on_node(cluster: Cluster, size: str = "10Gi") -> None:
    """What a node writes when the file system has grown."""
    status = {
        "capacity": {"storage": size},
        "allocatedResourceStatuses": None,
        "conditions": [UNUSED],
    }
    await cluster.patch(CLAIMS, "data", {"status": status}, "/status")


async def test_growing_a_csi_volume_is_left_to_its_resizer(cluster: Cluster) -> None:
    await bound(cluster)
    async with cluster.neighbours():
        assert await cluster.events("ExternalExpanding") == []
        before = await shown(cluster)
        await ask_for(cluster, "10Gi")
        assert await cluster.events("ExternalExpanding") == [
            (
                "Normal",
                "PersistentVolumeClaim/data",
                "waiting for an external controller to expand this PVC",
                "volume_expand",
            )
        ]
        assert await shown(cluster) == before


async def test_the_driver_that_took_over_is_named(cluster: Cluster) -> None:
    await bound(cluster, **GCE)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        assert [event[2] for event in await cluster.events("ExternalExpanding")] == [
            "CSI migration enabled for kubernetes.io/gce-pd; "
            "waiting for external resizer to expand the pvc"
        ]
        assert (await shown(cluster))["resizer"] == "pd.csi.storage.gke.io"
        assert (await shown(cluster))["at"] is None


async def test_a_flex_volume_grows_and_its_node_finishes(cluster: Cluster) -> None:
    await bound(cluster, **FLEX)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        assert await shown(cluster) == PENDING
        await finish_on_node(cluster)
        assert await shown(cluster) == DONE
        assert "annotations" not in (await cluster.get(VOLUMES, "disk"))["metadata"]
        assert await cluster.events("VolumeResizeFailed") == []


async def test_annotations_of_others_outlive_the_memory_of_the_old_size(cluster: Cluster) -> None:
    await bound(cluster, **FLEX)
    await cluster.patch(VOLUMES, "disk", {"metadata": {"annotations": {"note": "mine"}}})
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        await finish_on_node(cluster)
        volume = await cluster.get(VOLUMES, "disk")
        assert volume["metadata"]["annotations"] == {"note": "mine"}


async def test_a_flex_block_device_is_finished_at_once(cluster: Cluster) -> None:
    await bound(cluster, **FLEX, volumeMode="Block")
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        assert await shown(cluster) == DONE
        assert await cluster.events("VolumeResizeSuccessful") == [
            (
                "Normal",
                "PersistentVolumeClaim/data",
                "ExpandVolume succeeded for volume default/data",
                "volume_expand",
            )
        ]


async def test_a_request_lowered_before_the_node_has_finished_changes_nothing(
    cluster: Cluster,
) -> None:
    await bound(cluster, **FLEX)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        await ask_for(cluster, "7Gi")
        assert await shown(cluster) == PENDING
        await finish_on_node(cluster)
        assert await shown(cluster) == DONE


async def test_a_node_that_gave_up_gets_another_try_when_people_ask_again(
    cluster: Cluster,
) -> None:
    await bound(cluster, **FLEX)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        gave_up = {"allocatedResourceStatuses": {"storage": "NodeResizeInfeasible"}}
        await cluster.patch(CLAIMS, "data", {"status": gave_up}, "/status")
        await ask_for(cluster, "7Gi")
        await ask_for(cluster, "8Gi")
        assert await shown(cluster) == PENDING


async def test_the_second_growth_begins_where_the_first_ended(cluster: Cluster) -> None:
    await bound(cluster, **FLEX)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
        await ask_for(cluster, "20Gi")
        assert await shown(cluster) == PENDING, "what was begun is finished first"
        await finish_on_node(cluster)
        assert await shown(cluster) == PENDING | {
            "volume": "20Gi",
            "remembers": "5Gi",
            "capacity": "10Gi",
            "allocated": "20Gi",
        }


async def test_a_volume_that_points_at_another_claim_is_not_touched(cluster: Cluster) -> None:
    await bound(cluster, uid="someone-elses", **FLEX)
    async with cluster.neighbours() as client:
        before = await shown(cluster)
        await ask_for(cluster, "10Gi")
        left = client.left
        await cluster.api.clock.advance(3600)
        assert await shown(cluster) == before
        assert client.left == left, "looked at again, without a write"


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
@pytest.mark.parametrize("writes", range(5))
async def test_killed_after_any_write_the_next_start_finishes(
    cluster: Cluster, writes: int, mode: str
) -> None:
    await bound(cluster, **FLEX, volumeMode=mode)
    async with cluster.neighbours(writes):
        await ask_for(cluster, "10Gi")
        halfway = await shown(cluster)
        assert (halfway["volume"], halfway["remembers"]) in [
            ("5Gi", None),
            ("10Gi", "5Gi" if mode == "Filesystem" else None),
        ], "a grown volume knows what its file system has"
    async with cluster.neighbours():
        if mode == "Filesystem":
            assert await shown(cluster) == PENDING
            await finish_on_node(cluster)
        assert await shown(cluster) == DONE


@pytest.mark.parametrize("writes", [0, 1])
async def test_killed_before_the_old_size_was_forgotten_the_next_start_forgets_it(
    cluster: Cluster, writes: int
) -> None:
    await bound(cluster, **FLEX)
    async with cluster.neighbours():
        await ask_for(cluster, "10Gi")
    async with cluster.neighbours(writes):
        await finish_on_node(cluster)
    async with cluster.neighbours():
        assert await shown(cluster) == DONE
