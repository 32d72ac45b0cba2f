"""Volumes that grow under the pods that use them, where nodes may watch claims and where not."""

from typing import Any

import pytest

from mooring.errors import ConnectionLost
from mooring.node.claim_watches import REFUSED_SECONDS
from mooring.node.resync import JITTER, POLL_SECONDS
from tests.fakes.objects import CLAIMS, CONFIG_MAPS, PODS, VOLUMES
from tests.scenarios.node.cluster import Cluster, a_pod, claimed, config

GIB = 1 << 30
GROWN = [f"grow disk {GIB} {2 * GIB}"]
RESYNC = POLL_SECONDS * (1 + JITTER)


async def grow_volume(cluster: Cluster) -> None:
    await cluster.patch(VOLUMES, "disk", {"spec": {"capacity": {"storage": "2Gi"}}})


async def hand_over(cluster: Cluster) -> None:
    """As the resizer does it when the back end has grown."""
    pending = {
        "allocatedResources": {"storage": "2Gi"},
        "allocatedResourceStatuses": {"storage": "NodeResizePending"},
    }
    await cluster.patch(CLAIMS, "data", {"status": pending}, "/status")


async def capacity(cluster: Cluster) -> Any:
    claim = await cluster.find(CLAIMS, "data")
    assert claim is not None
    return claim["status"]["capacity"]["storage"]


async def test_a_volume_grows_within_a_second_of_the_resizers_word(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.passes(10)
        await grow_volume(cluster)
        await hand_over(cluster)
        await cluster.passes(1)
        assert cluster.did("grow") == GROWN
        assert await capacity(cluster) == "2Gi"


async def test_growth_that_came_between_the_read_and_the_watch_is_not_missed(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    cluster.may_watch.clear()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        await grow_volume(cluster)
        await hand_over(cluster)
        assert cluster.did("grow") == []
        cluster.may_watch.set()
        await cluster.passes(1)
        assert cluster.did("grow") == GROWN


async def test_a_node_that_looked_too_early_does_not_wait_out_its_pause(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        record = {"allocatedResources": {"storage": "2Gi"}}
        await grow_volume(cluster)
        await cluster.patch(CLAIMS, "data", {"status": record}, "/status")
        await cluster.passes(50)  # tried in vain, with longer and longer pauses
        assert cluster.did("grow") == []
        await hand_over(cluster)
        await cluster.passes(1)
        assert cluster.did("grow") == GROWN


async def test_a_node_that_may_not_watch_claims_sees_growth_at_the_resync(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    cluster.may_watch_claims = False
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        await grow_volume(cluster)
        await hand_over(cluster)
        await cluster.passes(1)
        assert cluster.did("grow") == []
        await cluster.passes(RESYNC)
        assert cluster.did("grow") == GROWN


async def test_a_refusal_is_asked_for_once_an_hour_whatever_the_number_of_pods(
    cluster: Cluster,
) -> None:
    cluster.may_watch_claims = False
    async with cluster.node() as node:
        for number in range(5):
            await cluster.bound(f"c{number}", f"d{number}")
            await cluster.create(PODS, a_pod(f"web-{number}", claimed(f"c{number}")))
        await cluster.passes(REFUSED_SECONDS - 2 * RESYNC)
        assert node.client.refused == 1
        await cluster.passes(3 * RESYNC)
        assert node.client.refused == 2
        node.client.may_watch_claims = True  # somebody has given nodes the right
        await cluster.passes(REFUSED_SECONDS + RESYNC)
        await cluster.patch(VOLUMES, "d0", {"spec": {"capacity": {"storage": "2Gi"}}})
        status = {"allocatedResourceStatuses": {"storage": "NodeResizePending"}}
        await cluster.patch(CLAIMS, "c0", {"status": status}, "/status")
        await cluster.passes(1)
        assert cluster.did("grow") == [f"grow d0 {GIB} {2 * GIB}"]


async def test_a_server_that_was_away_is_asked_again(cluster: Cluster) -> None:
    await cluster.bound()
    cluster.watch_outages.append(ConnectionLost("gone"))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.passes(RESYNC)
        await grow_volume(cluster)
        await hand_over(cluster)
        await cluster.passes(1)
        assert cluster.did("grow") == GROWN


async def test_news_of_a_claim_do_not_set_up_other_volumes_again(cluster: Cluster) -> None:
    await cluster.bound()
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "settings"}})
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed(), config()))
        before = cluster.did("set_up")
        await cluster.patch(CLAIMS, "data", {"metadata": {"labels": {"a": "b"}}})
        await cluster.passes(1)
        assert cluster.did("set_up") == before


async def test_a_pod_that_has_gone_is_not_asked_about_its_claim(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.delete(PODS, "web")
        await cluster.passes(1)
        reads = node.client.reads
        await cluster.patch(CLAIMS, "data", {"metadata": {"labels": {"a": "b"}}})
        await cluster.passes(RESYNC)
        assert node.client.reads == reads


async def test_a_driver_that_begins_to_want_to_be_asked_again_is_asked(cluster: Cluster) -> None:
    await cluster.bound(csi={"driver": "d", "volumeHandle": "h"}, hostPath=None)
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.attach("disk")
        await cluster.passes(RESYNC)
        cluster.backend.calls.clear()
        cluster.cloud.wants_republish = True
        node.volumes.attachability_changed()
        await cluster.passes(RESYNC)
        assert len(cluster.did("set_up")) == 1


@pytest.mark.parametrize("others", [0, 20])
async def test_one_change_costs_one_read_however_many_pods_there_are(
    cluster: Cluster, others: int
) -> None:
    await cluster.bound()
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        for number in range(others):
            await cluster.bound(f"c{number}", f"d{number}")
            await cluster.create(PODS, a_pod(f"web-{number}", claimed(f"c{number}")))
        await cluster.passes(1)
        reads = node.client.reads
        await cluster.patch(CLAIMS, "data", {"metadata": {"labels": {"a": "b"}}})
        await cluster.passes(1)
        assert node.client.reads == reads + 1


async def test_nothing_grows_for_who_only_reads(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed(read_only=True)))
        await cluster.patch(VOLUMES, "disk", {"spec": {"capacity": {"storage": "2Gi"}}})
        await cluster.passes(100)
        assert cluster.did("grow") == []


async def test_a_volume_that_is_larger_already_is_mounted_for_a_reader_and_told_once(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    await cluster.patch(VOLUMES, "disk", {"spec": {"capacity": {"storage": "2Gi"}}})
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed(read_only=True)))
        assert cluster.containers.started == [("web", ("data",))]
        assert {reason for _, reason, _ in await cluster.said()} == {"FileSystemResizeFailed"}
        await cluster.passes(300)
        families = {family.name: family for family in node.volumes.context.metrics.collect()}
        samples = families["storage_operation_duration_seconds"].samples
        assert "volume_fs_resize" not in {sample.labels["operation_name"] for sample in samples}
