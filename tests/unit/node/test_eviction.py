"""Pods that put more into an emptyDir than they said they would."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.pod import Pod, PodPhase
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.eviction import LOOK_SECONDS, Evictions, find_excess
from mooring.node.statistics import Statistics
from mooring.plugins.contract import Usage
from tests.unit.node.effects.world import NodeWorld
from tests.unit.node.test_statistics import Measured

MIB = 1 << 20


def a_doc(*limits: str | None, medium: str = "", priority: int = 0) -> dict[str, Any]:
    volumes = []
    for number, limit in enumerate(limits):
        source = {"medium": medium} | ({} if limit is None else {"sizeLimit": limit})
        volumes.append({"name": f"v{number}", "emptyDir": source})
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"volumes": volumes, "priority": priority, "containers": []},
    }


def a_pod(*limits: str | None, medium: str = "", priority: int = 0) -> Pod:
    return msgspec.convert(a_doc(*limits, medium=medium, priority=priority), Pod)


@pytest.mark.parametrize(
    ("pod", "used", "message"),
    [
        pytest.param(a_pod("1Mi"), {"v0": MIB}, None, id="just as much as allowed"),
        pytest.param(
            a_pod("1Mi"),
            {"v0": MIB + 1},
            'Usage of EmptyDir volume "v0" exceeds the limit "1Mi". ',
            id="one byte more",
        ),
        pytest.param(
            a_pod("1024Ki"),
            {"v0": MIB + 1},
            'Usage of EmptyDir volume "v0" exceeds the limit "1Mi". ',
            id="the limit is told in its plain form",
        ),
        pytest.param(
            a_pod("1Mi", medium="Memory"),
            {"v0": 2 * MIB},
            'Usage of EmptyDir volume "v0" exceeds the limit "1Mi". ',
            id="more than allowed, in memory",
        ),
        pytest.param(a_pod("0"), {"v0": MIB}, None, id="a limit of nothing is none"),
        pytest.param(a_pod(None), {"v0": MIB}, None, id="a volume without a limit"),
        pytest.param(a_pod("1Mi"), {}, None, id="a volume whose usage is not known"),
        pytest.param(
            a_pod("1Gi", "1Mi"),
            {"v0": MIB, "v1": 2 * MIB},
            'Usage of EmptyDir volume "v1" exceeds the limit "1Mi". ',
            id="the second volume of two",
        ),
        pytest.param(
            a_pod("1Mi", priority=2_000_000_000), {"v0": 2 * MIB}, None, id="a critical pod"
        ),
    ],
)
def test_who_has_to_go(pod: Pod, used: Mapping[str, int], message: str | None) -> None:
    assert find_excess(pod, used) == message


class Node:
    """One pod with one emptyDir of at most a MiB."""

    def __init__(self, root: Path) -> None:
        self.world = NodeWorld(root)
        self.context: NodeContext = self.world.context
        self.pod = self.world.server.create(Pod, a_doc("1Mi"))
        self.evictions = Evictions(self.context, Statistics(self))
        name, use = "example.com/disk/v0", VolumeUse(inline=self.pod.spec.volumes[0])
        by = WantedBy(self.pod, use, frozenset({"v0"}), since=0.0)
        self.context.desired.want(WantedVolume(name, "example.com/disk", use), by)
        self.context.actual.attached(ActualVolume(name, "example.com/disk", use))
        self.measured = Measured(Usage(used=2 * MIB))
        mount = PodMount(self.pod.uid, use, PodState.MOUNTED, self.measured)
        self.context.actual.mounted(name, mount)

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]:
        return {"v0": next(self.context.actual.of_pod(pod_uid)).pods[pod_uid]}

    def newest(self) -> Pod:
        return self.world.server.get(Pod, self.pod.key)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


TEXT = 'Usage of EmptyDir volume "v0" exceeds the limit "1Mi". '


async def test_the_pod_fails_and_its_owner_is_told(node: Node) -> None:
    await node.evictions.look()
    status = node.newest().status
    assert (status.phase, status.reason, status.message) == (PodPhase.FAILED, "Evicted", TEXT)
    assert node.world.events() == (("Evicted", TEXT),)


async def test_it_is_evicted_once(node: Node) -> None:
    await node.evictions.look()
    await node.evictions.look()
    assert sum(call.startswith("patch ") for call in node.world.client.calls) == 1
    assert len(node.world.recorder.told) == 1


async def test_a_pod_within_its_limit_stays(node: Node) -> None:
    node.measured.answer = Usage(used=MIB)
    await node.evictions.look()
    assert node.newest().status.phase is PodPhase.PENDING
    assert node.world.events() == ()


async def test_another_pod_of_that_name_is_not_the_one(node: Node) -> None:
    node.world.server.delete(node.newest())
    node.world.server.create(Pod, a_doc("1Mi"))
    await node.evictions.look()
    assert node.newest().status.phase is PodPhase.PENDING


async def test_a_pod_that_has_gone_needs_no_eviction(node: Node) -> None:
    node.world.server.delete(node.newest())
    await node.evictions.look()
    assert node.world.events() == ()


async def test_an_api_that_is_down_is_asked_at_the_next_look(node: Node) -> None:
    node.world.client.fail("get", ConnectionLost("refused"))
    await node.evictions.look()
    assert node.world.events() == ()
    await node.evictions.look()
    assert node.newest().status.phase is PodPhase.FAILED


async def test_pods_without_a_limit_are_not_even_measured(node: Node) -> None:
    unlimited = replace(node.pod, spec=a_pod(None).spec)
    wanted = next(node.context.desired.volumes())
    by = replace(wanted.pods[node.pod.uid], pod=unlimited)
    node.context.desired.want(wanted, by)
    await node.evictions.look()
    assert node.measured.asked == 0


async def test_somebody_looks_now_and_then(node: Node) -> None:
    running = asyncio.ensure_future(node.evictions.run())
    await node.world.clock.advance(LOOK_SECONDS * 1.2)
    assert node.newest().status.phase is PodPhase.FAILED
    running.cancel()
