"""Pods that store more than they said they would, at work: measured, failed, and told."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.pod import Pod, PodPhase
from mooring.model.tree_usage import NOTHING, TreeUsage
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.container_statistics import ContainerStatistics
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.eviction.run import LOOK_SECONDS, Evictions
from mooring.node.pods.storage import ContainerStorage, PodStorage
from mooring.node.statistics import Statistics
from mooring.plugins.contract import Usage
from tests.fakes.clock import settle
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


class Node:
    """One pod with one emptyDir of at most a MiB."""

    def __init__(self, root: Path) -> None:
        self.world = NodeWorld(root)
        self.context: NodeContext = self.world.context
        self.pod = self.world.server.create(Pod, a_doc("1Mi"))
        self.pods = [self.pod]
        self.stored: dict[str, int] = {}  # by names of containers that run
        self.counted: list[str] = []  # names of pods
        self.hanging: dict[str, asyncio.Event] = {}  # by names of pods
        self.evictions = Evictions(
            self.context,
            lambda: self.pods,
            Statistics(self).of_pod,
            ContainerStatistics(self.storage, self.world.clock).of_pod,
            with_sidecars=True,
        )
        name, use = "example.com/disk/v0", VolumeUse(inline=self.pod.spec.volumes[0])
        by = WantedBy(self.pod, use, frozenset({"v0"}), since=0.0)
        self.context.desired.want(WantedVolume(name, "example.com/disk", use), by)
        self.context.actual.attached(ActualVolume(name, "example.com/disk", use))
        self.measured = Measured(Usage(used=2 * MIB))
        mount = PodMount(self.pod.uid, use, PodState.MOUNTED, self.measured)
        self.context.actual.mounted(name, mount)

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]:
        here = next(self.context.actual.of_pod(pod_uid), None)
        return {} if here is None else {"v0": here.pods[pod_uid]}

    async def storage(self, pod: Pod) -> PodStorage:
        self.counted.append(pod.name)
        if pod.name in self.hanging:
            await self.hanging[pod.name].wait()
        now = self.world.clock.now()
        found = (
            ContainerStorage(name, now, layer=TreeUsage(used, 1), logs=NOTHING)
            for name, used in self.stored.items()
        )
        return PodStorage(tuple(found))

    def limited(self, name: str) -> Pod:
        """One more pod, whose container `main` may store a MiB."""
        limits = {"ephemeral-storage": "1Mi"}
        container = {"name": "main", "resources": {"limits": limits}}
        doc = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [container]},
        }
        pod = self.world.server.create(Pod, doc)
        self.pods.append(pod)
        return pod

    def newest(self, pod: Pod | None = None) -> Pod:
        return self.world.server.get(Pod, (pod or self.pod).key)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


TEXT = 'Usage of EmptyDir volume "v0" exceeds the limit "1Mi". '


async def test_the_pod_fails_and_its_owner_is_told(node: Node) -> None:
    await node.evictions.look()
    status = node.newest().status
    assert (status.phase, status.reason, status.message) == (PodPhase.FAILED, "Evicted", TEXT)
    assert node.world.events() == (("Evicted", TEXT),)


async def test_the_log_says_why(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """In the API the text ends in a space, as of the kubelet."""
    caplog.set_level(logging.WARNING)
    await node.evictions.look()
    (line,) = [text for text in caplog.messages if "pod evicted" in text]
    assert line.endswith('exceeds the limit \\"1Mi\\"."')


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


UNLIMITED: dict[str, dict[str, Any]] = {
    "no limit": {"volumes": [{"name": "v0", "emptyDir": {}}], "containers": []},
    "a critical pod": a_doc("1Mi", priority=2_000_000_000)["spec"],
}


@pytest.mark.parametrize("spec", UNLIMITED.values(), ids=UNLIMITED)
async def test_pods_that_need_not_go_are_not_even_measured(
    node: Node, spec: dict[str, Any]
) -> None:
    node.pods = [replace(node.pod, spec=msgspec.convert(spec, type(node.pod.spec)))]
    await node.evictions.look()
    assert node.measured.asked == 0
    assert node.counted == []


async def test_containers_are_measured_only_where_they_are_limited(node: Node) -> None:
    node.limited("other")
    await node.evictions.look()
    assert node.counted == ["other"]


async def test_a_pod_whose_container_stores_too_much_fails(node: Node) -> None:
    pod = node.limited("other")
    node.stored = {"main": MIB + 1}
    await node.evictions.look()
    status = node.newest(pod).status
    text = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "
    assert (status.phase, status.reason, status.message) == (PodPhase.FAILED, "Evicted", text)


async def test_a_pod_that_cannot_be_measured_holds_up_nobody(node: Node) -> None:
    node.limited("hangs")
    node.hanging["hangs"] = asyncio.Event()
    looks = [asyncio.create_task(node.evictions.look()) for _ in range(2)]
    await settle()
    assert node.newest().status.phase is PodPhase.FAILED
    assert node.counted == ["hangs"]  # nor is it asked twice
    assert [look.done() for look in looks] == [False, True]
    node.hanging["hangs"].set()
    await asyncio.wait(looks)


async def test_somebody_looks_now_and_then(node: Node) -> None:
    running = asyncio.ensure_future(node.evictions.run())
    node.evictions.pod_changed(None, node.pod)
    await node.world.clock.advance(LOOK_SECONDS * 1.2)
    assert node.newest().status.phase is PodPhase.FAILED
    running.cancel()


async def test_nobody_looks_while_no_pod_is_limited(node: Node) -> None:
    running = asyncio.ensure_future(node.evictions.run())
    await node.world.clock.advance(LOOK_SECONDS * 3)
    assert node.measured.asked == 0
    node.evictions.pod_changed(None, node.pod)
    node.pods = []
    await node.world.clock.advance(LOOK_SECONDS * 1.2)
    node.pods = [node.pod]  # but nobody was told
    await node.world.clock.advance(LOOK_SECONDS * 3)
    assert node.measured.asked == 0
    running.cancel()
