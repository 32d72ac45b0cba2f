"""From a pod to the volumes it wants."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.claim import Claim
from mooring.model.container import ComputeResources, Container
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import (
    ClaimSource,
    ConfigMapSource,
    EmptyDirSource,
    ImageSource,
    PodVolume,
    VolumeMount,
)
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import Actual, ActualVolume
from mooring.node.context import NodeContext
from mooring.node.desired import Desired, WantedVolume
from mooring.node.populate import MOST_ERRORS, READS_AT_ONCE, Populated, Populator
from mooring.plugins.registry import Registry
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.mounts import FakeMounts
from tests.fakes.plugins import Backend, FakeCloudDisk, FakePlugin
from tests.unit.plugins.world import a_host

GIB = 1 << 30


class MoodyDisk(FakeCloudDisk):
    """One that need not be attached, or cannot name its volumes, when it is told so."""

    is_attachable = True
    has_names = True

    def can_attach(self, use: VolumeUse) -> bool:
        return self.is_attachable

    def volume_name(self, use: VolumeUse) -> str:
        return f"handle-of-{use.name}" if self.has_names else ""


def serving(source: str) -> Callable[[VolumeUse], bool]:
    return lambda use: use.source is not None and use.source[0] == source


class Here:
    name = "n1"

    def attached(self) -> dict[str, str]:
        return {}

    def labels(self) -> dict[str, str]:
        return {}

    async def read(self) -> Node:
        return Node()


class World:
    def __init__(self, root: Path) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        host = a_host(root, FakeMounts())
        backend, layout = Backend(), host.layout
        self.disks = MoodyDisk(backend, layout, "kubernetes.io/disk", serves=serving("csi"))
        scratch = FakePlugin(backend, layout, "kubernetes.io/scratch", serves=serving("emptyDir"))
        files = FakePlugin(
            backend, layout, "kubernetes.io/files", serves=serving("configMap"), remounts=True
        )
        self.desired = Desired(lambda _: None)
        self.actual = Actual(lambda *_: None)
        rng = Random(1)  # noqa: S311  no secret
        context = NodeContext(
            host,
            Registry((scratch, files, self.disks)),
            self.desired,
            self.actual,
            self.client,
            Recorder(self.client, self.clock, rng, "kubelet"),
            self.clock,
            Here(),
        )
        self.populator = Populator(context)

    def bind(self, claim: str = "c", volume: str = "pv", storage: str = "1Gi", **spec: Any) -> None:
        """A claim and its volume, bound to each other."""
        wanted = {"metadata": {"name": claim, "namespace": "ns"}, "spec": {"volumeName": volume}}
        status = {"phase": "Bound", "capacity": {"storage": storage}}
        made = self.server.create(Claim, wanted | {"status": status})
        has: dict[str, Any] = {
            "capacity": {"storage": storage},
            "csi": {"driver": "d", "volumeHandle": "h"},
            "claimRef": {"namespace": "ns", "name": claim, "uid": made.uid},
        }
        self.server.create(Volume, {"metadata": {"name": volume}, "spec": has | spec})

    def grow(self, volume: str = "pv", storage: str = "2Gi") -> None:
        seen = self.server.get(Volume, Key("", volume))
        self.server.patch(seen, {"spec": {"capacity": {"storage": storage}}}, {})

    async def process(self, pod: Pod) -> Populated:
        populated = await self.populator.populate(pod)
        self.populator.want(pod, populated.volumes)
        return populated

    def wanted(self, name: str = "kubernetes.io/disk/handle-of-pv") -> WantedVolume:
        found = self.desired.find(name)
        assert found is not None, f"{name} is not wanted"
        return found

    @property
    def names(self) -> list[str]:
        return sorted(volume.name for volume in self.desired.volumes())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def a_pod(*volumes: PodVolume, uid: str = "p1", unused: str = "", limit: str = "") -> Pod:
    mounts = [VolumeMount(one.name, f"/{one.name}") for one in volumes if one.name != unused]
    limits = {"ephemeral-storage": limit} if limit else {}
    container = Container(
        "main", resources=ComputeResources(limits=limits), volume_mounts=tuple(mounts)
    )
    return Pod(
        metadata=ObjectMeta(name="web", namespace="ns", uid=uid),
        spec=PodSpec(volumes=volumes, containers=(container,)),
    )


def scratch(name: str = "tmp", size: str | None = None) -> PodVolume:
    return PodVolume(name=name, empty_dir=EmptyDirSource(size_limit=size))


def claimed(name: str = "data", claim: str = "c", *, read_only: bool = False) -> PodVolume:
    return PodVolume(name=name, persistent_volume_claim=ClaimSource(claim, read_only=read_only))


CONFIG = PodVolume(name="config", config_map=ConfigMapSource("settings"))


async def test_only_volumes_that_are_used_are_wanted(world: World) -> None:
    await world.process(a_pod(scratch("a"), scratch("b"), unused="b"))
    assert world.names == ["kubernetes.io/scratch/p1-a"]


async def test_a_pod_without_claims_asks_the_api_for_nothing(world: World) -> None:
    await world.process(a_pod(scratch(), CONFIG))
    assert world.client.calls == []


async def test_a_claim_is_followed_to_its_volume(world: World) -> None:
    world.bind()
    await world.process(a_pod(claimed()))
    wanted = world.wanted()
    assert world.client.calls == [
        "get PersistentVolumeClaim ns/c",
        "get PersistentVolume pv",
    ]
    assert wanted.use.name == "pv"
    assert (wanted.is_attachable, wanted.is_device_mountable) == (True, True)
    assert wanted.capacity == GIB
    assert wanted.pods["p1"].outer_names == {"data"}


async def test_two_names_of_one_claim_are_one_volume(world: World) -> None:
    world.bind()
    await world.process(a_pod(claimed("a"), claimed("b")))
    assert world.wanted().pods["p1"].outer_names == {"a", "b"}
    assert len(world.names) == 1


async def test_two_pods_share_a_volume_but_not_their_scratch(world: World) -> None:
    world.bind()
    await world.process(a_pod(claimed(), scratch(), uid="p1"))
    await world.process(a_pod(claimed(), scratch(), uid="p2"))
    assert world.names == [
        "kubernetes.io/disk/handle-of-pv",
        "kubernetes.io/scratch/p1-tmp",
        "kubernetes.io/scratch/p2-tmp",
    ]
    assert set(world.wanted().pods) == {"p1", "p2"}


async def test_a_volume_that_fails_keeps_no_other_back(world: World) -> None:
    populated = await world.process(a_pod(claimed(claim="none"), scratch()))
    assert populated.errors == (
        "error processing PVC ns/none: failed to fetch PVC from API server: "
        'persistentvolumeclaims "none" not found',
    )
    assert world.names == ["kubernetes.io/scratch/p1-tmp"]


async def test_a_volume_that_the_claim_names_may_be_missing(world: World) -> None:
    world.bind()
    world.server.delete(world.server.get(Volume, Key("", "pv")))
    populated = await world.process(a_pod(claimed()))
    assert populated.errors == (
        "error processing PVC ns/c: failed to fetch PV pv from API server: "
        'persistentvolumes "pv" not found',
    )


async def test_the_api_may_be_away(world: World) -> None:
    world.client.fail("get", ConnectionLost("nobody is there"))
    populated = await world.process(a_pod(claimed()))
    assert populated.errors == (
        "error processing PVC ns/c: failed to fetch PVC from API server: nobody is there",
    )


async def test_a_kind_of_volume_that_nobody_serves(world: World) -> None:
    populated = await world.process(a_pod(PodVolume(name="img", image=ImageSource("busybox"))))
    assert populated.errors == (
        'failed to get Plugin from volumeSpec for volume "img" err=no volume plugin matched',
    )


async def test_a_plugin_that_cannot_name_its_volume(world: World) -> None:
    world.bind()
    world.disks.has_names = False
    populated = await world.process(a_pod(claimed()))
    assert populated.errors == (
        'failed to GetUniqueVolumeNameFromSpec for volumeSpec "pv" using volume plugin '
        '"kubernetes.io/disk" err=failed to GetVolumeName from volumePlugin for volumeSpec "pv" '
        "err=<nil>",
    )


async def test_a_block_volume_among_files_is_not_in_use(world: World) -> None:
    world.bind(volumeMode="Block")
    populated = await world.process(a_pod(claimed()))
    assert populated.errors == (
        "volume data has volumeMode Block, but is specified in volumeMounts",
    )
    assert world.names == []


async def test_at_most_eleven_different_errors_are_kept_in_order(world: World) -> None:
    volumes = [claimed(f"v{number}", f"c{number:02}") for number in range(20)]
    populated = await world.process(a_pod(*volumes, claimed("again", "c00")))
    assert len(populated.errors) == MOST_ERRORS == 11
    assert [error.split()[3] for error in populated.errors] == [f"ns/c{n:02}:" for n in range(11)]


async def test_pods_are_looked_up_side_by_side_but_not_all_at_once(world: World) -> None:
    for number in range(40):
        world.bind(f"c{number}", f"pv{number}")
    world.client.stall()
    processing = [
        asyncio.create_task(world.process(a_pod(claimed(claim=f"c{number}"), uid=f"p{number}")))
        for number in range(40)
    ]
    await settle()
    assert len(world.client.calls) == READS_AT_ONCE
    world.client.go_on()
    await asyncio.gather(*processing)
    assert len(world.names) == 40


async def test_pods_that_share_a_claim_share_the_reading(world: World) -> None:
    world.bind()
    pods = [a_pod(claimed(), uid=f"p{number}") for number in range(5)]
    await asyncio.gather(*(world.process(pod) for pod in pods))
    assert len(world.client.calls) == 2
    assert len(world.wanted().pods) == 5


async def test_said_again_the_size_is_news(world: World) -> None:
    world.bind()
    await world.process(a_pod(claimed()))
    world.grow()
    await world.process(a_pod(claimed()))
    assert world.wanted().capacity == 2 * GIB


async def test_who_only_reads_sees_the_size_at_first_and_no_growth(world: World) -> None:
    world.bind()
    reader = a_pod(claimed(read_only=True))
    await world.process(reader)
    assert world.wanted().capacity == GIB
    world.grow()
    await world.process(reader)
    assert world.wanted().capacity == GIB


async def test_a_volume_that_was_found_on_disk_learns_its_size_from_the_claim(
    world: World,
) -> None:
    world.bind()
    use = VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv")))
    name = "kubernetes.io/disk/handle-of-pv"
    world.actual.attached(ActualVolume(name, "kubernetes.io/disk", use))
    await world.process(a_pod(claimed()))
    here = world.actual.find(name)
    assert here is not None
    assert here.size == GIB


async def test_what_is_known_of_a_size_stays(world: World) -> None:
    world.bind()
    use = VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv")))
    name = "kubernetes.io/disk/handle-of-pv"
    world.actual.attached(ActualVolume(name, "kubernetes.io/disk", use, size=7))
    await world.process(a_pod(claimed()))
    here = world.actual.find(name)
    assert here is not None
    assert here.size == 7


async def test_the_time_of_the_first_wish_stays_unless_it_is_for_news(world: World) -> None:
    world.bind()
    pod = a_pod(claimed(), CONFIG)
    await world.process(pod)
    await world.clock.advance(60)
    await world.process(pod)
    assert world.wanted().pods["p1"].since == 0
    assert world.wanted("kubernetes.io/files/p1-config").pods["p1"].since == 60


async def test_a_volume_that_need_not_be_attached_does_not_begin_to(world: World) -> None:
    world.bind()
    pod = a_pod(claimed())
    await world.process(pod)
    world.disks.is_attachable = False
    await world.process(pod)
    assert not world.wanted().is_attachable
    world.disks.is_attachable = True
    await world.process(pod)
    assert not world.wanted().is_attachable


async def test_what_was_reported_in_use_stays_so(world: World) -> None:
    world.bind()
    await world.process(a_pod(claimed()))
    world.desired.report_in_use(frozenset(world.names))
    await world.process(a_pod(claimed(), uid="p2"))
    assert world.wanted().reported_in_use


async def test_a_name_that_fails_later_stays_understood(world: World) -> None:
    world.bind()
    world.bind("c2", "pv2")
    pod = a_pod(claimed("a"), claimed("b", "c2"))
    await world.process(pod)
    world.client.fail("get", ConnectionLost("away"), times=2)
    populated = await world.process(pod)
    assert len(populated.errors) == 2
    assert world.wanted().pods["p1"].outer_names == {"a"}
    assert len(world.names) == 2


async def test_the_limit_of_a_volume_on_disk_goes_with_the_wish(world: World) -> None:
    await world.process(a_pod(scratch(size="1Gi"), limit="2Gi"))
    assert world.wanted("kubernetes.io/scratch/p1-tmp").pods["p1"].size_limit == GIB


async def test_the_newest_pod_counts(world: World) -> None:
    pod = a_pod(CONFIG)
    await world.process(pod)
    labelled = replace(pod, metadata=replace(pod.metadata, labels={"colour": "blue"}))
    await world.process(labelled)
    by = world.wanted("kubernetes.io/files/p1-config").pods["p1"]
    assert by.pod.metadata.labels == {"colour": "blue"}


async def test_content_that_follows_the_api_says_so(world: World) -> None:
    populated = await world.process(a_pod(CONFIG, scratch()))
    assert {one.outer: one.wants_remount for one in populated.volumes} == {
        "config": True,
        "tmp": False,
    }
