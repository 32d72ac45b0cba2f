"""A claim is held while a volume may exist for it, and never for ever: whatever else is gone."""

import json

import pytest

from mooring.csi.outcome import Code
from mooring.csi.requests import CreateVolume
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CSI_NODES,
    NODES,
    SECRETS,
    a_claim,
    a_class,
)
from tests.scenarios.sidecars.cluster import INTENT, Cluster
from tests.scenarios.sidecars.driver import NAME, After, Dies, Fails

CLAIM = f"{CLAIMS}/data"
RECORD = "provisioner.mooring.dev/volume-request"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
WITH_SECRET = {
    "csi.storage.k8s.io/provisioner-secret-name": "key",
    "csi.storage.k8s.io/provisioner-secret-namespace": "default",
}


async def uncertain(cluster: Cluster) -> None:
    """The volume is made, and nobody hears of it: the provisioner dies."""
    cluster.driver.next("create", After(Dies()))
    async with cluster.provisioner():
        await cluster.claim()
    assert len(cluster.driver.volumes) == 1
    assert INTENT in await cluster.finalizers(CLAIM)
    await cluster.passes(1)


async def given_to_another(cluster: Cluster) -> None:
    await cluster.delete(f"{CLASSES}/fast")
    await cluster.create(CLASSES, {**a_class("fast"), "provisioner": "o.example.com"})


async def test_what_was_asked_for_is_on_record_as_long_as_it_is_open(cluster: Cluster) -> None:
    await cluster.secret()
    cluster.driver.with_topology()
    await cluster.node("n1", zone="a")
    await cluster.storage_class(
        parameters={**WITH_SECRET, "pool": "p"}, volumeBindingMode="WaitForFirstConsumer"
    )
    cluster.driver.next("create", Fails(Code.DEADLINE_EXCEEDED))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.select("n1")
        record = json.loads((await cluster.get(CLAIM))["metadata"]["annotations"][RECORD])
        place = {"segments": {"zone": "a"}}
        assert record.pop("classUid")
        assert record == {
            "driver": NAME,
            "node": "n1",
            "topology": {"requisite": [place], "preferred": [place]},
            "secret": {"name": "key", "namespace": "default"},
        }
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"
    assert RECORD not in (await cluster.get(CLAIM))["metadata"]["annotations"]


async def test_places_that_would_be_too_long_are_left_out(cluster: Cluster) -> None:
    cluster.driver.with_topology()
    for number in range(60):
        name = f"node-{number:03}-{'x' * 50}"
        await cluster.node(name, host=name)
    await cluster.storage_class()
    cluster.driver.next("create", Fails(Code.DEADLINE_EXCEEDED))
    async with cluster.provisioner():
        await cluster.claim()
        text = (await cluster.get(CLAIM))["metadata"]["annotations"][RECORD]
        assert len(text) < 8192
        assert json.loads(text)["isTopologyLeftOut"] is True


@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "wanted of another"])
@pytest.mark.parametrize("restarted", [True, False], ids=["restarted", "running"])
async def test_a_class_made_anew_for_another_driver(
    cluster: Cluster, *, deleted: bool, restarted: bool
) -> None:
    await cluster.storage_class(parameters={"pool": "p"})
    if restarted:
        await uncertain(cluster)
        await given_to_another(cluster)
        await cluster.patch(CLAIM, {"metadata": {"annotations": {PROVISIONER: "o.example.com"}}})
        if deleted:
            await cluster.delete(CLAIM)
        async with cluster.provisioner():
            await cluster.passes(10)
    else:
        cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
        async with cluster.provisioner():
            await cluster.claim()
            await given_to_another(cluster)
            await cluster.patch(
                CLAIM, {"metadata": {"annotations": {PROVISIONER: "o.example.com"}}}
            )
            if deleted:
                await cluster.delete(CLAIM)
            await cluster.passes(10)
        requests = [each for each in cluster.driver.requests if isinstance(each, CreateVolume)]
        assert len({str(each) for each in requests}) == 1, "the same words"
    assert not cluster.driver.volumes
    if deleted:
        assert await cluster.phase() == "gone"
    else:
        assert INTENT not in await cluster.finalizers(CLAIM)


