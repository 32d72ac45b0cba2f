"""Which operations run side by side, and how long a failed one waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mooring.errors import MooringError
from mooring.node.operations import Operations
from mooring.node.plan import (
    Attach,
    Detach,
    Forget,
    Grow,
    Map,
    Mount,
    Operation,
    Unmap,
    UnmapDevice,
    Unmount,
    UnmountDevice,
    VerifyAttached,
)
from mooring.plugins.contract import VolumeError
from mooring.reconcile.operations import Busy, PutOff, Started
from tests.fakes.clock import VirtualClock, settle

V = "example.com/disk/pv"
W = "example.com/disk/other"


class World:
    """Operations that end as they are told; without a word they run until `end`."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.ended: list[Operation] = []
        self.operations = Operations(self.clock, self._run, self.ended.append)
        self._tasks = asyncio.TaskGroup()
        self._ends: dict[Operation, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["World"]:
        async with self._tasks:
            yield self
            for end in self._ends.values():
                end.cancel()

    async def _run(self, operation: Operation) -> None:
        self._ends[operation] = asyncio.get_running_loop().create_future()
        try:
            await self._ends[operation]
        finally:
            del self._ends[operation]

    async def start(self, operation: Operation) -> Started | Busy | PutOff:
        outcome = self.operations.start(operation, self._tasks)
        await settle(3)
        return outcome

    async def end(self, operation: Operation, error: Exception | None = None) -> None:
        if error is None:
            self._ends[operation].set_result(None)
        else:
            self._ends[operation].set_exception(error)
        await settle(5)

    async def cancel(self, operation: Operation) -> None:
        self._ends[operation].cancel()
        await settle(5)

    async def fail(self, operation: Operation, times: int = 1) -> None:
        """Run it, and let it fail; its pauses pass."""
        for _ in range(times):
            outcome = await self.start(operation)
            if isinstance(outcome, PutOff):
                await self.clock.advance(outcome.seconds)
                outcome = await self.start(operation)
            assert outcome == Started()
            await self.end(operation, VolumeError("no"))

    async def succeed(self, operation: Operation) -> None:
        assert await self.start(operation) == Started()
        await self.end(operation)


WHOLE: tuple[type[Operation], ...] = (
    VerifyAttached,
    Attach,
    Detach,
    Mount,
    Map,
    Grow,
    UnmountDevice,
    UnmapDevice,
    Forget,
)
ONE_PODS: tuple[type[Operation], ...] = (Unmount, Unmap)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("other", [*WHOLE, *ONE_PODS])
async def test_an_operation_on_a_volume_excludes_every_other(
    kind: type[Operation], other: type[Operation]
) -> None:
    async with World().running() as world:
        assert await world.start(kind(V, "p1")) == Started()
        assert await world.start(other(V, "p2")) == Busy()
        assert await world.start(other(W, "p2")) == Started()


TOGETHER: dict[str, tuple[Operation, Operation, Started | Busy]] = {
    "unmounts for two pods run side by side": (Unmount(V, "p1"), Unmount(V, "p2"), Started()),
    "two kinds of operation for two pods run side by side": (
        Unmap(V, "p1"),
        Unmount(V, "p2"),
        Started(),
    ),
    "the same operation twice for one pod waits": (Unmount(V, "p1"), Unmount(V, "p1"), Busy()),
    "a second pod's mount waits for the first": (Mount(V, "p1"), Mount(V, "p2"), Busy()),
    "mounts of volumes that belong to one pod each run side by side": (
        Mount("example.com/files/p1-pv", "p1"),
        Mount("example.com/files/p2-pv", "p2"),
        Started(),
    ),
    "the device waits for an unmount": (Unmount(V, "p1"), UnmountDevice(V), Busy()),
    "a mount waits for an unmount": (Unmount(V, "p1"), Mount(V, "p2"), Busy()),
}


@pytest.mark.parametrize(("first", "second", "outcome"), TOGETHER.values(), ids=TOGETHER)
async def test_side_by_side(first: Operation, second: Operation, outcome: Started | Busy) -> None:
    async with World().running() as world:
        await world.start(first)
        assert await world.start(second) == outcome


async def test_who_is_busy_is_told() -> None:
    async with World().running() as world:
        await world.start(Unmount(V, "p1"))
        await world.start(Unmount(V, "p2"))
        assert world.operations.busy(V) == {"p1", "p2"}
        await world.end(Unmount(V, "p1"))
        await world.end(Unmount(V, "p2"))
        assert world.operations.busy(V) == frozenset()
        await world.start(Mount(V, "p1"))
        assert world.operations.busy(V) == {""}


async def test_a_failed_operation_waits() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p1"))
        await world.clock.advance(0.25)
        assert await world.start(Mount(V, "p1")) == PutOff(0.25)
        assert await world.start(Mount(V, "p2")) == Started()


async def test_another_kind_for_the_same_pod_ends_the_wait() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p1"), times=5)
        await world.fail(Unmount(V, "p1"))
        assert await world.start(Unmount(V, "p1")) == PutOff(0.5)
        await world.fail(Mount(V, "p1"))
        assert await world.start(Mount(V, "p1")) == PutOff(0.5)


async def test_pauses_double_up_to_two_minutes_and_two_seconds() -> None:
    pauses = []
    async with World().running() as world:
        for _ in range(10):
            await world.fail(Mount(V, "p1"))
            outcome = await world.start(Mount(V, "p1"))
            assert isinstance(outcome, PutOff)
            pauses.append(outcome.seconds)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]


