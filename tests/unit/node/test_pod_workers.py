"""Pod workers, where only a played API can show it. The rest is in tests/scenarios/node."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import Conflict, HostError
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.pod_directory import PodDirectories
from mooring.node.pod_workers import PodWorkers
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.no_runtime import NoContainers
from mooring.node.run import NodeVolumes
from mooring.plugins.layout import Layout
from mooring.plugins.registry import Registry
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.inline_threads import install_inline_threads
from tests.fakes.mounts import FakeMounts
from tests.fakes.plugins import Backend, FakePlugin
from tests.unit.node.effects.world import FakeOwnNode, FakeRecorder
from tests.unit.node.things import FILES
from tests.unit.plugins.world import a_host

TURNS = 300
PLUGIN = "example.com/files"


class Watching:
    """Which pods' objects are followed, and what the pods said last."""

    def __init__(self) -> None:
        self.followed: dict[str, Pod] = {}

    def follow(self, pod: Pod) -> None:
        self.followed[pod.uid] = pod

    def unfollow(self, pod_uid: str) -> None:
        del self.followed[pod_uid]


class Clumsy(NoContainers):
    """Cannot start the pods of these names, because of a mistake in its code."""

    def __init__(self) -> None:
        self.stumbles: set[str] = set()
        self.started: list[str] = []

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        if pod.name in self.stumbles:
            raise ZeroDivisionError
        self.started.append(pod.name)


class Full(PodDirectories):
    """On a disk that takes nothing."""

    async def make(self, pod_uid: str) -> None:
        raise HostError("mkdir: no space left on device")


class World:
    def __init__(self, root: Path, directories: type[PodDirectories] = PodDirectories) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.recorder = FakeRecorder(self.client, self.clock)
        self.backend = Backend()
        self.watching = Watching()
        self.containers = Clumsy()
        layout, mounts = Layout(root / "node"), FakeMounts()
        plugin = FakePlugin(self.backend, layout, PLUGIN)
        self.volumes = NodeVolumes(
            a_host(root, mounts),
            Registry((plugin,)),
            self.client,
            self.recorder,
            self.clock,
            FakeOwnNode(),
        )
        self.workers = PodWorkers(
            self.volumes, self.watching, directories(layout, mounts), self.containers
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        install_inline_threads()
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(part.run()) for part in (self.volumes, self.workers)]
            self.volumes.reconstructed()
            await settle(TURNS)
            yield
            for task in owned:
                task.cancel()

    async def create(self, name: str = "web", **spec: Any) -> Pod:
        mount = {"name": "tmp", "mountPath": "/tmp"}  # noqa: S108  in a container
        has = {
            "nodeName": "n1",
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "containers": [{"name": "main", "volumeMounts": [mount]}],
        }
        metadata = {"name": name, "namespace": "default"}
        made = self.server.create(Pod, {"metadata": metadata, "spec": has | spec})
        await settle(TURNS)
        return made

    async def change(self, main: dict[str, Any], name: str = "web") -> None:
        self.server.patch(self.server.get(Pod, Key("default", name)), main, {})
        await settle(TURNS)

    async def delete(self, name: str = "web", grace: int | None = 30) -> None:
        self.server.delete(self.server.get(Pod, Key("default", name)), grace)
        await settle(TURNS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_what_a_pods_volumes_show_is_followed_as_long_as_it_is_here(world: World) -> None:
    async with world.running():
        pod = await world.create()
        assert set(world.watching.followed) == {pod.uid}
        await world.delete()
        assert world.watching.followed == {}


async def test_a_container_that_joins_later_may_use_more_volumes(world: World) -> None:
    more = {"name": "more", "emptyDir": {}}
    async with world.running():
        pod = await world.create(volumes=[{"name": "tmp", "emptyDir": {}}, more])
        assert world.backend.calls == [f"set_up tmp {pod.uid}"]
        mounts = [{"name": "more", "mountPath": "/more"}]
        joining = {"ephemeralContainers": [{"name": "debug", "volumeMounts": mounts}]}
        await world.change({"spec": joining})
        assert world.backend.calls == [f"set_up tmp {pod.uid}", f"set_up more {pod.uid}"]
        assert world.watching.followed[pod.uid].spec.ephemeral_containers


async def test_a_pod_that_another_took_the_name_of_is_not_deleted_again(world: World) -> None:
    async with world.running():
        await world.create()
        world.client.fail("delete", Conflict("the UID in the precondition does not match"))
        await world.delete()
        await world.clock.advance(60)
        assert [call for call in world.client.calls if call.startswith("delete")] == [
            "delete Pod default/web"
        ]


@pytest.mark.poisons
async def test_a_mistake_with_one_pod_does_not_stop_the_others(world: World) -> None:
    world.containers.stumbles = {"bad"}
    async with world.running():
        await world.create("bad")
        await world.create("good")
        assert world.containers.started == ["good"]
        world.containers.stumbles = set()
        await world.clock.advance(1)
        assert world.containers.started == ["good", "bad"]


async def test_a_status_that_somebody_else_changed_meanwhile_is_written_again(
    world: World,
) -> None:
    world.client.fail("patch", Conflict("somebody was quicker"))
    async with world.running():
        await world.create()
        await world.clock.advance(1)
        status = world.server.get(Pod, Key("default", "web")).status
        assert [one.name for one in status.container_statuses] == ["main"]


async def test_a_pod_is_known_until_the_api_has_forgotten_it(world: World) -> None:
    async with world.running():
        pod = await world.create()
        assert world.workers.knows(pod.uid)
        await world.delete()
        assert not world.workers.knows(pod.uid)


async def test_a_full_disk_takes_nothing_away_from_a_pod(tmp_path: Path) -> None:
    """Its directory is checked after a restart, too; what it has is its own all the same."""
    world = World(tmp_path, Full)
    pod = await world.create()
    name = f"{PLUGIN}/{pod.uid}-tmp"
    mount = PodMount(pod.uid, FILES, PodState.UNCERTAIN)
    world.volumes.context.actual.reconstructed(ActualVolume(name, PLUGIN, FILES), mount)
    async with world.running():
        assert world.volumes.may_destroy
        assert not [call for call in world.backend.calls if call.startswith("tear_down")]
        assert world.recorder.told[0].message == (
            "error making pod data directories: mkdir: no space left on device"
        )


async def test_a_pod_whose_containers_ended_while_the_node_was_down_is_not_said_to_run(
    world: World,
) -> None:
    ran = {"name": "main", "ready": True, "restartCount": 2, "state": {"running": {}}}
    before = {"phase": "Running", "containerStatuses": [ran]}
    made = world.server.create(
        Pod,
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
            "status": before,
        },
    )
    async with world.running():
        told = world.server.get(Pod, made.key).status.container_statuses
    assert [(one.ready, one.restart_count) for one in told] == [(False, 2)]
    assert told[0].state.waiting is not None
    assert told[0].state.waiting.reason == "ContainerCreating"
