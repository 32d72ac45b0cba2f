"""Pods that really run: their volumes, words, ends and restarts, and that nothing is left."""

import os
import signal

import pytest

from mooring.oci.contract import State
from tests.fakes.waiting import until
from tests.host.containers import World, logged
from tests.host.pods import PodNode

pytestmark = pytest.mark.usefixtures("needs_root")


@pytest.fixture
def node(world: World) -> PodNode:
    return PodNode(world)


async def test_a_pod_works_with_its_volume_and_is_done(node: PodNode) -> None:
    async with node.running():
        pod = node.create(
            "echo hello > /data/file; cat /data/file; id -u; cat /etc/hostname; "
            "echo done > /dev/termination-log; exit 3",
            restartPolicy="Never",
            securityContext={"runAsUser": 1000, "fsGroup": 1000},
        )
        ended = await node.reaches("Failed")
        state = ended.status.container_statuses[0].state.terminated
        assert state is not None
        assert (state.exit_code, state.reason, state.message) == (3, "Error", "done\n")
        (found,) = node.world.containers.list()
        assert logged(found.log_path) == "hello\n1000\nweb\n"
        await until(lambda: not node.layout.pod(pod.uid).exists())
        node.delete()
        await node.is_gone()
        assert not list((node.root / "logs").iterdir())
        assert node.mounts() == []


async def test_a_deleted_pod_goes_with_everything(node: PodNode) -> None:
    async with node.running():
        pod = node.create("trap 'exit 0' TERM; echo up; sleep 1000 & wait")
        await node.reaches("Running")
        await node.says("up")
        node.delete()
        await node.is_gone()
        assert not node.layout.pod(pod.uid).exists()


async def test_a_pod_that_does_not_listen_is_killed(node: PodNode) -> None:
    async with node.running():
        node.create("trap '' TERM; echo up; while true; do sleep 1; done")
        await node.says("up")
        node.delete(grace=1)
        await node.is_gone()


async def test_a_killed_container_is_started_again(node: PodNode) -> None:
    async with node.running():
        node.create("sleep 1000")
        await node.reaches("Running")
        os.kill(node.world.containers.list()[0].pid, signal.SIGKILL)
        await until(lambda: node.pod.status.container_statuses[0].restart_count == 1)
        last = node.pod.status.container_statuses[0].last_state.terminated
        assert last is not None
        assert last.exit_code == 128 + signal.SIGKILL
        node.delete(grace=0)
        await node.is_gone()


async def test_a_program_that_is_not_there(node: PodNode) -> None:
    container = {"name": "main", "image": "little", "command": ["/no/such/program"]}
    async with node.running():
        node.create("", containers=[container], volumes=[], restartPolicy="Never")
        failed = await node.reaches("Failed")
        state = failed.status.container_statuses[0].state.terminated
        assert state is not None
        assert state.reason == "StartError"
        assert "/no/such/program" in state.message


async def test_what_runs_outlives_the_node_and_is_taken_over(node: PodNode) -> None:
    async with node.running():
        script = "trap 'echo bye; exit 7' TERM; echo up; sleep 1000 & wait"
        node.create(script, restartPolicy="Never")
        before = await node.reaches("Running")
        await node.says("up")
    pid = node.world.containers.list()[0].pid
    await node.world.stop()
    async with node.world.running(), node.running():
        (found,) = node.world.containers.list()
        assert (found.pid, found.state) == (pid, State.RUNNING)
        os.kill(pid, signal.SIGTERM)
        after = await node.reaches("Failed")
        state = after.status.container_statuses[0].state.terminated
        assert state is not None
        assert state.exit_code == 7
        assert state.container_id == before.status.container_statuses[0].container_id
        assert logged(found.log_path) == "up\nbye\n"


async def test_pods_that_vanished_meanwhile_leave_nothing(node: PodNode) -> None:
    async with node.running():
        pod = node.create("sleep 1000")
        await node.reaches("Running")
    node.server.delete(node.pod, 0)
    async with node.running():
        await until(lambda: not node.world.containers.list())
        logs = node.root / "logs"  # the last thing to go
        await until(lambda: not [path for path in logs.iterdir() if pod.uid in path.name])


async def test_hooks_and_probes_run_in_the_container(node: PodNode) -> None:
    container = {
        "name": "main",
        "image": "little",
        "command": ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"],
        "readinessProbe": {"exec": {"command": ["cat", "/greeted"]}, "periodSeconds": 1},
        "lifecycle": {
            "postStart": {"exec": {"command": ["touch", "/greeted"]}},
            "preStop": {"exec": {"command": ["rm", "/greeted"]}},
        },
    }
    async with node.running():
        node.create("", containers=[container], volumes=[])
        await until(lambda: any(one.ready for one in node.pod.status.container_statuses))
        node.delete()
        await node.is_gone()
