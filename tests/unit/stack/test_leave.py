"""A node that was taken down says so, if it is its own name that it speaks for."""

from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.errors import Conflict, ConnectionLost
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.node.instance import ANNOTATION
from mooring.node.status.claim import claim_name
from mooring.stack.leave import TRIES, NotOurs, check_holder, leave_cluster, tell
from tests.unit.node.status.world import NAME, World

MINE, THEIRS = "here_1", "there_2"

HOLDERS = {
    "its own lease": (MINE, ""),
    "its own, before the machine was renamed": ("before_1", ""),
    "that of another machine": (THEIRS, "there is that node by now"),
    "one that does not say whose": ("", "does not say"),
}


@pytest.mark.parametrize(("holder", "refused"), HOLDERS.values(), ids=HOLDERS)
def test_who_may_say_goodbye(holder: str, refused: str) -> None:
    verdict = check_holder(holder, MINE)
    assert (refused in verdict.because) if verdict and refused else verdict is None and not refused


@pytest.fixture
async def world() -> World:
    """Of a node that ran, with volumes, and does not any more."""
    made = World()
    await claim_name(made.client, made.clock, NAME, MINE)
    made.volumes.use("kubernetes.io/csi/d^v")
    async with made.running():
        pass
    assert made.node().status.volumes_in_use
    return made


async def test_its_node_says_that_it_has_left(world: World) -> None:
    assert await tell(world.client, world.clock, NAME, MINE) is None
    assert world.node().has_left
    assert await tell(world.client, world.clock, NAME, MINE) is None  # repeated


async def test_a_machine_whose_name_is_another_ones_by_now_says_nothing(world: World) -> None:
    lease = world.server.get(Lease, Key("kube-node-lease", NAME))
    await world.client.patch(lease, {"metadata": {"annotations": {ANNOTATION: THEIRS}}})
    assert isinstance(await tell(world.client, world.clock, NAME, MINE), NotOurs)
    assert not world.node().has_left


async def test_a_lost_race_looks_at_both_objects_again(world: World) -> None:
    world.client.fail("patch", Conflict("somebody wrote"), times=TRIES - 1)
    world.client.calls.clear()
    assert await tell(world.client, world.clock, NAME, MINE) is None
    assert sum("get Lease" in call for call in world.client.calls) == TRIES
    assert world.node().has_left


async def test_a_node_that_was_deleted_has_nothing_to_say(world: World) -> None:
    world.server.delete(world.node(), None)
    assert await tell(world.client, world.clock, NAME, MINE) is None


async def test_a_server_that_is_lost_is_for_the_caller(world: World) -> None:
    world.client.fail("get", ConnectionLost("gone"))
    with pytest.raises(ConnectionLost):
        await tell(world.client, world.clock, NAME, MINE)
    assert not world.node().has_left


def test_a_root_directory_that_has_joined_nothing_tells_nobody(tmp_path: Path) -> None:
    assert leave_cluster(tmp_path, RealClock()) == ""
    assert not list(tmp_path.iterdir())
