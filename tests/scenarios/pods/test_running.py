"""Pods that run: from creation to the end, and what their status says on the way."""

from mooring.oci.contract import RuntimeRefused
from tests.fakes.objects import PODS
from tests.scenarios.neighbours import FOREVER
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod


async def test_a_pod_runs(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        assert cluster.runtime.running() == ["main"]
        assert await cluster.phase() == "Running"
        container = await cluster.container()
        assert (container["ready"], container["started"], container["restartCount"]) == (
            True,
            True,
            0,
        )
        assert container["containerID"] == f"mooring://{cluster.runtime.id_of('main')}"
        assert "running" in container["state"]
        status = await cluster.status()
        assert (status["podIP"], status["hostIP"]) == ("10.0.0.7", "10.0.0.7")
        for condition in (
            "PodReadyToStartContainers",
            "Initialized",
            "ContainersReady",
            "Ready",
        ):
            assert await cluster.condition(condition) == "True", condition
        assert await cluster.events() == [
            'Pulled: Container image "busybox:1" already present on machine '
            "and can be accessed by the pod",
            "Created: Container created",
            "Started: Container started",
        ]


async def test_a_pod_that_has_done_its_work(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
        await cluster.finish()
        assert await cluster.phase() == "Succeeded"
        state = (await cluster.container())["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (0, "Completed")
        assert await cluster.condition("Ready") == "False"


async def test_all_containers_start_at_once(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container("one"), a_container("two")))
        assert sorted(cluster.runtime.running()) == ["one", "two"]


async def test_a_deleted_pod_goes_with_its_containers(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is None
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        assert cluster.runtime.list() == ()
        assert await cluster.events("Killing") == ["Killing: Stopping container main"]


async def test_a_life_costs_few_writes(cluster: Cluster) -> None:
    """Creating, running, ended; three events for its start and one for its end; and its removal."""
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", a_container("one"), a_container("two")))
        assert FOREVER - node.client.left == 2 + 2 * 3
        await cluster.delete(PODS, "web")
        assert FOREVER - node.client.left == 2 + 2 * 3 + (1 + 2 + 1)


async def test_a_container_that_ends_is_started_again_later_each_time(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.finish(code=1)
        assert cluster.runtime.running() == ["main"]  # the first time is free
        for pause in (10, 20, 40, 80, 160, 300, 300):
            await cluster.finish(code=1)
            waiting = (await cluster.container())["state"]["waiting"]
            assert waiting["reason"] == "CrashLoopBackOff"
            await cluster.passes(pause - 1)
            assert cluster.runtime.running() == [], pause
            await cluster.passes(1)
            assert cluster.runtime.running() == ["main"], pause
        container = await cluster.container()
        assert container["restartCount"] == 8
        assert container["lastState"]["terminated"]["exitCode"] == 1


async def test_a_crash_loop_in_words(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        uid = await cluster.uid()
        for _ in range(5):
            await cluster.finish(code=1)
            await cluster.passes(40)
        await cluster.finish(code=1)
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting["message"] == (
            f"back-off 1m20s restarting failed container=main pod=web_default({uid})"
        )
        assert await cluster.phase() == "Running"
        assert (
            f"BackOff: Back-off restarting failed container main in pod web_default({uid})"
            in await cluster.events("BackOff")
        )


async def test_a_long_run_makes_good_for_crashes(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.finish(code=1)
        await cluster.passes(601)
        await cluster.finish(code=1)
        assert cluster.runtime.running() == ["main"]


async def test_a_container_that_succeeds_is_not_retried_on_failure(cluster: Cluster) -> None:
    containers = (a_container("good"), a_container("bad"))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", *containers, restartPolicy="OnFailure"))
        await cluster.finish("good", 0)
        await cluster.finish("bad", 1)
        assert cluster.runtime.running() == ["bad"]
        await cluster.finish("bad", 0)
        assert await cluster.phase() == "Succeeded"


async def test_a_pod_fails_when_one_of_its_containers_does(cluster: Cluster) -> None:
    containers = (a_container("good"), a_container("bad"))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", *containers, restartPolicy="Never"))
        await cluster.finish("bad", 1, is_oom_killed=True)
        assert await cluster.phase() == "Running"
        await cluster.finish("good", 0)
        assert await cluster.phase() == "Failed"
        assert (await cluster.container("bad"))["state"]["terminated"]["reason"] == "OOMKilled"


async def test_only_the_last_attempts_are_kept(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        for _ in range(4):
            await cluster.finish(code=1)
            await cluster.passes(300)
        assert [one.owner.attempt for one in cluster.runtime.list()] == [3, 4]


async def test_a_program_that_is_not_there_counts_as_an_end(cluster: Cluster) -> None:
    missing = RuntimeRefused('exec: "run": executable file not found in $PATH', exit_code=127)
    cluster.runtime.refuse("create", "main", missing)
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
        state = (await cluster.container())["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (127, "StartError")
        assert state["message"] == 'exec: "run": executable file not found in $PATH'
        assert await cluster.phase() == "Failed"


async def test_what_the_runtime_refuses_is_tried_again(cluster: Cluster) -> None:
    cluster.runtime.refuse("create", "main", RuntimeRefused("no space left on device"))
    cluster.runtime.refuse("start", "main", RuntimeRefused("no space left on device"))
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {"reason": "CreateContainerError", "message": "no space left on device"}
        assert await cluster.phase() == "Pending"
        assert await cluster.events("Failed") == ["Failed: Error: no space left on device"]
        await cluster.passes(10)
        assert cluster.runtime.running() == ["main"]
        assert len(cluster.runtime.list()) == 1


async def test_a_container_that_joins_later(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        joining = {"spec": {"ephemeralContainers": [a_container("debug")]}}
        await cluster.patch(PODS, "web", joining, "/ephemeralcontainers")
        assert cluster.runtime.running() == ["main", "debug"]
        await cluster.finish("debug", 1)
        assert cluster.runtime.running() == ["main"]
        assert "terminated" in (await cluster.container("debug"))["state"]


async def test_a_gate_that_somebody_else_opens(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(readinessGates=[{"conditionType": "example.com/ok"}]))
        assert await cluster.condition("ContainersReady") == "True"
        assert await cluster.condition("Ready") == "False"
        conditions = (await cluster.status())["conditions"]
        conditions.append({"type": "example.com/ok", "status": "True"})
        await cluster.patch(PODS, "web", {"status": {"conditions": conditions}}, "/status")
        assert await cluster.condition("Ready") == "True"
