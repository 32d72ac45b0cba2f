"""Three machines, cut off, killed, leaving: no volume is attached twice, none is lost."""

import time
from collections.abc import Iterator

import pytest

from tests.clients.csi import a_class_of
from tests.clients.kubectl import Kubectl
from tests.clients.machines import Machine, Machines, three_machines
from tests.clients.manifests import Doc, a_claim
from tests.clients.mooring_command import done
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import a_script, mounting, of_claim
from tests.clients.shared_driver import NAME, faults
from tests.fakes.waiting import until

pytestmark = pytest.mark.timeout(180)

CLASS = "shared"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
SCRIPT = 'echo started >>/data/starts; trap "exit 0" TERM; sleep 1000 & wait'
LONG = 40.0  # seconds; the machine may be busy
AT_ONCE = 10.0  # the aim is two


@pytest.fixture(scope="module")
def machines(needs_runtime: None) -> Iterator[Machines]:
    with three_machines() as running:
        yield running


@pytest.fixture(scope="module")
def server(machines: Machines) -> ServerWithNode:
    return machines.server


def a_controller(name: str) -> Doc:
    """One pod with an exclusive volume, which leaves a lost machine after a second."""
    keys = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
    lost = [{"key": key, "operator": "Exists", "effect": "NoExecute"} for key in keys]
    using: Doc = {"volumes": [of_claim("data", name)], "container": mounting(data="/data")}
    soon = [{**one, "tolerationSeconds": 1} for one in lost]
    pod = a_script("x", SCRIPT, tolerations=soon, **using)
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "template": template},
    }


class World:
    """What somebody sees of the machines."""

    def __init__(self, kubectl: Kubectl, machines: Machines) -> None:
        self.kubectl = kubectl
        self.machines = machines

    def state_of(self, node: str) -> str:
        words = self.kubectl("get", "node", node, "--no-headers", "--ignore-not-found").split()
        return words[1].partition(",")[0] if words else ""

    def running_on(self) -> dict[str, str]:
        """The nodes where pods run that nobody has deleted, by their controllers."""
        return {
            pod["metadata"]["labels"]["app"]: pod["spec"]["nodeName"]
            for pod in self.kubectl.doc("pods")["items"]
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and all(one["ready"] for one in pod["status"].get("containerStatuses", ()))
        }

    def volume_of(self, claim: str) -> str:
        volume = self.kubectl.field(".spec.volumeName", "pvc", claim)
        return self.kubectl.field(".spec.csi.volumeHandle", "pv", volume)

    def attached_to(self, claim: str) -> list[str]:
        volume = self.volume_of(claim)
        return [node for one, node in self.machines.ledger.attached() if one == volume]

    def starts(self, claim: str) -> int:
        """How often a pod has begun, by what is on the volume."""
        file = self.machines.ledger.content(self.volume_of(claim)) / "starts"
        return len(file.read_text().splitlines())

    async def all_ready(self) -> None:
        for node in (NODE, *self.machines.workers):
            await until(lambda node=node: self.state_of(node) == "Ready", LONG)

    async def runs(self, claim: str, on: Machine | str) -> None:
        name = on if isinstance(on, str) else on.name
        await until(lambda: self.running_on().get(claim) == name, LONG)
        assert self.attached_to(claim) == [name]

    async def begins(self, claim: str) -> tuple[Machine, Machine]:
        """A controller of this name, running; where it runs, and the other worker."""
        await self.all_ready()
        self.kubectl("create", "-f-", given=[a_claim(claim, "1Mi", storageClassName=CLASS)])
        self.kubectl("create", "-f-", given=[a_controller(claim)])
        await until(lambda: claim in self.running_on(), LONG)
        here = self.running_on()[claim]
        assert self.attached_to(claim) == [here]
        assert self.machines.ledger.mounted(self.volume_of(claim)) == (here,)
        other = next(name for name in self.machines.workers if name != here)
        return self.machines.workers[here], self.machines.workers[other]

    def check(self) -> None:
        assert list(faults(self.machines.ledger.read())) == []


@pytest.fixture
def world(kubectl: Kubectl, machines: Machines) -> Iterator[World]:
    made = World(kubectl, machines)
    if CLASS not in kubectl("get", "storageclass", "-o", "name"):
        kubectl("create", "-f-", given=[a_class_of(NAME, CLASS)])
        kubectl("cordon", NODE)
    yield made
    kubectl("delete", "replicationcontroller", "--all", "--wait=false")
    made.check()


def test_the_command_is_printed_with_an_address_that_the_others_reach(machines: Machines) -> None:
    listed = done("token", "list", "--data-dir", machines.server.data_dir)
    assert [line.split()[-2] for line in listed.splitlines()[1:3]] == ["used", "used"]
    assert "node:w1" in listed
    assert "node:w2" in listed


async def test_a_machine_that_leaves_gives_its_volumes_away_at_once(world: World) -> None:
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


async def test_a_dead_machine_keeps_its_volumes_until_somebody_vouches_for_it(world: World) -> None:
    here, other = await world.begins("dead")
    here.lose_power()
    await until(lambda: world.state_of(here.name) == "NotReady", LONG)
    await until(lambda: len(world.kubectl.doc("pods")["items"]) == 2, LONG)  # one is Terminating
    assert world.attached_to("dead") == [here.name]

    world.kubectl("taint", "node", here.name, f"{OUT_OF_SERVICE}=nodeshutdown:NoExecute")
    began = time.monotonic()
    await world.runs("dead", on=other)
    assert time.monotonic() - began < AT_ONCE
    assert world.starts("dead") == 2

    here.start()
    world.kubectl("taint", "node", here.name, f"{OUT_OF_SERVICE}:NoExecute-")
    await world.all_ready()


async def test_a_machine_that_is_cut_off_keeps_its_volumes_until_it_is_heard_again(
    world: World,
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


async def test_a_machine_that_flaps_keeps_its_pods(world: World) -> None:
    here, _ = await world.begins("flapping")
    for _ in range(4):
        here.cut()
        await pause(1.0)
        here.heal()
        await pause(1.0)
    await world.runs("flapping", on=here)
    assert world.starts("flapping") == 1
    await world.all_ready()


async def test_a_node_whose_process_is_killed_and_started_again_changes_nothing(
    world: World,
) -> None:
    here, _ = await world.begins("killed")
    here.kill()
    here.start()
    await world.all_ready()
    await world.runs("killed", on=here)
    assert world.starts("killed") == 1


async def pause(seconds: float) -> None:
    end = time.monotonic() + seconds
    await until(lambda: time.monotonic() >= end)
