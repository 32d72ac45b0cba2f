"""When volumes may be taken away after a restart."""

import asyncio

import pytest

from mooring.node.restart_gate import RestartGate
from tests.fakes.clock import settle


class World:
    def __init__(self) -> None:
        self.opened = 0
        self.gate = RestartGate(self._open)

    def _open(self) -> None:
        self.opened += 1


@pytest.fixture
def world() -> World:
    return World()


def test_it_opens_when_the_disk_was_read_and_every_pod_was_seen(world: World) -> None:
    world.gate.first_picture(["a", "b"])
    world.gate.reconstructed()
    world.gate.seen("a")
    assert (world.gate.is_synced, world.gate.may_destroy, world.opened) == (True, False, 0)
    world.gate.seen("b")
    assert (world.gate.may_destroy, world.opened) == (True, 1)


def test_the_disk_may_be_the_last(world: World) -> None:
    world.gate.first_picture([])
    assert not world.gate.may_destroy
    world.gate.reconstructed()
    assert (world.gate.may_destroy, world.opened) == (True, 1)


def test_without_a_first_picture_it_stays_shut(world: World) -> None:
    world.gate.reconstructed()
    world.gate.seen("a")
    assert not world.gate.may_destroy


def test_a_pod_that_was_seen_before_the_first_picture_counts(world: World) -> None:
    world.gate.seen("a")
    world.gate.reconstructed()
    world.gate.first_picture(["a"])
    assert (world.gate.may_destroy, world.opened) == (True, 1)


def test_pods_that_come_later_do_not_shut_it(world: World) -> None:
    world.gate.reconstructed()
    world.gate.first_picture([])
    world.gate.seen("later")
    assert (world.gate.may_destroy, world.opened) == (True, 1)


async def test_who_waits_is_woken(world: World) -> None:
    synced = asyncio.ensure_future(world.gate.until_synced())
    opened = asyncio.ensure_future(world.gate.until_open())
    world.gate.reconstructed()
    await settle()
    assert (synced.done(), opened.done()) == (True, False)
    world.gate.first_picture([])
    await settle()
    assert opened.done()
