"""Volumes that nobody needs go."""

from mooring.csi.outcome import Code
from tests.fakes.objects import ATTACHMENTS, CLAIMS, VOLUMES
from tests.scenarios.sidecars.cluster import FINALIZER, Cluster
from tests.scenarios.sidecars.driver import After, Fails

CLAIM = f"{CLAIMS}/data"


async def provisioned(cluster: Cluster) -> str:
    await cluster.storage_class()
    await cluster.claim()
    assert await cluster.phase() == "Bound"
    return str((await cluster.volume_of())["metadata"]["name"])


async def test_a_released_volume_is_deleted_behind_then_before(cluster: Cluster) -> None:
    async with cluster.provisioner() as client:
        name = await provisioned(cluster)
        client.calls.clear()
        await cluster.delete(CLAIM)
    assert await cluster.find(f"{VOLUMES}/{name}") is None
    assert not cluster.driver.volumes
    assert cluster.driver.count("delete") == 1
    assert client.calls == ["delete PersistentVolume", "patch PersistentVolume"]


async def test_an_attached_volume_is_not_deleted(cluster: Cluster) -> None:
    async with cluster.provisioner():
        name = await provisioned(cluster)
        await cluster.attachment(name)
        await cluster.delete(CLAIM)
        assert cluster.driver.count("delete") == 0
        answer = await cluster.api.get("/api/v1/namespaces/default/events")
        assert f"persistentvolume {name} is still attached to node n1" in answer.text
        await cluster.delete(f"{ATTACHMENTS}/link")
        assert cluster.driver.count("delete") == 1, "at once"
    assert not await cluster.volumes()


async def test_a_delete_without_an_answer_is_repeated(cluster: Cluster) -> None:
    async with cluster.provisioner():
        name = await provisioned(cluster)
        cluster.driver.next("delete", After(Fails(Code.DEADLINE_EXCEEDED)))
        await cluster.delete(CLAIM)
        assert FINALIZER in await cluster.finalizers(f"{VOLUMES}/{name}")
        await cluster.passes(1)
    assert not await cluster.volumes()
    assert cluster.driver.count("delete") == 2


async def test_a_policy_changed_to_retain_keeps_the_volume(cluster: Cluster) -> None:
    async with cluster.provisioner():
        name = await provisioned(cluster)
        cluster.driver.next("delete", Fails(Code.INTERNAL))
        await cluster.delete(CLAIM)
        keep = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
        await cluster.patch(f"{VOLUMES}/{name}", keep)
        await cluster.passes(600)
        assert FINALIZER not in await cluster.finalizers(f"{VOLUMES}/{name}")
    assert len(cluster.driver.volumes) == 1
    assert cluster.driver.count("delete") == 1


async def test_a_volume_made_by_hand_is_protected_and_deleted_too(cluster: Cluster) -> None:
    async with cluster.provisioner():
        await cluster.static_volume("pv1", persistentVolumeReclaimPolicy="Delete")
        await cluster.claim(storageClassName="", volumeName="pv1")
        assert await cluster.phase() == "Bound"
        assert FINALIZER in await cluster.finalizers(f"{VOLUMES}/pv1")
        await cluster.delete(CLAIM)
    assert cluster.driver.calls == ["delete h-pv1"]
    assert not await cluster.volumes()


async def test_a_volume_deleted_while_bound_goes_when_it_is_released(cluster: Cluster) -> None:
    async with cluster.provisioner():
        name = await provisioned(cluster)
        await cluster.delete(f"{VOLUMES}/{name}")
        assert cluster.driver.count("delete") == 0
        await cluster.delete(CLAIM)
    assert not await cluster.volumes()
    assert not cluster.driver.volumes
