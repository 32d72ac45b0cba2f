"""Jobs, cron jobs and their ends, with the controllers as production builds them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.cronjob import run as cronjob
from mooring.controllers.job import run as job
from mooring.controllers.ttl_after_finished import run as ttl_after_finished
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CRON_JOBS, JOBS, PODS, a_cron_job, a_job, a_pod
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal

TRACKING = "batch.kubernetes.io/job-tracking"


@asynccontextmanager
async def running(cluster: Cluster, writes: int = FOREVER) -> AsyncIterator[None]:
    api = cluster.api
    in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
    rng = Random(1)  # noqa: S311  not for secrets
    loops = Loops("controllers", Mortal(LocalClient(in_process), writes), api.clock, rng)
    for controller in (job, cronjob, ttl_after_finished):
        controller.build(loops, NO_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(loops.run())
        await cluster.settle()
        yield
        task.cancel()


async def pods(cluster: Cluster) -> list[Doc]:
    items = (await cluster.api.get(PODS)).doc["items"]
    return sorted(items, key=lambda item: str(item["metadata"]["name"]))


async def end(cluster: Cluster, name: str, phase: str, code: int = 0) -> None:
    ended = {"name": "main", "state": {"terminated": {"exitCode": code}}}
    status = {"phase": phase, "containerStatuses": [ended | _STATUS]}
    await cluster.patch(PODS, name, {"status": status}, "/status")


_STATUS: Doc = {"image": "x", "imageID": "", "ready": False, "restartCount": 0}


async def status_of(cluster: Cluster, name: str = "once") -> Doc:
    return dict((await cluster.get(JOBS, name))["status"])


def conditions(status: Doc) -> list[tuple[str, str]]:
    return [(c["type"], c.get("reason", "")) for c in status.get("conditions", ())]


async def test_a_job_runs_to_its_end(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        made = await cluster.create(JOBS, a_job(completions=3, parallelism=2))
        uid = made["metadata"]["uid"]
        assert made["spec"]["selector"] == {
            "matchLabels": {"batch.kubernetes.io/controller-uid": uid}
        }
        for number in range(3):
            active = [p for p in await pods(cluster) if p["status"]["phase"] == "Pending"]
            assert len(active) == min(2, 3 - number)
            assert all(p["metadata"]["finalizers"] == [TRACKING] for p in active)
            await end(cluster, active[0]["metadata"]["name"], "Succeeded")
        status = await status_of(cluster)
        assert (status["succeeded"], status.get("active", 0)) == (3, 0)
        assert conditions(status) == [
            ("SuccessCriteriaMet", "CompletionsReached"),
            ("Complete", "CompletionsReached"),
        ]
        assert status["completionTime"]
        assert all("finalizers" not in p["metadata"] for p in await pods(cluster))
        assert [event[2] for event in await cluster.events("Completed")] == ["Job completed"]
        assert len(await cluster.events("SuccessfulCreate")) == 3


async def test_a_job_that_fails_too_often(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        await cluster.create(JOBS, a_job(backoffLimit=1))
        for _ in range(2):
            (active,) = [p for p in await pods(cluster) if p["status"]["phase"] == "Pending"]
            await end(cluster, active["metadata"]["name"], "Failed", 1)
            await api.clock.advance(11)
            await cluster.settle()
        status = await status_of(cluster)
        assert conditions(status) == [
            ("FailureTarget", "BackoffLimitExceeded"),
            ("Failed", "BackoffLimitExceeded"),
        ]
        assert status["failed"] == 2


async def test_deadline_suspend_and_resume(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        await cluster.create(JOBS, a_job(activeDeadlineSeconds=30, suspend=True))
        assert await pods(cluster) == []
        assert conditions(await status_of(cluster)) == [("Suspended", "JobSuspended")]
        await api.clock.advance(60)
        await cluster.patch(JOBS, "once", {"spec": {"suspend": False}})
        assert len(await pods(cluster)) == 1
        await api.clock.advance(31)
        await cluster.settle()
        assert await pods(cluster) == []
        assert ("Failed", "DeadlineExceeded") in conditions(await status_of(cluster))


async def test_indexed_pods_and_their_names(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        spec: dict[str, Any] = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
        await cluster.create(JOBS, a_job(**spec))
        found = await pods(cluster)
        assert [p["metadata"]["name"][:7] for p in found] == ["once-0-", "once-1-"]
        assert [p["spec"]["hostname"] for p in found] == ["once-0", "once-1"]
        for pod in found:
            await end(cluster, pod["metadata"]["name"], "Succeeded")
        assert (await status_of(cluster))["completedIndexes"] == "0,1"


async def test_a_deleted_job_leaves_no_finalizers(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        await cluster.create(JOBS, a_job(parallelism=2))
        answer = await api.delete(f"{JOBS}/once")
        assert answer.code in (200, 202)
        assert answer.warnings == [
            "child pods are preserved by default when jobs are deleted; set "
            "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
            "suppress this warning"
        ]
        await cluster.settle()
        assert all("finalizers" not in pod["metadata"] for pod in await pods(cluster))
        quiet = await api.delete(f"{JOBS}/once?propagationPolicy=Background")
        assert quiet.warnings == []


async def test_a_pod_that_fits_is_adopted_with_the_finalizer(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        pod = a_pod("found")
        pod["metadata"]["labels"] = {"app": "x"}
        pod["spec"]["restartPolicy"] = "Never"
        await cluster.create(PODS, pod)
        spec = a_job()["spec"]
        spec["template"]["metadata"] = {"labels": {"app": "x"}}
        chosen = {"manualSelector": True, "selector": {"matchLabels": {"app": "x"}}}
        await cluster.create(JOBS, a_job(**(spec | chosen)))
        (adopted,) = await pods(cluster)
        assert adopted["metadata"]["finalizers"] == [TRACKING]
        assert adopted["metadata"]["ownerReferences"][0]["name"] == "once"
        await end(cluster, "found", "Succeeded")
        assert ("Complete", "CompletionsReached") in conditions(await status_of(cluster))


@pytest.mark.parametrize("writes", range(9))
async def test_each_pod_is_counted_once_from_any_cut(api: ApiUnderTest, writes: int) -> None:
    cluster = Cluster(api)
    await cluster.create(JOBS, a_job(completions=2, parallelism=2))
    async with running(cluster, writes):
        for pod in await pods(cluster):
            await end(cluster, pod["metadata"]["name"], "Succeeded")
    async with running(cluster):
        for pod in await pods(cluster):
            if pod["status"]["phase"] == "Pending":
                await end(cluster, pod["metadata"]["name"], "Succeeded")
        status = await status_of(cluster)
        assert status["succeeded"] == 2
        assert ("Complete", "CompletionsReached") in conditions(status)
        assert len(await pods(cluster)) == 2


async def test_a_finished_job_goes_when_its_time_is_over(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        await cluster.create(JOBS, a_job(ttlSecondsAfterFinished=30))
        (pod,) = await pods(cluster)
        await end(cluster, pod["metadata"]["name"], "Succeeded")
        await api.clock.advance(29)
        await cluster.settle()
        assert await cluster.find(JOBS, "once") is not None
        await api.clock.advance(2)
        await cluster.settle()
        assert await cluster.find(JOBS, "once") is None


async def test_a_cron_job_makes_jobs_by_the_clock(api: ApiUnderTest) -> None:
    cluster = Cluster(api)
    async with running(cluster):
        await cluster.create(CRON_JOBS, a_cron_job(schedule="* * * * *"))
        assert (await api.get(JOBS)).doc["items"] == []
        for count in (1, 2):
            await api.clock.advance(60)
            await cluster.settle()
            jobs = (await api.get(JOBS)).doc["items"]
            assert len(jobs) == count
        status = (await cluster.get(CRON_JOBS, "often"))["status"]
        assert len(status["active"]) == 2
        assert status["lastScheduleTime"] == "2026-01-02T03:06:00Z"
        for pod in await pods(cluster):
            await end(cluster, pod["metadata"]["name"], "Succeeded")
        status = (await cluster.get(CRON_JOBS, "often"))["status"]
        assert status.get("active", []) == []
        assert status["lastSuccessfulTime"]
        assert len(await cluster.events("SawCompletedJob")) == 2


@pytest.mark.parametrize("writes", range(4))
async def test_a_time_is_served_once_from_any_cut(api: ApiUnderTest, writes: int) -> None:
    cluster = Cluster(api)
    await cluster.create(CRON_JOBS, a_cron_job(schedule="*/5 * * * *"))
    await api.clock.advance(60)
    async with running(cluster, writes):
        pass
    async with running(cluster):
        await api.clock.advance(60)
        await cluster.settle()
        assert len((await api.get(JOBS)).doc["items"]) == 1
        assert len((await cluster.get(CRON_JOBS, "often"))["status"]["active"]) == 1
