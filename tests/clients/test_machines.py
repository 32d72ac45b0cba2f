"""Three machines, cut off, killed, leaving: no volume is attached twice, none is lost."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mooring.host.mountinfo import read_table
from tests.clients.kubectl import Kubectl
from tests.clients.machines import Machines, three_machines
from tests.clients.machines_world import LONG, MachinesWorld
from tests.clients.mooring_command import done, refused
from tests.clients.nodes import ServerWithNode
from tests.fakes.waiting import until

pytestmark = pytest.mark.timeout(180)

AT_ONCE = 10.0  # the aim is two


@pytest.fixture(scope="module")
def machines(needs_runtime: None) -> Iterator[Machines]:
    with three_machines() as running:
        yield running


@pytest.fixture(scope="module")
def server(machines: Machines) -> ServerWithNode:
    return machines.server


@pytest.fixture
async def world(kubectl: Kubectl, machines: Machines) -> AsyncIterator[MachinesWorld]:
    made = MachinesWorld(kubectl, machines)
    made.prepare()
    yield made
    await made.ends()
    made.check()


def test_the_command_is_printed_with_an_address_that_the_others_reach(machines: Machines) -> None:
    listed = done("token", "list", "--data-dir", machines.server.data_dir)
    assert [line.split()[-2] for line in listed.splitlines()[1:3]] == ["used", "used"]
    assert "node:w1" in listed
    assert "node:w2" in listed


def test_a_second_machine_under_the_name_of_a_living_one_is_refused(
    machines: Machines, tmp_path: Path
) -> None:
    line = done("token", "create", "--data-dir", machines.server.data_dir, "--node", "w1")
    words = line.split()[1:]
    told = refused(*words, "--root-dir", tmp_path / "second", "--log-level", "error")
    assert told.startswith("another machine (")
    assert "is the node w1 already: stop that one" in told
    assert read_table().below(tmp_path) == ()


async def test_a_machine_that_leaves_gives_its_volumes_away_at_once(world: MachinesWorld) -> None:
    here, other = await world.begins("leaving")
    told = here.go()
    began = time.monotonic()
    assert f"the node {here.name} has left" in told
    await world.runs("leaving", on=other)
    assert time.monotonic() - began < AT_ONCE
    assert world.starts("leaving") == 2
    assert world.state_of(here.name) == "NotReady"

    here.start()  # no token
    await until(lambda: world.state_of(here.name) == "Ready", LONG)
    await until(lambda: "taints" not in world.kubectl.doc("node", here.name)["spec"], LONG)


async def test_a_dead_machine_keeps_its_volumes_until_somebody_vouches_for_it(
    world: MachinesWorld,
) -> None:
    here, other = await world.begins("dead")
    here.lose_power()
    await until(lambda: world.state_of(here.name) == "NotReady", LONG)
    await until(lambda: len(world.kubectl.doc("pods")["items"]) == 2, LONG)  # one is Terminating
    assert world.attached_to("dead") == [here.name]

    world.vouch(here.name)
    began = time.monotonic()
    await world.runs("dead", on=other)
    assert time.monotonic() - began < AT_ONCE
    assert world.starts("dead") == 2

    world.unvouch(here.name)
    here.start()
    await world.all_ready()


async def test_a_machine_that_is_cut_off_keeps_its_volumes_until_it_is_heard_again(
    world: MachinesWorld,
) -> None:
    here, other = await world.begins("cut")
    here.cut()
    await until(lambda: world.state_of(here.name) == "NotReady", LONG)
    await until(lambda: len(world.kubectl.doc("pods")["items"]) == 2, LONG)
    assert world.attached_to("cut") == [here.name]  # its pod goes on there, and may write
    assert world.starts("cut") == 1
    here.heal()
    await world.runs("cut", on=other)
    await world.all_ready()


async def test_a_machine_that_flaps_keeps_its_pods(world: MachinesWorld) -> None:
    here, _ = await world.begins("flapping")
    for _ in range(4):
        here.cut()
        await world.pause(1.0)
        here.heal()
        await world.pause(1.0)
    await world.runs("flapping", on=here)
    assert world.starts("flapping") == 1
    await world.all_ready()


async def test_a_node_whose_process_is_killed_and_started_again_changes_nothing(
    world: MachinesWorld,
) -> None:
    here, _ = await world.begins("killed")
    here.kill()
    here.start()
    await world.all_ready()
    await world.runs("killed", on=here)
    assert world.starts("killed") == 1
