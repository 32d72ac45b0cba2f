"""A snapshotter is killed before each of its writes, and in every call: nothing is lost or left."""

from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code
from tests.fakes.objects import SNAPSHOT_CLASSES
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Behaviour, Dies, Fails
from tests.scenarios.sidecars.snapshot_world import SnapshotWorld

WRITES = range(5)
DEATHS: dict[str, tuple[str, Behaviour]] = {
    "in CreateSnapshot, nothing done": ("take", Dies()),
    "in CreateSnapshot, all done": ("take", After(Dies())),
    "in DeleteSnapshot, nothing done": ("drop", Dies()),
    "in DeleteSnapshot, all done": ("drop", After(Dies())),
}


@pytest.fixture
def world(cluster: Cluster) -> SnapshotWorld:
    return SnapshotWorld(cluster)


@pytest.mark.parametrize("unready", [0, 2])
@pytest.mark.parametrize("writes", WRITES)
async def test_there_is_one_snapshot_whenever_the_snapshotter_dies(
    world: SnapshotWorld, writes: int, unready: int
) -> None:
    world.driver.unready = unready
    await world.snapshot_class()
    async with world.cluster.snapshotter(writes):
        await world.snapshot()
        await world.cluster.passes(1)
    async with world.cluster.snapshotter():
        await world.cluster.passes(30)
        assert (await world.status())["readyToUse"] is True
        assert await world.notes() == {}
    assert list(world.driver.snapshots) == [(await world.status())["snapshotHandle"]]


@pytest.mark.parametrize("unready", [0, 10**6])
@pytest.mark.parametrize("is_found", [False, True])
@pytest.mark.parametrize("writes", WRITES)
async def test_one_deleted_after_the_death_leaves_nothing(
    world: SnapshotWorld, writes: int, unready: int, *, is_found: bool
) -> None:
    if not is_found:
        world.cluster.driver.without(
            ControllerCapability.GET_SNAPSHOT, ControllerCapability.LIST_SNAPSHOTS
        )
    world.driver.unready = unready
    await world.snapshot_class()
    async with world.cluster.snapshotter(writes):
        await world.snapshot()
    await world.cluster.delete(f"{SNAPSHOT_CLASSES}/daily")
    await world.delete()
    async with world.cluster.snapshotter():
        await world.cluster.passes(10)
    assert await world.find() is None
    assert not world.driver.snapshots


@pytest.mark.parametrize("writes", WRITES)
async def test_a_deletion_is_finished_by_the_next(world: SnapshotWorld, writes: int) -> None:
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
    async with world.cluster.snapshotter(writes):
        await world.delete()
    async with world.cluster.snapshotter():
        await world.cluster.settle()
    assert await world.find() is None
    assert not world.driver.snapshots


@pytest.mark.parametrize("death", DEATHS)
async def test_a_death_in_a_call_is_survived(world: SnapshotWorld, death: str) -> None:
    world.cluster.driver.next(*DEATHS[death])
    await world.snapshot_class()
    async with world.cluster.snapshotter():
        await world.snapshot()
        await world.cluster.passes(100)
    async with world.cluster.snapshotter():
        await world.cluster.passes(2)
        assert len(world.driver.snapshots) == 1
        await world.delete()
        await world.cluster.passes(100)
    async with world.cluster.snapshotter():
        await world.cluster.passes(2)
    assert await world.find() is None
    assert not world.driver.snapshots


@pytest.mark.parametrize("writes", WRITES)
async def test_a_group_is_taken_once_and_goes_whenever_the_snapshotter_dies(
    world: SnapshotWorld, writes: int
) -> None:
    await world.group_class()
    async with world.cluster.snapshotter(writes):
        await world.group()
    async with world.cluster.snapshotter():
        await world.cluster.settle()
        assert (await world.group_content())["status"]["readyToUse"] is True
        assert len(world.cluster.driver.groups.groups) == 1
    async with world.cluster.snapshotter(writes):
        await world.delete_group()
    async with world.cluster.snapshotter():
        await world.cluster.settle()
    assert await world.find_group() is None
    assert not world.driver.snapshots


NUMBERS = count()  # the examples share one API
LAST_LIVES = 8  # whoever dies in the last one could not finish: seven may die, the last does not
codes = st.sampled_from([Code(code) for code in (1, 2, 3, 4, 5, 8, 10, 13, 14)])
failures = st.one_of(
    st.builds(Fails, codes), st.builds(lambda code: After(Fails(code)), codes), st.just(Dies())
)


@given(
    takes=st.lists(failures, max_size=4),
    drops=st.lists(failures, max_size=3),
    lives=st.lists(st.integers(0, 6), max_size=3),
    deleted_in=st.integers(0, 3),
    policy=st.sampled_from(["Delete", "Retain"]),
    unready=st.integers(0, 3),
)
@settings(
    deadline=None,
    max_examples=max(20, settings().max_examples // 3),
    suppress_health_check=list(HealthCheck),
)
async def test_no_snapshot_is_lost_leaked_or_deleted_under_retain(
    world: SnapshotWorld,
    takes: Sequence[Behaviour],
    drops: Sequence[Behaviour],
    lives: Sequence[int],
    deleted_in: int,
    policy: str,
    unready: int,
) -> None:
    """Whatever the driver answers, whenever the snapshotter dies, in whichever life it is deleted;
    a final answer of a driver that did it all the same is the driver's own leak."""
    name = f"s{next(NUMBERS)}"
    before, driver = set(world.driver.snapshots), world.cluster.driver
    driver._queued.clear()
    driver.next("take", *takes)
    driver.next("drop", *drops)
    world.driver.unready = unready
    if await world.cluster.find(f"{SNAPSHOT_CLASSES}/daily") is None:
        await world.snapshot_class()
    await world.snapshot(name, deletionPolicy=policy)
    for number, writes in enumerate([*lives, *[10**9] * LAST_LIVES]):
        async with world.cluster.snapshotter(writes):
            if number == deleted_in:
                await world.delete(name)
            await world.cluster.passes(400)
    assert await world.find(name) is None
    left = set(world.driver.snapshots) - before
    is_drivers_own = _denies_what_it_did(takes)
    if policy == "Delete":
        assert not left or is_drivers_own, "leaked"
    else:
        assert not driver.count("drop"), "deleted under Retain"
    driver.calls.clear()


def _denies_what_it_did(takes: Sequence[Behaviour]) -> bool:
    """It took the snapshot, and refused the request itself, or said at once that it did not."""
    did = [each for each in takes if isinstance(each, After)]
    codes = {each.code for each in takes if isinstance(each, Fails)}
    at_once = {each.then.code for each in did if isinstance(each.then, Fails)}
    return bool(did) and bool((codes | at_once) & {3, 5} or at_once & {2, 13})
