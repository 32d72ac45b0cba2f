"""A disk that hangs at any question: no other pod notices, and all is made good when it answers.

The event loop is watched throughout: it must never wait for a disk.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from mooring.errors import StillRunning
from mooring.host.bulkhead import Bulkheads
from mooring.host.loop_watch import ALARM_SECONDS, LoopWatch
from mooring.host.mount import Mounts
from mooring.model.pod import Pod
from mooring.node import mount_list
from mooring.node.mount_list import Sight
from tests.fakes.hanging_disk import HangingDisk, hanging_disk
from tests.fakes.waiting import until
from tests.host.stuck_node import Doc, StuckNode

MOST_QUESTIONS = 60  # more than any way to set up a volume asks


@pytest.fixture
def disk(place: Path) -> Iterator[HangingDisk]:
    with hanging_disk(place / "disk", well=True) as disk:
        yield disk


@pytest.fixture
def node(place: Path, mounts: Mounts) -> StuckNode:
    return StuckNode(place, mounts)


@pytest.fixture(autouse=True)
async def _watched_loop() -> AsyncIterator[None]:
    """Fails a test in which a system call kept the loop from its work."""
    with LoopWatch(ask_seconds=0.01) as watch:
        yield
    assert watch.longest_blocked < ALARM_SECONDS, watch.where


def host_path(node: StuckNode, disk: Path) -> Doc:
    return {"hostPath": {"path": str(disk), "type": "Directory"}}


def made_host_path(node: StuckNode, disk: Path) -> Doc:
    return {"hostPath": {"path": str(disk), "type": "DirectoryOrCreate"}}


def local(node: StuckNode, disk: Path) -> Doc:
    return node.local("pv", disk)


EVERY = pytest.mark.parametrize(
    ("volume", "spec", "step"),
    [
        pytest.param(host_path, {}, 1, id="hostPath"),
        pytest.param(made_host_path, {}, 1, id="hostPath or to be made"),
        pytest.param(local, {}, 1, id="local"),
        pytest.param(local, {"securityContext": {"fsGroup": 4321}}, 4, id="local with fsGroup"),
    ],
)
Make = Callable[[StuckNode, Path], Doc]


async def other_pods_are_served(node: StuckNode, number: int) -> None:
    """One of each kind that needs no foreign disk, there and back."""
    (node.root / "well").mkdir(exist_ok=True)
    kinds: list[Doc] = [
        {"emptyDir": {}},
        {"emptyDir": {"medium": "Memory"}},
        {"downwardAPI": {"items": [], "defaultMode": 420}},
        {"hostPath": {"path": str(node.root / "well"), "type": "Directory"}},
        node.local(f"well-{number}", node.root / "well"),
    ]
    pods = [node.pod(f"well-{number}-{index}", kind) for index, kind in enumerate(kinds)]
    async with asyncio.TaskGroup() as tasks:
        for pod in pods:
            tasks.create_task(node.bring(pod))
    async with asyncio.TaskGroup() as tasks:
        for pod in pods:
            tasks.create_task(node.put_away(pod))


async def is_stuck_or_done(bulkheads: Bulkheads, task: "asyncio.Task[None]") -> bool:
    """Whether it got stuck, once that is known."""
    await until(lambda: any(bulkheads.stuck()) or task.done())
    return not task.done()


@EVERY
async def test_a_disk_that_hangs_while_it_is_set_up_delays_its_own_pod_alone(
    node: StuckNode, disk: HangingDisk, volume: Make, spec: Doc, step: int
) -> None:
    pod = node.pod("hangs", volume(node, disk.at), **spec)
    async with node.running() as bulkheads:
        for questions in range(0, MOST_QUESTIONS, step):
            disk.hang(after=questions)
            task = asyncio.create_task(node.bring(pod))
            was_stuck = await is_stuck_or_done(bulkheads, task)
            if was_stuck:
                await other_pods_are_served(node, questions)
                assert str(disk.at) in node.stuck.text()
            disk.heal()
            await task
            await node.put_away(pod)
            assert node.mounted() == []
            if not was_stuck:
                break
        else:
            pytest.fail(f"it asks more than {MOST_QUESTIONS} questions")
    assert node.warnings("VolumeStuck")


@EVERY
async def test_a_pod_that_goes_while_its_volume_is_being_set_up_leaves_nothing_once_it_answers(
    node: StuckNode, disk: HangingDisk, volume: Make, spec: Doc, step: int
) -> None:
    pod = node.pod("hangs", volume(node, disk.at), **spec)
    async with node.running() as bulkheads:
        for questions in range(0, MOST_QUESTIONS, step):
            disk.hang(after=questions)
            coming = asyncio.create_task(node.bring(pod))
            was_stuck = await is_stuck_or_done(bulkheads, coming)
            coming.cancel()
            await asyncio.wait([coming])
            going = asyncio.create_task(node.put_away(pod))
            if was_stuck:  # nothing is torn down under a call that may still set up
                await asyncio.wait([going], timeout=0.2)
                assert any(bulkheads.stuck())
            disk.heal()
            await going
            await until(lambda: not any(bulkheads.stuck()))
            assert node.mounted() == []
            assert not node.layout.pod(pod.uid).exists()
            if not was_stuck:
                return
        pytest.fail(f"it asks more than {MOST_QUESTIONS} questions")


async def test_a_disk_that_hangs_under_a_running_pod_is_told_and_others_are_measured(
    node: StuckNode, disk: HangingDisk
) -> None:
    hung = node.pod("hangs", node.local("pv", disk.at))
    (node.root / "well").mkdir()
    well = node.pod("well", node.local("well", node.root / "well"))
    async with node.running():
        await node.bring(hung)
        await node.bring(well)
        disk.hang()
        measured = [await node.statistics.of_pod(pod.uid) for pod in (hung, well)]
        assert [list(one.volumes) for one in measured] == [[], ["data"]]
        await until(lambda: bool(node.warnings("VolumeStuck")))
        await other_pods_are_served(node, 0)
        disk.heal()
        await until(lambda: not node.stuck.text())
        await node.put_away(hung)
        await node.put_away(well)
    assert node.mounted() == []


async def test_a_volume_that_hangs_is_taken_away_without_being_asked(
    node: StuckNode, disk: HangingDisk
) -> None:
    pod = node.pod("hangs", node.local("pv", disk.at))
    async with node.running() as bulkheads:
        await node.bring(pod)
        disk.hang()
        await node.put_away(pod)
        assert not any(bulkheads.stuck())
    assert node.mounted() == []


async def test_a_restart_over_a_volume_that_hangs_serves_others_and_has_it_when_it_answers(
    node: StuckNode, disk: HangingDisk, mounts: Mounts
) -> None:
    pod = node.pod("hangs", node.local("pv", disk.at))
    async with node.running():
        await node.bring(pod)
    disk.hang()
    again = StuckNode(node.root, mounts, node.server)
    async with again.running(pod) as bulkheads:
        coming = asyncio.create_task(again.bring(pod))
        assert await is_stuck_or_done(bulkheads, coming)
        await other_pods_are_served(again, 1)
        disk.heal()
        await coming
        assert len(again.mounted()) == 1
        await again.put_away(pod)
    assert node.mounted() == []


async def test_a_restart_takes_a_volume_that_hangs_from_a_pod_that_is_gone(
    node: StuckNode, disk: HangingDisk, mounts: Mounts
) -> None:
    pod = node.pod("hangs", node.local("pv", disk.at))
    async with node.running():
        await node.bring(pod)
    disk.hang()
    again = StuckNode(node.root, mounts, node.server)
    async with again.running():
        await until(lambda: not again.mounted())


async def test_a_part_of_a_volume_that_hangs_is_refused_and_its_volume_waits_for_it(
    node: StuckNode, disk: HangingDisk, mounts: Mounts
) -> None:
    pod = node.pod("hangs", node.local("pv", disk.at))
    async with node.running() as bulkheads:
        await node.bring(pod)
        disk.hang()
        with pytest.raises(StillRunning):
            await mount_list.list_volumes(node.layout, mounts, seen(node, pod))
        going = asyncio.create_task(node.put_away(pod))
        await asyncio.wait([going], timeout=0.2)
        assert any(bulkheads.stuck())
        assert node.mounted()
        disk.heal()
        await going
    assert node.mounted() == []


def seen(node: StuckNode, pod: Pod) -> Sight:
    container = pod.spec.containers[0]
    mount = container.volume_mounts[0]
    part = type(mount)(name=mount.name, mount_path=mount.mount_path, sub_path="part")
    only = type(container)(name=container.name, volume_mounts=(part,))
    return Sight(pod, only, node.volumes.reach(pod.uid), {})


async def test_a_process_ends_in_time_whatever_hangs(node: StuckNode, disk: HangingDisk) -> None:
    pods = [
        node.pod("first", host_path(node, disk.at)),
        node.pod("second", node.local("pv", disk.at)),
    ]
    disk.hang()
    began = asyncio.get_running_loop().time()
    async with node.running() as bulkheads:
        comings = [asyncio.create_task(node.bring(pod)) for pod in pods]
        await until(lambda: len(list(bulkheads.stuck())) == len(pods))
        for coming in comings:
            coming.cancel()
        await asyncio.wait(comings)
    assert asyncio.get_running_loop().time() - began < 10
