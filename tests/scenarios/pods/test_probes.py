"""Probes: containers that must show that they have started, live and are ready."""

from functools import partial
from typing import Any

from tests.fakes.containers import FakeSession
from tests.fakes.objects import PODS
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod


def asking(word: str, **how: Any) -> dict[str, Any]:
    return {"exec": {"command": [word]}, "periodSeconds": 10} | how


class Answers:
    """What programs that probes run say; all is well until they are told otherwise."""

    def __init__(self, cluster: Cluster, *words: str) -> None:
        self.bad: set[str] = set()
        for word in words:
            cluster.runtime.answer([word], partial(self._answer, word))

    def _answer(self, word: str, session: FakeSession) -> None:
        if word in self.bad:
            session.say(b"not well")
        session.end(1 if word in self.bad else 0)


async def test_a_container_that_is_not_ready(cluster: Cluster) -> None:
    answers = Answers(cluster, "ready?")
    answers.bad = {"ready?"}
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(readinessProbe=asking("ready?"))))
        container = await cluster.container()
        assert (container["started"], container["ready"]) == (True, False)
        assert await cluster.phase() == "Running"
        assert await cluster.condition("Ready") == "False"
        assert await cluster.events("Unhealthy") == ["Unhealthy: Readiness probe failed: not well"]
        answers.bad = set()
        await cluster.passes(10)
        assert (await cluster.container())["ready"]
        answers.bad = {"ready?"}
        await cluster.passes(29)
        assert (await cluster.container())["ready"]
        await cluster.passes(1)
        assert not (await cluster.container())["ready"]
        assert cluster.asked("kill") == []


async def test_a_container_that_does_not_live_is_restarted(cluster: Cluster) -> None:
    answers = Answers(cluster, "alive?")
    async with cluster.node():
        await cluster.create(
            PODS,
            a_pod("web", a_container(livenessProbe=asking("alive?", failureThreshold=2))),
        )
        await cluster.passes(10)
        answers.bad = {"alive?"}
        await cluster.passes(10)
        assert cluster.asked("kill") == []
        await cluster.passes(10)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        assert await cluster.events("Killing") == [
            "Killing: Container main failed liveness probe, will be restarted"
        ]
        answers.bad = set()
        assert cluster.runtime.running() == ["main"]
        assert (await cluster.container())["restartCount"] == 1


async def test_a_probe_may_grant_less_time_to_end(cluster: Cluster) -> None:
    answers = Answers(cluster, "alive?")
    answers.bad = {"alive?"}
    cluster.runtime.stubborn = {"main"}
    probe = asking("alive?", failureThreshold=1, terminationGracePeriodSeconds=5)
    async with cluster.node():
        await cluster.create(
            PODS, a_pod("web", a_container(livenessProbe=probe), restartPolicy="Never")
        )
        await cluster.passes(4)
        assert cluster.asked("kill") == ["kill main SIGTERM"]
        await cluster.passes(1)
        assert cluster.asked("kill") == ["kill main SIGTERM", "kill main SIGKILL"]


async def test_other_probes_wait_until_it_has_started(cluster: Cluster) -> None:
    answers = Answers(cluster, "up?", "alive?", "ready?")
    answers.bad = {"up?", "alive?", "ready?"}
    container = a_container(
        startupProbe=asking("up?", failureThreshold=5),
        livenessProbe=asking("alive?", failureThreshold=1),
        readinessProbe=asking("ready?"),
    )
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container))
        await cluster.passes(35)
        assert {call.detail for call in cluster.runtime.calls if call.verb == "exec"} == {"up?"}
        assert (await cluster.container())["started"] is False
        answers.bad = set()
        await cluster.passes(5)
        container = await cluster.container()
        assert (container["started"], container["ready"]) == (True, True)


async def test_a_container_that_never_starts(cluster: Cluster) -> None:
    answers = Answers(cluster, "up?")
    answers.bad = {"up?"}
    probe = asking("up?", failureThreshold=3, initialDelaySeconds=4)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(startupProbe=probe)))
        await cluster.passes(23)
        assert cluster.asked("kill") == []
        await cluster.passes(1)
        assert await cluster.events("Killing") == [
            "Killing: Container main failed startup probe, will be restarted"
        ]


async def test_a_probe_that_takes_too_long(cluster: Cluster) -> None:
    cluster.runtime.answer(["alive?"], lambda session: None)
    probe = asking("alive?", timeoutSeconds=3, failureThreshold=1)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(livenessProbe=probe)))
        await cluster.passes(3)
        assert await cluster.events("Unhealthy") == [
            'Unhealthy: Liveness probe failed: command timed out: "alive?" timed out after 3s'
        ]
        assert cluster.runtime.sessions[0].is_closed


async def test_after_a_restart_a_container_stays_as_ready_as_it_was(cluster: Cluster) -> None:
    answers = Answers(cluster, "ready?")
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(readinessProbe=asking("ready?"))))
    answers.bad = {"ready?"}
    async with cluster.node():
        assert (await cluster.container())["ready"]
        await cluster.passes(40)
        assert not (await cluster.container())["ready"]


async def test_nobody_probes_a_pod_that_ends(cluster: Cluster) -> None:
    answers = Answers(cluster, "alive?")
    cluster.runtime.stubborn = {"main"}
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(livenessProbe=asking("alive?"))))
        await cluster.delete(PODS, "web")
        answers.bad = {"alive?"}
        cluster.runtime.calls.clear()
        await cluster.passes(25)
        assert cluster.asked("exec") == []


async def test_after_the_clock_was_set_back_a_restart_does_not_wait_an_hour(
    cluster: Cluster,
) -> None:
    """By that clock the container starts in an hour."""
    answers = Answers(cluster, "alive?")
    async with cluster.node():
        probe = asking("alive?", failureThreshold=1, initialDelaySeconds=5)
        await cluster.create(PODS, a_pod("web", a_container(livenessProbe=probe)))
        await cluster.passes(20)
    cluster.clock.set_wall(-3600)
    answers.bad = {"alive?"}
    async with cluster.node():
        await cluster.passes(30)
        assert (await cluster.container())["restartCount"] > 0