async def test_a_success_forgets_earlier_failures() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p1"), times=4)
        await world.clock.advance(8)
        await world.succeed(Mount(V, "p1"))
        await world.fail(Mount(V, "p1"))
        assert await world.start(Mount(V, "p1")) == PutOff(0.5)


async def test_what_runs_counts_before_what_failed() -> None:
    async with World().running() as world:
        await world.fail(Unmount(V, "p1"))
        await world.fail(Unmount(V, "p2"))
        await world.start(Unmount(V, "p3"))
        assert await world.start(UnmountDevice(V)) == Busy()


async def test_a_pod_keeps_its_pause_when_the_same_succeeds_for_another() -> None:
    async with World().running() as world:
        await world.fail(Unmount(V, "p2"))
        await world.succeed(Unmount(V, "p1"))
        assert await world.start(Unmount(V, "p2")) == PutOff(0.5)


async def test_a_pod_that_waits_gets_its_chance_when_another_has_left() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p2"), times=9)
        await world.succeed(Unmount(V, "p1"))
        assert await world.start(Mount(V, "p2")) == Started()


async def test_a_pod_that_has_come_is_no_news_for_one_that_cannot_leave() -> None:
    async with World().running() as world:
        await world.fail(Unmount(V, "p1"))
        await world.succeed(Mount(V, "p2"))
        assert await world.start(Unmount(V, "p1")) == PutOff(0.5)


async def test_a_failure_on_another_volume_means_nothing() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p1"))
        await world.succeed(Unmount(W, "p1"))
        assert await world.start(Mount(V, "p1")) == PutOff(0.5)


async def test_what_failed_can_be_forgiven() -> None:
    async with World().running() as world:
        await world.fail(Mount(V, "p1"), times=3)
        world.operations.forgive(V)
        assert await world.start(Mount(V, "p1")) == Started()


ENDS: dict[str, tuple[Exception | None, Started | PutOff]] = {
    "a success": (None, Started()),
    "a failure": (VolumeError("no"), PutOff(0.5)),
    "another failure of ours": (MooringError("no"), PutOff(0.5)),
    "a bug": (RuntimeError("oops"), PutOff(0.5)),
}


@pytest.mark.poisons
@pytest.mark.parametrize(("error", "again"), ENDS.values(), ids=ENDS)
async def test_whatever_its_end_it_is_told(
    error: Exception | None, again: Started | PutOff
) -> None:
    async with World().running() as world:
        await world.start(Mount(V, "p1"))
        await world.end(Mount(V, "p1"), error)
        assert world.ended == [Mount(V, "p1")]
        assert world.operations.busy(V) == frozenset()
        assert await world.start(Mount(V, "p1")) == again


async def test_a_cancelled_operation_is_neither_a_success_nor_a_failure() -> None:
    async with World().running() as world:
        await world.start(Mount(V, "p1"))
        await world.cancel(Mount(V, "p1"))
        assert world.ended == []
        assert world.operations.busy(V) == frozenset()
        assert await world.start(Mount(V, "p1")) == Started()