async def test_a_volume_is_deleted_without_its_class_when_that_is_gone(cluster: Cluster) -> None:
    await cluster.storage_class()
    await uncertain(cluster)
    await cluster.delete(f"{CLASSES}/fast")
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
        assert await cluster.phase() == "gone"
        assert any("without its class fast" in told for told in await cluster.told())
    assert not cluster.driver.volumes


async def test_a_driver_that_refuses_without_its_class_keeps_the_claim(
    cluster: Cluster,
) -> None:
    """Without its parameters it cannot say what is there: that there is none would be a guess."""
    await cluster.storage_class()
    await uncertain(cluster)
    await cluster.delete(f"{CLASSES}/fast")
    cluster.driver.next("create", Fails(Code.INVALID_ARGUMENT, "no pool"))
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
        assert INTENT in await cluster.finalizers(CLAIM)
        assert len(cluster.driver.volumes) == 1


async def test_late_binding_with_the_node_gone_asks_for_the_same_places(cluster: Cluster) -> None:
    cluster.driver.with_topology()
    await cluster.node("n1", zone="a")
    await cluster.storage_class(volumeBindingMode="WaitForFirstConsumer")
    cluster.driver.next("create", After(Dies()))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.select("n1")
    assert len(cluster.driver.volumes) == 1
    await cluster.delete(f"{CSI_NODES}/n1")
    await cluster.delete(f"{NODES}/n1")
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes
    first, second = cluster.driver.requests
    assert first == second, "also the places"


async def test_a_volume_is_deleted_without_its_secret_when_that_is_gone(cluster: Cluster) -> None:
    await cluster.secret()
    await cluster.storage_class(parameters=WITH_SECRET)
    await uncertain(cluster)
    await cluster.delete(f"{SECRETS}/key")
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
        assert any("without secrets" in told for told in await cluster.told("ProvisioningFailed"))
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes


@pytest.mark.parametrize("vouched", [True, False], ids=["a class names it", "nobody names it"])
async def test_a_secret_on_record_counts_if_somebody_else_names_it_too(
    cluster: Cluster, *, vouched: bool
) -> None:
    """The record is on the claim, and the claim's owner may write it."""
    await cluster.secret()
    if vouched:
        await cluster.storage_class("other", parameters=WITH_SECRET)
    forged = {"driver": NAME, "secret": {"name": "key", "namespace": "default"}}
    doc = a_claim("data", storageClassName="nonesuch")
    doc["metadata"] |= {"finalizers": [INTENT], "annotations": {RECORD: json.dumps(forged)}}
    await cluster.create(CLAIMS, doc)
    async with cluster.provisioner():
        await cluster.delete(CLAIM)
    assert await cluster.phase() == "gone"
    assert {bool(each.reveal()) for each in cluster.driver.secrets} == {vouched}
    assert not cluster.driver.volumes


@pytest.mark.parametrize("text", ["", "{", "[]", '{"driver": 1}', "x" * 9000])
async def test_a_record_that_makes_no_sense_is_none(cluster: Cluster, text: str) -> None:
    await cluster.storage_class()
    await uncertain(cluster)
    await cluster.patch(CLAIM, {"metadata": {"annotations": {RECORD: text}}})
    await cluster.delete(CLAIM)
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes


async def test_a_claim_that_another_driver_has_on_record_waits_for_that_driver(
    cluster: Cluster,
) -> None:
    await cluster.storage_class()
    doc = a_claim("data", storageClassName="fast")
    record = json.dumps({"driver": "o.example.com"})
    doc["metadata"] |= {"finalizers": [INTENT], "annotations": {RECORD: record}}
    async with cluster.provisioner():
        await cluster.create(CLAIMS, doc)
        assert not cluster.driver.calls
        assert await cluster.told("ProvisioningFailed") == [
            "driver o.example.com may have made a volume for this claim: its provisioner has to"
            " settle that"
        ]
        change = {"finalizers": ["kubernetes.io/pvc-protection"], "annotations": {RECORD: None}}
        await cluster.patch(CLAIM, {"metadata": change})
        await cluster.settle()
        assert await cluster.phase() == "Bound", "at once"
    assert len(await cluster.volumes()) == 1
