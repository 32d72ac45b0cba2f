"""How full volumes are: measured when asked, not too often, and told under upstream's names."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import ClaimSource, EmptyDirSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.statistics import GOOD_FOR, Statistics
from mooring.plugins.contract import Attributes, MountRequest, Usage
from tests.fakes.clock import settle
from tests.unit.node.effects.world import NodeWorld

HALF = Usage(used=5, capacity=10, available=4, inodes=8, inodes_used=2, inodes_free=6)


class Measured:
    """A `Mounter` that tells what it is told to."""

    path = Path("/data")
    attributes = Attributes()

    def __init__(self, answer: Usage | Exception | None) -> None:
        self.answer = answer
        self.asked = 0

    async def set_up(self, request: MountRequest) -> None:
        raise AssertionError("it is set up")

    async def usage(self) -> Usage | None:
        self.asked += 1
        await settle(1)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Node:
    """A `Volumes` of pods that have one volume each."""

    def __init__(self, root: Path) -> None:
        self.world = NodeWorld(root)
        self.context: NodeContext = self.world.context
        self.statistics = Statistics(self)

    def mount(self, uid: str, answer: Usage | Exception | None, claim: str = "") -> Measured:
        volume = PodVolume(name="data", empty_dir=EmptyDirSource())
        if claim:
            volume = PodVolume(name="data", persistent_volume_claim=ClaimSource(claim))
        pod = Pod(
            metadata=ObjectMeta(name=uid, namespace="default", uid=uid),
            spec=PodSpec(volumes=(volume,)),
        )
        name, use, measured = f"example.com/disk/{uid}", VolumeUse(inline=volume), Measured(answer)
        by = WantedBy(pod, use, frozenset({"data"}), since=0.0)
        self.context.desired.want(WantedVolume(name, "example.com/disk", use), by)
        self.context.actual.attached(ActualVolume(name, "example.com/disk", use))
        self.context.actual.mounted(name, PodMount(uid, use, PodState.MOUNTED, measured))
        return measured

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]:
        return {"data": next(self.context.actual.of_pod(pod_uid)).pods[pod_uid]}

    def gauges(self) -> dict[tuple[str, str], float]:
        return {
            (sample.name.removeprefix("kubelet_volume_stats_"), one): sample.value
            for family in self.statistics.collect()
            for sample in family.samples
            for one in (f"{sample.labels['namespace']}/{sample.labels['persistentvolumeclaim']}",)
        }


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def test_a_pod_is_measured_when_somebody_asks(node: Node) -> None:
    measured = node.mount("p1", HALF)
    assert measured.asked == 0
    assert (await node.statistics.of_pod("p1")).volumes["data"].usage == HALF


async def test_what_is_young_enough_is_told_again(node: Node) -> None:
    measured = node.mount("p1", HALF)
    await node.statistics.of_pod("p1")
    await node.world.clock.advance(GOOD_FOR - 1)
    await node.statistics.of_pod("p1")
    assert measured.asked == 1
    await node.world.clock.advance(1)
    await node.statistics.of_pod("p1")
    assert measured.asked == 2


async def test_two_who_ask_at_once_make_one_count(node: Node) -> None:
    measured = node.mount("p1", HALF)
    await asyncio.gather(*(node.statistics.of_pod("p1") for _ in range(2)))
    assert measured.asked == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="a volume without a usage of its own"),
        pytest.param(HostError("stale"), id="a volume that does not answer"),
    ],
)
async def test_what_cannot_be_measured_is_left_out(node: Node, answer: Exception | None) -> None:
    node.mount("p1", answer)
    assert not (await node.statistics.of_pod("p1")).volumes


async def test_a_volume_whose_reach_is_not_known_is_left_out(node: Node) -> None:
    node.mount("p1", HALF)
    here = next(node.context.actual.of_pod("p1"))
    node.context.actual.mounted(here.name, PodMount("p1", here.use, PodState.MOUNTED))
    assert not (await node.statistics.of_pod("p1")).volumes


async def test_gauges_name_the_claim(node: Node) -> None:
    node.mount("p1", HALF, "claim")
    node.mount("p2", HALF)
    await node.statistics.gather()
    claim = "default/claim"
    assert (await node.statistics.of_pod("p1")).volumes["data"].claim == Key("default", "claim")
    assert node.gauges() == {
        ("capacity_bytes", claim): 10,
        ("available_bytes", claim): 4,
        ("used_bytes", claim): 5,
        ("inodes", claim): 8,
        ("inodes_free", claim): 6,
        ("inodes_used", claim): 2,
    }


async def test_a_claim_of_two_pods_is_told_once(node: Node) -> None:
    for uid in ("p1", "p2"):
        node.mount(uid, HALF, "claim")
    await node.statistics.gather()
    families = list(node.statistics.collect())
    assert [len(family.samples) for family in families] == [1] * 6


async def test_of_a_device_only_the_size_is_known(node: Node) -> None:
    node.mount("p1", Usage(capacity=10), "claim")
    await node.statistics.gather()
    gauges = node.gauges()
    assert gauges["capacity_bytes", "default/claim"] == 10
    assert gauges["used_bytes", "default/claim"] == 0


async def test_a_reader_of_the_page_makes_the_numbers_for_the_next_one(node: Node) -> None:
    node.mount("p1", HALF, "claim")
    running = asyncio.ensure_future(node.statistics.run())
    await settle()
    assert node.gauges() == {}
    await settle()
    assert node.gauges()["used_bytes", "default/claim"] == 5
    running.cancel()


async def test_a_pod_that_has_gone_is_forgotten(node: Node) -> None:
    node.mount("p1", HALF, "claim")
    await node.statistics.gather()
    node.context.actual.unmounted("example.com/disk/p1", "p1")
    await node.statistics.gather()
    assert node.gauges() == {}
