"""The storage of containers: counted when asked, not too often, and seldom where it takes long."""

import asyncio

import pytest

from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.node.container_statistics import PAUSE, ContainerStatistics, Measured
from mooring.node.pods.storage import NO_STORAGE, PodStorage
from mooring.node.statistics import GOOD_FOR
from tests.fakes.clock import VirtualClock, settle


def a_pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"))


class Machine:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.asked: list[str] = []
        self.takes = 0.0
        self.statistics = ContainerStatistics(self.measure, self.clock)

    async def measure(self, pod: Pod) -> PodStorage:
        self.asked.append(pod.name)
        if self.takes:
            await self.clock.sleep(self.takes)
        return NO_STORAGE

    async def ask(self, good_for: float = GOOD_FOR) -> Measured:
        asked = asyncio.ensure_future(self.statistics.of_pod(a_pod("web"), good_for))
        await settle()
        await self.clock.advance(self.takes)
        return await asked


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize(
    ("passed", "good_for", "counts"),
    [
        pytest.param(4, 5, 1, id="young enough"),
        pytest.param(5, 5, 2, id="too old"),
        pytest.param(5, 60, 1, id="young enough for who minds less"),
        pytest.param(60, 60, 2, id="too old for everybody"),
    ],
)
async def test_how_old_an_answer_may_be(
    machine: Machine, passed: float, good_for: float, counts: int
) -> None:
    await machine.ask()
    await machine.clock.advance(passed)
    await machine.ask(good_for)
    assert len(machine.asked) == counts


async def test_what_took_long_is_counted_seldom(machine: Machine) -> None:
    machine.takes = 30
    await machine.ask()
    await machine.clock.advance(30 * PAUSE - 1)
    await machine.ask(good_for=5)
    assert len(machine.asked) == 1


async def test_two_who_ask_at_once_make_one_count(machine: Machine) -> None:
    pod = a_pod("web")
    await asyncio.gather(*(machine.statistics.of_pod(pod) for _ in range(2)))
    assert machine.asked == ["web"]
