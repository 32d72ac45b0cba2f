"""What counts as stored by a pod's containers: their own layers and logs, while they run."""

import signal
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import usage
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.tree_usage import NOTHING, TreeUsage
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.storage import NO_STORAGE, PodStorage, measure
from mooring.oci.contract import ContainerSpec, Owner, RunAsUser
from mooring.plugins.layout import Layout
from tests.fakes.clock import VirtualClock
from tests.fakes.containers import FakeContainers

POD = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u1"))
LAYER = TreeUsage(4096, 2)


class Machine:
    def __init__(self, root: Path) -> None:
        self.containers = FakeContainers(VirtualClock())
        self.paths = PodPaths(Layout(root))

    async def run(self, name: str, pod_uid: str = "u1", attempt: int = 0) -> str:
        owner = Owner("default", "web", pod_uid, name, attempt)
        id = f"{pod_uid}-{name}-{attempt}"
        spec = ContainerSpec(
            id=id,
            owner=owner,
            image=None,
            args=(),
            environment=(),
            working_dir="",
            user=RunAsUser(),
            hostname="web",
            log_path=self.paths.log(owner),
        )
        await self.containers.create(spec)
        await self.containers.start(id)
        self.containers.layers[name] = LAYER
        return id

    def log(self, name: str, file: str = "0.log", size: int = 4096) -> Path:
        path = self.paths.log(Owner("default", "web", "u1", name, 0)).with_name(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        return path

    async def measure(self) -> PodStorage:
        return await measure(POD, self.containers, self.paths)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "node")


async def test_a_layer_and_the_logs_of_all_attempts_count(machine: Machine) -> None:
    await machine.run("main")
    log = machine.log("main")
    machine.log("main", "0.log.20260101-000000")
    machine.log("main", "1.log")
    (found,) = (await machine.measure()).containers
    assert (found.name, found.layer) == ("main", LAYER)
    assert found.logs == usage.of_tree(log.parent)
    assert found.logs.inodes_used == 4
    assert found.used == found.layer + found.logs


async def test_the_hosts_file_of_the_pod_counts(machine: Machine) -> None:
    await machine.run("main")
    hosts = machine.paths.hosts(POD)
    hosts.parent.mkdir(parents=True)
    hosts.write_text("127.0.0.1 localhost\n")
    assert (await machine.measure()).hosts == usage.of_one_file(hosts)


async def test_what_does_not_run_does_not_count(machine: Machine) -> None:
    await machine.run("other", pod_uid="u2")
    ended = await machine.run("main")
    machine.log("main")
    await machine.containers.kill(ended, signal.SIGKILL)
    assert await machine.measure() == NO_STORAGE
    await machine.run("main", attempt=1)
    assert len((await machine.measure()).containers) == 1


async def test_a_container_without_logs_is_measured_all_the_same(machine: Machine) -> None:
    await machine.run("main")
    (found,) = (await machine.measure()).containers
    assert found.used == LAYER
    assert found.logs == NOTHING


async def test_a_container_that_cannot_be_measured_hides_no_other(machine: Machine) -> None:
    for name in ("a", "b"):
        await machine.run(name)
    machine.containers.refuse("written", "a", HostError("input/output error"))
    assert [one.name for one in (await machine.measure()).containers] == ["b"]
