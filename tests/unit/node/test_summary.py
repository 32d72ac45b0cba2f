"""The kubelet's summary: volumes of pods with their claims, and what is left out."""

import asyncio
from datetime import timedelta

from mooring.errors import HostError
from mooring.host.usage import FilesystemUsage
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import EmptyDirSource, PodVolume, SecretSource
from mooring.model.timestamp import to_seconds
from mooring.model.tree_usage import TreeUsage
from mooring.node.container_statistics import Measured
from mooring.node.pods.storage import NO_STORAGE, ContainerStorage, PodStorage
from mooring.node.statistics import PodStatistics, VolumeStatistics
from mooring.node.summary import PATIENCE, Measure, Summary
from mooring.plugins.contract import Usage
from tests.fakes.clock import VirtualClock, settle

HALF = Usage(used=5, capacity=10, available=4, inodes=8, inodes_used=2, inodes_free=6)
ROOT = FilesystemUsage(100, 40, 60, 10, 4)


def a_pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="team", uid=f"uid-{name}"))


class Machine:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.measured: dict[str, PodStatistics] = {}
        self.root: FilesystemUsage | HostError = ROOT
        self.hanging: dict[str, asyncio.Event] = {}  # by uid
        self.pods = [a_pod("web"), a_pod("db")]
        self.stored: dict[str, PodStorage] = {}  # by uid
        measure = Measure(self.of_pod, self.of_containers, self.of_root)
        self.summary = Summary("n1", measure, lambda: self.pods, self.clock)

    async def of_pod(self, uid: str) -> PodStatistics:
        if uid in self.hanging:
            await self.hanging[uid].wait()
        return self.measured[uid]  # KeyError: a bug in measuring

    async def of_containers(self, pod: Pod) -> Measured:
        now = self.clock.monotonic()
        return Measured(now, now, self.stored.get(pod.uid, NO_STORAGE))

    async def of_root(self) -> FilesystemUsage:
        if isinstance(self.root, HostError):
            raise self.root
        return self.root

    def measure(self, name: str, **volumes: VolumeStatistics) -> None:
        self.measured[f"uid-{name}"] = PodStatistics(self.clock.monotonic(), volumes)


async def test_a_volume_is_told_with_its_claim_and_when_it_was_measured() -> None:
    machine = Machine()
    began = machine.clock.now()
    machine.measure("db", data=VolumeStatistics(HALF, Key("team", "data")))
    machine.measure("web", cache=VolumeStatistics(Usage(used=7), None))
    await machine.clock.advance(20)
    told = await machine.summary.document(only_cpu_and_memory=False)
    db, web = told["pods"]
    assert db == {
        "podRef": {"name": "db", "namespace": "team", "uid": "uid-db"},
        "startTime": None,
        "containers": None,
        "volume": [
            {
                "time": to_seconds(began),
                "availableBytes": 4,
                "capacityBytes": 10,
                "usedBytes": 5,
                "inodesFree": 6,
                "inodes": 8,
                "inodesUsed": 2,
                "name": "data",
                "pvcRef": {"name": "data", "namespace": "team"},
            }
        ],
    }
    assert web["volume"] == [{"time": to_seconds(began), "usedBytes": 7, "name": "cache"}]
    assert told["node"]["nodeName"] == "n1"
    assert told["node"]["fs"]["time"] == to_seconds(began + timedelta(seconds=20))
    assert told["node"]["fs"]["usedBytes"] == 60


async def test_what_containers_write_and_log_is_told_and_what_it_makes_of_the_pod() -> None:
    machine = Machine()
    now = machine.clock.now()
    spec = PodSpec(
        volumes=(
            PodVolume(name="cache", empty_dir=EmptyDirSource()),
            PodVolume(name="keys", secret=SecretSource("keys")),
        )
    )
    machine.pods = [Pod(metadata=a_pod("web").metadata, spec=spec)]
    volumes = dict.fromkeys(("cache", "keys"), VolumeStatistics(Usage(used=1000), None))
    machine.measure("web", **volumes)
    main = ContainerStorage("main", now, TreeUsage(100, 3), TreeUsage(20, 2))
    machine.stored["uid-web"] = PodStorage((main,), hosts=TreeUsage(4, 1))
    (web,) = (await machine.summary.document(only_cpu_and_memory=False))["pods"]
    time = to_seconds(now)
    shared = {
        "time": time,
        "availableBytes": 40,
        "capacityBytes": 100,
        "inodesFree": 4,
        "inodes": 10,
    }
    assert web["containers"] == [
        {
            "name": "main",
            "startTime": time,
            "rootfs": shared | {"usedBytes": 100, "inodesUsed": 3},
            "logs": shared | {"usedBytes": 20, "inodesUsed": 2},
        }
    ]
    assert web["ephemeral-storage"] == shared | {"usedBytes": 1124}


async def test_a_pod_that_cannot_be_measured_hides_no_other() -> None:
    machine = Machine()
    machine.measure("web", cache=VolumeStatistics(HALF, None))
    machine.root = HostError("statfs /: input/output error")
    told = await machine.summary.document(only_cpu_and_memory=False)
    assert ["volume" in pod for pod in told["pods"]] == [False, True]
    assert "fs" not in told["node"]


async def test_a_volume_that_hangs_hides_no_other_and_is_told_when_it_is_back() -> None:
    machine = Machine()
    for name in ("web", "db"):
        machine.measure(name, data=VolumeStatistics(HALF, None))
    machine.hanging["uid-db"] = asyncio.Event()
    for _ in range(2):
        asked = asyncio.create_task(machine.summary.document(only_cpu_and_memory=False))
        await settle()
        assert not asked.done()
        await machine.clock.advance(PATIENCE)
        told = await asyncio.wait_for(asked, 20)
        assert ["volume" in pod for pod in told["pods"]] == [False, True]
    machine.hanging["uid-db"].set()
    told = await asyncio.wait_for(machine.summary.document(only_cpu_and_memory=False), 20)
    assert ["volume" in pod for pod in told["pods"]] == [True, True]


async def test_what_is_being_measured_ends_with_the_node() -> None:
    machine = Machine()
    machine.hanging = {pod.uid: asyncio.Event() for pod in machine.pods}
    running = asyncio.create_task(machine.summary.run())
    asked = asyncio.create_task(machine.summary.document(only_cpu_and_memory=False))
    await settle()
    running.cancel()
    told = await asyncio.wait_for(asked, 20)
    assert ["volume" in pod for pod in told["pods"]] == [False, False]


async def test_without_volumes_nothing_is_measured() -> None:
    machine = Machine()
    told = await machine.summary.document(only_cpu_and_memory=True)
    assert [pod["podRef"]["name"] for pod in told["pods"]] == ["db", "web"]
    assert "fs" not in told["node"]
