"""How pods end: how long their containers have, who goes first, and what is told."""

from tests.fakes.containers import FakeSession
from tests.fakes.objects import PODS
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod, a_sidecar

PRE_STOP = {"preStop": {"exec": {"command": ["bye"]}}}


async def test_a_container_that_does_not_listen_is_killed_after_its_grace(
    cluster: Cluster,
) -> None:
    cluster.runtime.stubborn = {"main"}
    async with cluster.node():
        await cluster.create(PODS, a_pod(terminationGracePeriodSeconds=20))
        await cluster.delete(PODS, "web")
        await cluster.passes(19)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        assert await cluster.find(PODS, "web") is not None
        await cluster.passes(1)
        assert cluster.asked("kill") == ["kill main SIGTERM", "kill main SIGKILL"]
        assert await cluster.find(PODS, "web") is None


async def test_a_second_delete_can_shorten_the_grace(cluster: Cluster) -> None:
    cluster.runtime.stubborn = {"main"}
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.delete(PODS, "web")
        await cluster.passes(5)
        await cluster.delete(PODS, "web", 10)
        await cluster.passes(9)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        await cluster.passes(1)
        assert await cluster.find(PODS, "web") is None


async def test_a_pod_that_is_deleted_by_force_ends_at_once(cluster: Cluster) -> None:
    cluster.runtime.stubborn = {"main"}
    async with cluster.node():
        await cluster.create(PODS, a_pod(terminationGracePeriodSeconds=500))
        await cluster.delete(PODS, "web", 0)
        await cluster.passes(2)
        assert cluster.asked("kill") == ["kill main SIGTERM", "kill main SIGKILL"]
        assert cluster.runtime.list() == ()


async def test_what_the_pod_wants_done_before_its_end(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(lifecycle=PRE_STOP)))
        await cluster.delete(PODS, "web")
        assert cluster.asked("exec", "kill") == ["exec main bye", "kill main SIGTERM"]


async def test_a_hook_takes_of_the_grace(cluster: Cluster) -> None:
    def linger(session: FakeSession) -> None:
        """Never ends by itself."""

    cluster.runtime.answer(["bye"], linger)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(lifecycle=PRE_STOP)))
        await cluster.delete(PODS, "web", 10)
        await cluster.passes(9)
        assert cluster.asked("kill") == []
        await cluster.passes(1)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        assert cluster.runtime.sessions[0].is_closed


async def test_a_hook_that_fails_is_told_without_its_output(cluster: Cluster) -> None:
    def fail(session: FakeSession) -> None:
        session.say(b"the password is 42")
        session.end(1)

    cluster.runtime.answer(["bye"], fail)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(lifecycle=PRE_STOP)))
        await cluster.delete(PODS, "web")
        assert await cluster.events("FailedPreStopHook") == [
            "FailedPreStopHook: PreStopHook failed"
        ]


async def test_a_hook_that_sleeps(cluster: Cluster) -> None:
    lifecycle = {"preStop": {"sleep": {"seconds": 7}}}
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(lifecycle=lifecycle)))
        await cluster.delete(PODS, "web")
        await cluster.passes(6)
        assert cluster.runtime.running() == ["main"]
        await cluster.passes(1)
        assert await cluster.find(PODS, "web") is None


async def test_a_start_that_must_be_greeted(cluster: Cluster) -> None:
    lifecycle = {"postStart": {"exec": {"command": ["hello"]}}}
    cluster.runtime.answer(["hello"], lambda session: session.end(1))
    async with cluster.node():
        await cluster.create(
            PODS, a_pod("web", a_container(lifecycle=lifecycle), restartPolicy="Never")
        )
        assert await cluster.events("FailedPostStartHook", "Killing") == [
            "FailedPostStartHook: PostStartHook failed",
            "Killing: FailedPostStartHook",
        ]
        assert await cluster.phase() == "Failed"


async def test_until_it_is_greeted_a_container_is_not_ready(cluster: Cluster) -> None:
    lifecycle = {"postStart": {"sleep": {"seconds": 5}}}
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(lifecycle=lifecycle)))
        await cluster.passes(4)
        assert not (await cluster.container())["ready"]
        await cluster.passes(1)
        assert (await cluster.container())["ready"]


async def test_sidecars_end_last_and_in_reverse(cluster: Cluster) -> None:
    cluster.runtime.stubborn = {"main", "late"}
    init = [a_sidecar("early"), a_sidecar("late")]
    async with cluster.node():
        await cluster.create(PODS, a_pod(initContainers=init))
        await cluster.delete(PODS, "web", 10)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        await cluster.finish("main")
        assert cluster.asked("kill") == ["kill main SIGTERM", "kill late SIGTERM"]
        await cluster.finish("late")
        assert cluster.asked("kill")[-1] == "kill early SIGTERM"
        assert await cluster.find(PODS, "web") is None


async def test_an_image_or_a_pod_may_ask_for_another_signal(cluster: Cluster) -> None:
    polite = a_container(lifecycle={"stopSignal": "SIGUSR1"})
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", polite, os={"name": "linux"}))
        await cluster.delete(PODS, "web")
        assert cluster.asked("kill") == ["kill main SIGUSR1"]


async def test_a_pod_that_has_been_active_for_too_long(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(activeDeadlineSeconds=60))
        await cluster.passes(59)
        assert await cluster.phase() == "Running"
        await cluster.passes(2)
        status = await cluster.status()
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert cluster.runtime.running() == []


async def test_an_evicted_pod_says_why_and_stops(cluster: Cluster) -> None:
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "too much"}
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.patch(PODS, "web", {"status": evicted}, "/status")
        status = await cluster.status()
        assert {key: status[key] for key in evicted} == evicted
        assert cluster.runtime.running() == []
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_pod_deleted_while_it_starts(cluster: Cluster) -> None:
    gate = cluster.runtime.hold("create", "main")
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.delete(PODS, "web")
        gate.set()
        await cluster.settle()
        assert await cluster.find(PODS, "web") is None
        assert cluster.runtime.list() == ()


async def test_a_pod_deleted_between_making_and_starting_its_container(cluster: Cluster) -> None:
    cluster.runtime.hold("start", "main")
    async with cluster.node():
        await cluster.create(PODS, a_pod())
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is None
        assert cluster.runtime.list() == ()
