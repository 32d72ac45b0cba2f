"""A sidecar is killed before each of its writes, and in every call: nothing is lost or left."""

import pytest

from tests.fakes.objects import ATTACHMENTS, CLAIMS, VOLUMES
from tests.scenarios.sidecars.cluster import INTENT, Cluster
from tests.scenarios.sidecars.driver import After, Dies

CLAIM = f"{CLAIMS}/data"
WRITES = range(5)
DEATHS = {
    "in CreateVolume, nothing done": ("create", Dies()),
    "in CreateVolume, all done": ("create", After(Dies())),
    "in DeleteVolume, nothing done": ("delete", Dies()),
    "in DeleteVolume, all done": ("delete", After(Dies())),
}


@pytest.mark.parametrize("writes", WRITES)
async def test_a_claim_gets_one_volume_whenever_the_provisioner_dies(
    cluster: Cluster, writes: int
) -> None:
    await cluster.storage_class()
    async with cluster.provisioner(writes):
        await cluster.claim()
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "Bound"
    assert await cluster.handles() == set(cluster.driver.volumes)
    assert len(cluster.driver.volumes) == 1
    assert INTENT not in await cluster.finalizers(CLAIM)


@pytest.mark.parametrize("writes", WRITES)
async def test_a_claim_deleted_after_the_death_leaves_nothing(
    cluster: Cluster, writes: int
) -> None:
    await cluster.storage_class()
    async with cluster.provisioner(writes):
        await cluster.claim()
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


@pytest.mark.parametrize("writes", WRITES)
async def test_a_released_volume_goes_whenever_the_provisioner_dies(
    cluster: Cluster, writes: int
) -> None:
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim()
    async with cluster.provisioner(writes):
        await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


@pytest.mark.parametrize(("rpc", "death"), DEATHS.values(), ids=DEATHS)
async def test_a_volumes_life_with_a_death_in_a_call(
    cluster: Cluster, rpc: str, death: Dies | After
) -> None:
    await cluster.storage_class()
    cluster.driver.next(rpc, death)
    async with cluster.provisioner():
        await cluster.claim()
        if rpc == "delete":
            await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
        assert await cluster.handles() == set(cluster.driver.volumes)
        if rpc == "create":
            assert len(cluster.driver.volumes) == 1
            await cluster.delete(CLAIM)
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("deleted", [False, True], ids=["kept", "deleted meanwhile"])
async def test_an_attachment_is_what_the_object_says_whenever_the_attacher_dies(
    cluster: Cluster, writes: int, *, deleted: bool
) -> None:
    await cluster.node("n1")
    await cluster.static_volume()
    async with cluster.attacher(writes):
        await cluster.attachment()
    if deleted:
        await cluster.delete(f"{ATTACHMENTS}/link")
    async with cluster.attacher():
        await cluster.settle()
    if deleted:
        assert await cluster.find(f"{ATTACHMENTS}/link") is None
        assert not cluster.driver.attachments
    else:
        assert (await cluster.status())["attached"] is True
        assert cluster.driver.attachments == {("h-pv1", "id-n1")}


@pytest.mark.parametrize("writes", WRITES)
async def test_a_detach_is_finished_whenever_the_attacher_dies(
    cluster: Cluster, writes: int
) -> None:
    await cluster.node("n1")
    await cluster.static_volume()
    async with cluster.attacher():
        await cluster.attachment()
    async with cluster.attacher(writes):
        await cluster.delete(f"{ATTACHMENTS}/link")
        await cluster.delete(f"{VOLUMES}/pv1")
    async with cluster.attacher():
        await cluster.settle()
    assert await cluster.find(f"{ATTACHMENTS}/link") is None
    assert await cluster.find(f"{VOLUMES}/pv1") is None
    assert not cluster.driver.attachments
