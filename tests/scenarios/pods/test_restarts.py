"""The node is killed, and comes back: what runs goes on, and what happened meanwhile is told."""

from tests.fakes.objects import PODS
from tests.scenarios.neighbours import FOREVER
from tests.scenarios.node.cluster import scratch
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod


async def test_what_runs_goes_on(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.finish(code=1)
    before = await cluster.status()
    cluster.runtime.calls.clear()
    async with cluster.node() as node:
        assert await cluster.status() == before
        assert cluster.asked() == []
        assert FOREVER - node.client.left == 0
        await cluster.finish(code=1)
        assert (await cluster.container())["restartCount"] == 2


async def test_what_ended_meanwhile_is_told_and_started_again(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
    await cluster.finish(code=5)
    async with cluster.node():
        container = await cluster.container()
        assert container["restartCount"] == 1
        assert container["lastState"]["terminated"]["exitCode"] == 5
        assert cluster.runtime.running() == ["main"]


async def test_what_nobody_saw_end_has_failed(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
    await cluster.finish(is_lost=True)
    async with cluster.node():
        ended = (await cluster.container())["state"]["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("ContainerStatusUnknown", 137)


async def test_a_container_that_vanished_without_a_trace_is_not_run_twice(
    cluster: Cluster,
) -> None:
    containers = (a_container("one"), a_container("two"))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", *containers, restartPolicy="Never"))
    await cluster.runtime.remove(cluster.runtime.id_of("one"))
    async with cluster.node():
        assert cluster.runtime.running() == ["two"]
        ended = (await cluster.container("one"))["state"]["terminated"]
        assert ended["reason"] == "ContainerStatusUnknown"
        await cluster.finish("two")
        assert await cluster.phase() == "Failed"


async def test_a_container_made_but_not_started_is_made_anew(cluster: Cluster) -> None:
    cluster.runtime.hold("start", "main")
    async with cluster.node():
        await cluster.create(PODS, a_pod())
    made = cluster.runtime.id_of("main")
    cluster.runtime.hold("start", "main").set()
    async with cluster.node():
        assert cluster.runtime.running() == ["main"]
        assert cluster.runtime.find(made) is None
        assert (await cluster.container())["restartCount"] == 0


async def test_containers_of_pods_that_vanished_are_gone_before_their_volumes(
    cluster: Cluster,
) -> None:
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod(volumes=[scratch()]))
        uid = await cluster.uid()
    gate = cluster.runtime.hold("remove", "main")
    await cluster.delete(PODS, "web", 0)
    assert await cluster.find(PODS, "web") is None
    async with cluster.node(real=True) as node:
        await cluster.passes(120)
        assert not node.volumes.may_destroy
        gate.set()
        await cluster.settle()
        assert cluster.runtime.list() == ()
        assert node.volumes.may_destroy
        assert not any(uid in name.name for name in (cluster.layout.root / "logs").iterdir())


async def test_a_pod_deleted_meanwhile_ends(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod())
    await cluster.delete(PODS, "web")
    async with cluster.node():
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        assert await cluster.find(PODS, "web") is None


async def test_init_containers_are_not_run_again(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=[a_container("first")]))
        await cluster.finish("first")
    async with cluster.node():
        await cluster.finish(code=1)
        assert cluster.asked("create") == ["create first", "create main", "create main"]


async def test_logs_stay_until_the_pod_is_gone(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
        await cluster.finish()
        assert await cluster.phase() == "Succeeded"
        path = cluster.found().log_path
        assert path.name == "0.log"
        path.write_bytes(b"words")
        await cluster.delete(PODS, "web")
        assert not path.parent.parent.exists()
        assert cluster.runtime.list() == ()
