"""The Node object is there, true, and nobody else's words in it are lost."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from mooring.errors import Conflict, ConnectionLost
from mooring.model.condition import find_condition, is_condition_true
from mooring.model.node import Node
from tests.fakes.clock import settle
from tests.unit.node.status.world import AMOUNTS, KEY, NAME, World

PATCH, CREATE = f"patch Node {NAME}", f"create Node {NAME}"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World().running() as world:
        yield world


async def test_an_unknown_node_registers_with_all_it_has_to_say(world: World) -> None:
    node = world.node()
    assert world.writes() == [CREATE]
    assert node.is_ready
    assert node.leaves_attaching_to_controller
    assert node.metadata.labels["kubernetes.io/hostname"] == NAME
    assert node.status.capacity["memory"] == "8Gi"


async def test_a_known_node_keeps_what_others_have_written() -> None:
    world = World()
    world.server.create(
        Node,
        {
            "metadata": {
                "name": NAME,
                "labels": {"zone": "a", "kubernetes.io/hostname": "old"},
                "annotations": {"team": "red"},
            },
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {
                "capacity": {"example.com/dongle": "2"},
                "conditions": [{"type": "NetworkUnavailable", "status": "False"}],
                "volumesAttached": [{"name": "v", "devicePath": "/dev/x"}],
            },
        },
    )
    async with world.running():
        node = world.node()
        assert node.metadata.labels["zone"] == "a"
        assert node.metadata.labels["kubernetes.io/hostname"] == NAME
        assert node.metadata.annotations["team"] == "red"
        assert node.spec.taints
        assert node.status.capacity["example.com/dongle"] == "2"
        assert node.status.allocatable["example.com/dongle"] == "2"
        assert find_condition(node.status.conditions, "NetworkUnavailable") is not None
        assert node.is_ready
        assert world.own_node.attached() == {"v": "/dev/x"}


async def test_a_deleted_node_is_registered_again_at_once(world: World) -> None:
    first = world.node()
    world.server.delete(first, None)
    await settle()
    assert world.node().uid != first.uid


async def test_nothing_new_is_told_only_every_few_minutes(world: World) -> None:
    world.writes()
    await world.clock.advance(290)
    assert world.writes() == []
    await world.clock.advance(200)
    assert world.writes() == [PATCH]
    ready = find_condition(world.node().status.conditions, "Ready")
    assert ready is not None
    assert ready.last_heartbeat_time != ready.last_transition_time


async def test_a_volume_that_comes_into_use_is_told_at_once_and_then_acknowledged(
    world: World,
) -> None:
    world.volumes.use("a")
    await settle()
    assert world.node().status.volumes_in_use == ("a",)
    assert world.volumes.reported == ("a",)


async def test_a_volume_that_goes_out_of_use_is_told_at_once(world: World) -> None:
    world.volumes.use("a", "b")
    await settle()
    world.volumes.use("b")
    await settle()
    assert world.node().status.volumes_in_use == ("b",)


async def test_a_volume_that_is_back_before_its_going_was_told_needs_no_write(
    world: World,
) -> None:
    world.volumes.use("a")
    await settle()
    world.volumes.use()
    world.volumes.reported = None  # as of a volume that is wanted anew
    world.writes()
    world.volumes.use("a")
    await settle()
    assert world.writes() == []
    assert world.volumes.reported == ("a",)


async def test_what_was_in_use_stays_so_until_the_disk_has_been_read() -> None:
    world = World()
    world.volumes.is_synced = False
    world.server.create(Node, {"metadata": {"name": NAME}, "status": {"volumesInUse": ["kept"]}})
    async with world.running():
        world.volumes.use("new")
        await world.clock.advance(30)
        assert world.node().status.volumes_in_use == ("kept",)
        assert world.volumes.reported is None
        world.volumes.is_synced = True
        world.report.volumes_synced()
        await settle()
        assert world.node().status.volumes_in_use == ("new",)
        assert world.volumes.reported == ("new",)


async def test_without_acknowledgement_nothing_counts_as_reported(world: World) -> None:
    world.client.fail("patch", ConnectionLost("the answer is lost"), times=2)
    world.volumes.use("a")
    await settle()
    assert not world.volumes.reported
    await world.clock.advance(2)
    assert world.volumes.reported == ("a",)


async def test_a_lost_race_is_tried_again_at_once(world: World) -> None:
    world.client.fail("patch", Conflict("somebody wrote"))
    world.volumes.use("a")
    await settle()
    assert world.volumes.reported == ("a",)


async def test_while_the_server_is_away_the_node_waits_and_then_registers() -> None:
    world = World()
    world.client.is_offline = True
    async with world.running():
        await world.clock.advance(60)
        assert world.server.find(Node, KEY) is None
        world.client.go_on()
        await world.clock.advance(30)
        assert world.node().is_ready


async def test_pressure_is_told_when_felt_and_for_a_while_after(world: World) -> None:
    world.amounts = replace(AMOUNTS, storage_free=1, memory_free=1)
    await world.clock.advance(10)
    for kind in ("DiskPressure", "MemoryPressure"):
        assert is_condition_true(world.node().status.conditions, kind)
    world.amounts = AMOUNTS
    await world.clock.advance(200)
    assert is_condition_true(world.node().status.conditions, "DiskPressure")
    await world.clock.advance(200)
    for kind in ("DiskPressure", "MemoryPressure"):
        assert not is_condition_true(world.node().status.conditions, kind)


async def test_more_disk_is_told_at_the_next_look(world: World) -> None:
    world.amounts = replace(AMOUNTS, storage=2 * AMOUNTS.storage)
    await world.clock.advance(10)
    assert world.node().status.capacity["ephemeral-storage"] == str(2 * AMOUNTS.storage)
