"""Where volumes are made."""

from typing import Any

import pytest

from mooring.csi.outcome import Code
from mooring.csi.requests import CreateVolume
from mooring.csi.topology import Topology
from mooring.sidecars.provisioner.options import ProvisionerOptions
from tests.fakes.objects import CLAIMS, NODES
from tests.scenarios.sidecars.cluster import INTENT, SELECTED, Cluster
from tests.scenarios.sidecars.driver import After, Fails

LATE: dict[str, Any] = {"volumeBindingMode": "WaitForFirstConsumer"}


@pytest.fixture
async def zones(cluster: Cluster) -> Cluster:
    cluster.driver.with_topology()
    for number in range(3):
        await cluster.node(f"n{number}", zone=f"z{number}")
    return cluster


def asked(cluster: Cluster, index: int = -1) -> tuple[list[str], list[str]]:
    """Zones that were requisite, and preferred."""
    request = cluster.driver.requests[index]
    assert isinstance(request, CreateVolume)
    assert request.topology is not None
    requisite, preferred = request.topology.requisite, request.topology.preferred
    return [each.segments["zone"] for each in requisite], [
        each.segments["zone"] for each in preferred
    ]


async def test_late_binding_waits_for_a_node_and_prefers_its_place(zones: Cluster) -> None:
    await zones.storage_class(**LATE)
    zones.driver.topologies = (Topology({"zone": "z1"}),)
    async with zones.provisioner():
        await zones.claim()
        assert not zones.driver.calls
        await zones.select("n1")
    assert asked(zones) == (["z0", "z1", "z2"], ["z1", "z2", "z0"])
    assert await zones.phase() == "Bound"
    assert (await zones.volume_of())["spec"]["nodeAffinity"] == {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}
            ]
        }
    }


async def test_no_room_with_late_binding_has_the_pod_placed_anew(zones: Cluster) -> None:
    await zones.storage_class(**LATE)
    zones.driver.next("create", Fails(Code.RESOURCE_EXHAUSTED))
    async with zones.provisioner():
        await zones.claim()
        await zones.select("n1")
        claim = await zones.get(f"{CLAIMS}/data")
        assert SELECTED not in claim["metadata"]["annotations"]
        assert INTENT not in claim["metadata"]["finalizers"]
        await zones.passes(100)
        assert zones.driver.count("create") == 1
        await zones.select("n2")
    assert asked(zones)[1] == ["z2", "z0", "z1"]
    assert await zones.phase() == "Bound"


async def test_a_node_that_vanished_has_the_pod_placed_anew(zones: Cluster) -> None:
    await zones.storage_class(**LATE)
    async with zones.provisioner():
        await zones.claim()
        await zones.select("n9")
    claim = await zones.get(f"{CLAIMS}/data")
    assert SELECTED not in claim["metadata"]["annotations"]
    assert await zones.told("ProvisioningFailed") == [
        'failed to get selected CSINode n9: csinode.storage.k8s.io "n9" not found'
    ]


async def test_labels_that_change_between_tries_change_nothing(zones: Cluster) -> None:
    await zones.storage_class()
    zones.driver.next("create", After(Fails(Code.UNAVAILABLE)))
    async with zones.provisioner():
        await zones.claim()
        await zones.patch(f"{NODES}/n0", {"metadata": {"labels": {"zone": "z7"}}})
        await zones.passes(1)
    first, second = zones.driver.requests
    assert first == second


async def test_claims_of_a_stateful_set_start_in_different_zones(zones: Cluster) -> None:
    await zones.storage_class()
    async with zones.provisioner():
        for number in range(3):
            await zones.claim(f"data-web-{number}")
            assert asked(zones)[1][0] == f"z{number}"


async def test_a_strict_place_outside_of_what_is_allowed_is_an_error(zones: Cluster) -> None:
    zones.options = ProvisionerOptions(strict_topology=True)
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["z0", "z2"]}]}]
    await zones.storage_class(**LATE, allowedTopologies=allowed)
    async with zones.provisioner():
        await zones.claim()
        await zones.select("n1")
        assert not zones.driver.calls
        assert await zones.told("ProvisioningFailed") == [
            "error generating accessibility requirements: selected node '\"n1\"' topology"
            " '[{zone z1}]' is not in allowed topologies: [[{zone z0}] [{zone z2}]]"
        ]
        await zones.select("n2")
    assert asked(zones) == (["z2"], ["z2"])


async def test_a_claim_waits_for_the_first_node_of_the_driver(cluster: Cluster) -> None:
    cluster.driver.with_topology()
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim()
        assert await cluster.told("ProvisioningFailed") == [
            "error generating accessibility requirements: no available topology found"
        ]
        await cluster.node("n1", zone="z1")
        assert await cluster.phase() == "Bound", "no pause is waited for"
