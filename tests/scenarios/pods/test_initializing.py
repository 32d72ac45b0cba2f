"""Init containers and sidecars: who starts when, and who keeps whom waiting."""

from tests.fakes.objects import PODS
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod, a_sidecar


async def test_init_containers_run_one_after_the_other(cluster: Cluster) -> None:
    init = [a_container("first"), a_container("second")]
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=init))
        assert cluster.runtime.running() == ["first"]
        assert await cluster.phase() == "Pending"
        assert (await cluster.container())["state"]["waiting"]["reason"] == "PodInitializing"
        assert await cluster.condition("Initialized") == "False"
        await cluster.finish("first")
        assert cluster.runtime.running() == ["second"]
        assert (await cluster.container("first"))["ready"]
        await cluster.finish("second")
        assert cluster.runtime.running() == ["main"]
        assert await cluster.condition("Initialized") == "True"
        assert await cluster.phase() == "Running"


async def test_an_init_container_that_fails_is_tried_again(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=[a_container("first")]))
        await cluster.finish("first", 1)
        assert cluster.runtime.running() == ["first"]
        assert (await cluster.container("first"))["restartCount"] == 1
        await cluster.finish("first", 1)
        waiting = (await cluster.container("first"))["state"]["waiting"]
        assert waiting["reason"] == "CrashLoopBackOff"


async def test_an_init_container_that_may_not_fail(cluster: Cluster) -> None:
    init = [a_container("first"), a_container("second")]
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=init, restartPolicy="Never"))
        await cluster.finish("first", 3)
        assert await cluster.phase() == "Failed"
        assert cluster.asked("create") == ["create first"]


async def test_a_sidecar_runs_beside_those_after_it(cluster: Cluster) -> None:
    init = [a_sidecar(), a_container("second")]
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=init))
        assert cluster.runtime.running() == ["proxy", "second"]
        await cluster.finish("second")
        assert cluster.runtime.running() == ["proxy", "main"]
        proxy = await cluster.container("proxy")
        assert (proxy["started"], proxy["ready"]) == (True, True)


async def test_a_sidecar_is_started_again_whatever_the_pods_policy(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=[a_sidecar()], restartPolicy="Never"))
        await cluster.finish("proxy", 0)
        assert sorted(cluster.runtime.running()) == ["main", "proxy"]


async def test_a_sidecar_does_not_keep_a_pod_alive(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=[a_sidecar()], restartPolicy="Never"))
        await cluster.finish("main", 0)
        assert cluster.asked("kill") == ["kill proxy SIGTERM"]
        assert cluster.runtime.running() == []
        assert await cluster.phase() == "Succeeded"


async def test_a_sidecar_that_has_not_started_keeps_the_others_waiting(cluster: Cluster) -> None:
    probe = {"exec": {"command": ["ready?"]}, "periodSeconds": 5}
    cluster.runtime.answer(["ready?"], lambda session: session.end(1))
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=[a_sidecar(startupProbe=probe)]))
        assert cluster.runtime.running() == ["proxy"]
        cluster.runtime.answer(["ready?"], lambda session: session.end(0))
        await cluster.passes(5)
        assert cluster.runtime.running() == ["proxy", "main"]
