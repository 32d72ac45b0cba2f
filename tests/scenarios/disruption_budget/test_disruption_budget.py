"""Evictions are held back by budgets, as the controller counts them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.disruption_budget import run as disruption_budget
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.objects import BUDGETS, DEFAULT, PODS, a_budget, a_pod
from tests.scenarios.neighbours import NO_OPTIONS, Cluster

RCS = f"{DEFAULT}/replicationcontrollers"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@asynccontextmanager
async def counting(cluster: Cluster) -> AsyncIterator[None]:
    api = cluster.api
    in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
    rng = Random(1)  # noqa: S311  not for secrets
    loops = Loops("controllers", LocalClient(in_process), api.clock, rng)
    disruption_budget.build(loops, NO_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await cluster.settle()
        yield
        running.cancel()


async def pods(cluster: Cluster, count: int, owner: Doc | None = None) -> None:
    for number in range(count):
        pod = a_pod(f"web-{number}", node="n1")
        pod["metadata"]["labels"] = {"app": "web"}
        if owner is not None:
            reference = {"apiVersion": "v1", "kind": "ReplicationController", "controller": True}
            reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
            pod["metadata"]["ownerReferences"] = [reference]
        await cluster.create(PODS, pod)
        await cluster.patch(PODS, f"web-{number}", {"status": READY}, "/status")


async def evict(cluster: Cluster, name: str, query: str = "") -> Answered:
    doc = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name}}
    answer = await cluster.api.post(f"{PODS}/{name}/eviction{query}", doc)
    await cluster.settle()
    return answer


async def test_as_many_as_the_budget_allows_are_evicted(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with counting(cluster):
        await pods(cluster, 3)
        await cluster.create(BUDGETS, a_budget(minAvailable=2))
        status = (await cluster.get(BUDGETS, "web"))["status"]
        assert (status["disruptionsAllowed"], status["currentHealthy"]) == (1, 3)
        assert (await evict(cluster, "web-0", "?dryRun=All")).code == 201
        assert (await evict(cluster, "web-0")).code == 201
        refused = await evict(cluster, "web-1")
        assert refused.code == 429, refused.text
        assert refused.doc["message"] == (
            "Cannot evict pod as it would violate the pod's disruption budget."
        )
        (cause,) = refused.doc["details"]["causes"]
        assert cause == {
            "reason": "DisruptionBudget",
            "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
        }
        assert "conditions" not in {
            c["type"] for c in (await cluster.get(PODS, "web-1"))["status"]["conditions"]
        }


async def test_many_evictions_at_once_are_granted_as_many_as_allowed(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with counting(cluster):
        await pods(cluster, 6)
        await cluster.create(BUDGETS, a_budget(minAvailable=4))
    answers = await asyncio.gather(*(evict(cluster, f"web-{number}") for number in range(6)))
    assert sorted(answer.code for answer in answers) == [201, 201, 429, 429, 429, 429]
    status = (await cluster.get(BUDGETS, "web"))["status"]
    assert status["disruptionsAllowed"] == 0
    assert len(status["disruptedPods"]) == 2


async def test_a_budget_that_nobody_has_counted_yet_allows_nothing(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    await pods(cluster, 1)
    await cluster.create(BUDGETS, a_budget(minAvailable=0))
    refused = await evict(cluster, "web-0")
    assert refused.code == 429, refused.text
    assert refused.doc["details"]["retryAfterSeconds"] == 10
    assert refused.doc["details"]["causes"][0]["message"] == (
        "The disruption budget web is still being processed by the server."
    )


async def test_the_owner_tells_how_many_there_should_be(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }
    rc = {"metadata": {"name": "web"}, "spec": {"replicas": 4, "template": template}}
    owner = await cluster.create(RCS, {"kind": "ReplicationController", "apiVersion": "v1", **rc})
    async with counting(cluster):
        await pods(cluster, 3, owner)
        await cluster.create(BUDGETS, a_budget(maxUnavailable="50%"))
        status = (await cluster.get(BUDGETS, "web"))["status"]
        assert (status["expectedPods"], status["desiredHealthy"]) == (4, 2)
        assert status["disruptionsAllowed"] == 1


async def test_pods_that_are_not_ready(api: ApiUnderTest) -> None:
    """They go if the application is served without them, or always, as the policy says."""
    cluster = Cluster(api)
    not_ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    async with counting(cluster):
        await pods(cluster, 3)
        await cluster.patch(PODS, "web-0", not_ready, "/status")
        await cluster.create(BUDGETS, a_budget(minAvailable=2))
        assert (await evict(cluster, "web-0")).code == 201, "two others are enough"
        await cluster.patch(PODS, "web-1", not_ready, "/status")
        assert (await evict(cluster, "web-1")).code == 429
        policy = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
        await cluster.patch(BUDGETS, "web", policy)
        assert (await evict(cluster, "web-1")).code == 201


async def test_two_budgets_for_one_pod_are_one_too_many(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with counting(cluster):
        await pods(cluster, 1)
        await cluster.create(BUDGETS, a_budget("one", minAvailable=0))
        await cluster.create(BUDGETS, a_budget("two", minAvailable=0))
        refused = await evict(cluster, "web-0")
        assert refused.code == 500
        assert refused.doc["message"] == (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )


async def test_an_eviction_that_never_happened_is_given_back(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with counting(cluster):
        await pods(cluster, 2)
        await cluster.create(BUDGETS, a_budget(minAvailable=1))
        spent = {"disruptionsAllowed": 0, "disruptedPods": {"web-0": api.parts.backend.now()}}
        await cluster.patch(BUDGETS, "web", {"status": spent}, "/status")
        assert (await cluster.get(BUDGETS, "web"))["status"]["disruptionsAllowed"] == 0
        await api.clock.advance(125)
        await cluster.settle()
        assert (await cluster.get(BUDGETS, "web"))["status"]["disruptionsAllowed"] == 1
        assert [event[1] for event in await cluster.events("NotDeleted")] == ["Pod/web-0"]
