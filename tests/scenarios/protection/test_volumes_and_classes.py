"""Bound volumes stay, and so do classes of attributes that something refers to."""

import pytest

from mooring.model.document import Doc
from tests.fakes.objects import (
    ATTRIBUTES_CLASSES,
    CLAIMS,
    VOLUMES,
    a_claim,
    a_volume,
    an_attributes_class,
)
from tests.scenarios.neighbours import Cluster

GOLD = {"volumeAttributesClassName": "gold"}


async def test_finalizers_taken_away_by_hand_are_put_back(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_volume())
    await cluster.create(ATTRIBUTES_CLASSES, an_attributes_class())
    async with cluster.neighbours():
        for collection, name, finalizer in (
            (VOLUMES, "disk", "kubernetes.io/pv-protection"),
            (ATTRIBUTES_CLASSES, "gold", "kubernetes.io/vac-protection"),
        ):
            await cluster.patch(collection, name, {"metadata": {"finalizers": None}})
            held = await cluster.get(collection, name)
            assert held["metadata"]["finalizers"] == [finalizer]


@pytest.mark.parametrize("phase", ["Pending", "Available", "Bound", "Released", "Failed"])
async def test_a_volume_stays_only_while_it_is_bound(cluster: Cluster, phase: str) -> None:
    await cluster.create(VOLUMES, a_volume())
    async with cluster.neighbours():
        await cluster.patch(VOLUMES, "disk", {"status": {"phase": phase}}, "/status")
        await cluster.delete(VOLUMES, "disk")
        assert (await cluster.find(VOLUMES, "disk") is not None) is (phase == "Bound")


async def test_a_bound_volume_goes_once_its_claim_has_left(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_volume())
    async with cluster.neighbours():
        await cluster.patch(VOLUMES, "disk", {"status": {"phase": "Bound"}}, "/status")
        await cluster.delete(VOLUMES, "disk")
        await cluster.patch(VOLUMES, "disk", {"status": {"phase": "Released"}}, "/status")
        assert await cluster.find(VOLUMES, "disk") is None


async def test_a_class_that_nothing_refers_to_goes(cluster: Cluster) -> None:
    await cluster.create(ATTRIBUTES_CLASSES, an_attributes_class())
    async with cluster.neighbours():
        await cluster.delete(ATTRIBUTES_CLASSES, "gold")
        assert await cluster.find(ATTRIBUTES_CLASSES, "gold") is None


async def test_a_class_stays_until_the_last_volume_and_claim_leave_it(cluster: Cluster) -> None:
    await cluster.create(ATTRIBUTES_CLASSES, an_attributes_class())
    await cluster.create(VOLUMES, a_volume(**GOLD))
    await cluster.create(CLAIMS, a_claim(**GOLD))
    async with cluster.neighbours():
        await cluster.delete(ATTRIBUTES_CLASSES, "gold")
        await cluster.delete(CLAIMS, "data")
        assert await cluster.find(ATTRIBUTES_CLASSES, "gold") is not None
        await cluster.delete(VOLUMES, "disk")
        assert await cluster.find(ATTRIBUTES_CLASSES, "gold") is None


STATUSES: dict[str, Doc] = {
    "the one it has": {"currentVolumeAttributesClassName": "gold"},
    "the one it is being changed to": {
        "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "gold"}
    },
}


@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES)
async def test_a_class_stays_while_the_status_of_a_claim_names_it(
    cluster: Cluster, status: Doc
) -> None:
    await cluster.create(ATTRIBUTES_CLASSES, an_attributes_class())
    await cluster.create(CLAIMS, a_claim())
    await cluster.patch(CLAIMS, "data", {"status": status}, "/status")
    async with cluster.neighbours():
        await cluster.delete(ATTRIBUTES_CLASSES, "gold")
        assert await cluster.find(ATTRIBUTES_CLASSES, "gold") is not None
        await cluster.patch(CLAIMS, "data", {"status": dict.fromkeys(status)}, "/status")
        assert await cluster.find(ATTRIBUTES_CLASSES, "gold") is None
