"""What is measured of an operation, and what is not done because it has no subject."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.node.effects.run import Effects
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
from tests.fakes.plugins import Outcome
from tests.unit.node.effects.stories import refresh
from tests.unit.node.effects.world import NodeWorld, a_use

NAME = "example.com/disk/pv"
DURATION = "storage_operation_duration_seconds"
WHOLE = "volume_operation_total_seconds"


def counts(world: NodeWorld, metric: str) -> dict[tuple[str, ...], float]:
    """How often, by the labels in their order."""
    found: dict[tuple[str, ...], float] = {}
    for family in world.context.metrics.collect():
        for sample in family.samples:
            if sample.name == f"{metric}_count":
                found[tuple(sample.labels.values())] = sample.value
    return found


def operated(
    operation: str, *, status: str = "success", migrated: str = "false"
) -> tuple[str, ...]:
    return ("example.com/disk", operation, status, migrated)


async def test_every_operation_is_measured(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.backend.script("set_up", Outcome.FINAL)
        world.want("p1", a_use())
        await world.settle()
        world.drop("p1")
        await world.settle()
        assert counts(world, DURATION) == {
            operated("verify_controller_attached_volume"): 1,
            operated("volume_mount", status="fail-unknown"): 1,
            operated("volume_mount"): 1,
            operated("volume_unmount"): 1,
            operated("unmount_device"): 1,
        }


async def test_the_whole_time_of_a_mount_is_measured_once(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.backend.script("set_up", Outcome.FINAL)
        world.want("p1", a_use())
        await world.settle()
        await refresh()(world)
        assert counts(world, WHOLE) == {("example.com/disk", "overall_volume_mount"): 1}
        sums = [
            sample.value
            for family in world.context.metrics.collect()
            for sample in family.samples
            if sample.name == f"{WHOLE}_sum"
        ]
        assert sums == [0.5]


@pytest.mark.poisons
async def test_a_bug_is_measured_as_a_failure(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.backend.script("set_up", Outcome.BUG)
        world.want("p1", a_use())
        await world.once()
        assert counts(world, DURATION)[operated("volume_mount", status="fail-unknown")] == 1


async def test_what_was_cancelled_is_not_measured(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.backend.cut(0)
        world.want("p1", a_use())
        await world.once()
        await world.cancel()
        assert counts(world, DURATION) == {operated("verify_controller_attached_volume"): 1}


async def test_migrated_volumes_are_told_apart(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", replace(a_use(), is_migrated=True))
        await world.once()
        assert counts(world, DURATION)[operated("volume_mount", migrated="true")] == 1


ANY: tuple[Callable[[str, str], Operation], ...] = (
    VerifyAttached,
    Attach,
    Detach,
    Mount,
    Map,
    Grow,
    Unmount,
    Unmap,
    UnmountDevice,
    UnmapDevice,
    Forget,
)


@pytest.mark.parametrize("kind", ANY)
async def test_what_has_vanished_needs_nothing_done(
    kind: Callable[[str, str], Operation], tmp_path: Path
) -> None:
    async with NodeWorld(tmp_path) as world:
        await Effects(world.context).run(kind(NAME, "p1"))
        assert (world.backend.calls, counts(world, DURATION)) == ([], {})


OF_A_POD: tuple[Callable[[str, str], Operation], ...] = (Mount, Map, Unmount, Unmap)


@pytest.mark.parametrize("kind", OF_A_POD)
async def test_nor_for_a_pod_that_has_vanished(
    kind: Callable[[str, str], Operation], tmp_path: Path
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.backend.calls.clear()
        await Effects(world.context).run(kind(NAME, "p2"))
        assert world.backend.calls == []


async def test_a_volume_that_a_pod_has_is_not_forgotten(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        await Effects(world.context).run(Forget(NAME))
        assert world.here().name == NAME
