"""Containers that store more than they said they would: the node ends their pod."""

from typing import Any

from mooring.model.document import Doc
from mooring.model.kubernetes_version import V1_35, V1_37
from mooring.model.tree_usage import TreeUsage
from mooring.node.eviction.run import LOOK_SECONDS
from tests.fakes.objects import PODS
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod, a_sidecar

MIB = 1 << 20
ROUND = LOOK_SECONDS * 1.2  # one has passed then
OF_POD = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "


def limited(limit: str = "1Mi") -> Doc:
    return {"resources": {"limits": {"ephemeral-storage": limit}}}


def storing(size: int) -> TreeUsage:
    return TreeUsage(size, 1)


async def test_a_pod_over_its_limit_fails_and_its_containers_end(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(**limited())))
        cluster.runtime.layers["main"] = storing(MIB - 64 * 1024)
        await cluster.passes(ROUND)
        assert await cluster.phase() == "Running"
        cluster.runtime.layers["main"] = storing(MIB + 1)
        await cluster.passes(ROUND)
        status = await cluster.status()
        assert (status["phase"], status["reason"], status["message"]) == (
            "Failed",
            "Evicted",
            OF_POD,
        )
        assert cluster.runtime.running() == []
        assert await cluster.events("Evicted") == [f"Evicted: {OF_POD}"]
        assert await cluster.events("FieldIgnored") == []


async def test_logs_count_also_those_of_earlier_attempts(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(**limited())))
        old = cluster.found().log_path.with_name("0.log.20260101-000000")
        old.write_bytes(b"x" * MIB)
        await cluster.passes(ROUND)
        assert (await cluster.status())["message"] == OF_POD


async def test_one_container_is_told_where_the_pod_has_room(cluster: Cluster) -> None:
    async with cluster.node():
        greedy, modest = a_container("greedy", **limited()), a_container("modest", **limited("9Mi"))
        await cluster.create(PODS, a_pod("web", greedy, modest))
        cluster.runtime.layers["greedy"] = storing(2 * MIB)
        await cluster.passes(ROUND)
        text = 'Container greedy exceeded its local ephemeral storage limit "1Mi". '
        assert (await cluster.status())["message"] == text


async def of_sidecar(cluster: Cluster) -> str:
    async with cluster.node():
        main = a_container(**limited("9Mi"))
        await cluster.create(PODS, a_pod("web", main, initContainers=[a_sidecar(**limited())]))
        await cluster.settle()
        cluster.runtime.layers["proxy"] = storing(2 * MIB)
        await cluster.passes(ROUND)
        return await cluster.phase()


async def test_a_sidecar_has_a_limit_of_its_own(cluster: Cluster) -> None:
    cluster.release = V1_37
    assert await of_sidecar(cluster) == "Failed"


async def test_before_1_37_it_has_none(cluster: Cluster) -> None:
    cluster.release = V1_35
    assert await of_sidecar(cluster) == "Running"


async def test_pods_without_limits_are_not_measured(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container()))
        cluster.runtime.layers["main"] = storing(99 * MIB)
        await cluster.passes(10 * ROUND)
        assert await cluster.phase() == "Running"
        assert cluster.asked("written") == []


async def test_a_critical_pod_stays(cluster: Cluster) -> None:
    spec: dict[str, Any] = {"priorityClassName": "system-node-critical"}
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(**limited()), **spec))
        cluster.runtime.layers["main"] = storing(99 * MIB)
        await cluster.passes(10 * ROUND)
        assert await cluster.phase() == "Running"
