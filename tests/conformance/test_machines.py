"""The drawn form of `tests/clients/test_machines.py`: cut off, killed, leaving, coming back."""

import random
from collections.abc import Iterator
from enum import Enum

import pytest

from tests.clients.conftest import (  # noqa: F401  fixtures
    kubectl,
    kubectl_home,
    namespace,
    needs_runtime,
    unique,
)
from tests.clients.kubectl import Kubectl
from tests.clients.machines import Machine, Machines, three_machines
from tests.clients.machines_world import MachinesWorld
from tests.clients.nodes import ServerWithNode

CLAIMS = ("one", "two", "three")
STEPS = 12
LONGEST_PAUSE = 16.0  # seconds; a silent node is lost after thirteen


class Now(Enum):
    WELL = "well"
    CUT = "cut off"
    DEAD = "dead"
    GONE = "gone"


@pytest.fixture(scope="module")
def machines(needs_runtime: None) -> Iterator[Machines]:  # noqa: F811  the fixture
    with three_machines() as running:
        yield running


@pytest.fixture(scope="module")
def server(machines: Machines) -> ServerWithNode:
    return machines.server


def disturb(world: MachinesWorld, machine: Machine, rng: random.Random) -> Now:
    """Something happens to a machine that is well."""
    what = rng.choice(("cut", "flap", "kill", "die", "go"))
    world.machines.ledger.write(what, "", machine.name)
    match what:
        case "cut":
            machine.cut()
            return Now.CUT
        case "flap":
            for _ in range(rng.randint(1, 4)):
                machine.cut()
                machine.heal()
            return Now.WELL
        case "kill":
            machine.kill()
            machine.start()
            return Now.WELL
        case "die":
            machine.lose_power()
            if rng.random() < 0.7:
                world.machines.ledger.write("vouch", "", machine.name)
                world.vouch(machine.name)
            return Now.DEAD
        case _:
            machine.go()
            return Now.GONE


def mend(world: MachinesWorld, machine: Machine, now: Now) -> None:
    if now is not Now.WELL:
        world.machines.ledger.write("mend", "", machine.name)
    match now:
        case Now.CUT:
            machine.heal()
        case Now.DEAD | Now.GONE:
            if "nodeshutdown" in str(world.kubectl.doc("node", machine.name)["spec"]):
                world.unvouch(machine.name)  # before: it is not off any more
            machine.start()
        case Now.WELL:
            pass


@pytest.fixture
def world(
    kubectl: Kubectl,  # noqa: F811  the fixture
    machines: Machines,
) -> Iterator[MachinesWorld]:
    made = MachinesWorld(kubectl, machines)
    made.prepare()
    yield made
    kubectl("delete", "replicationcontroller", "--all", "--wait=false")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(6))
async def test_no_volume_is_attached_twice_and_none_is_lost(
    world: MachinesWorld, machines: Machines, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311  no secret
    state = dict.fromkeys(machines.workers, Now.WELL)
    try:
        for claim in CLAIMS:
            await world.begins(claim)
        for _ in range(STEPS):
            name = rng.choice(sorted(state))
            machine = machines.workers[name]
            if state[name] is Now.WELL:
                state[name] = disturb(world, machine, rng)
            else:
                mend(world, machine, state[name])
                state[name] = Now.WELL
            await world.pause(rng.uniform(0, LONGEST_PAUSE))
            world.check()
    finally:  # the next seed has the same machines
        for name, now in state.items():
            mend(world, machines.workers[name], now)
    await world.all_ready()
    for claim in CLAIMS:
        await world.runs_somewhere(claim)
        assert world.starts(claim) >= 1
    await world.ends()
    world.check()
