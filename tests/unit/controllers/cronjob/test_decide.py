"""Which job a cron job makes now."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.cronjob.decide import decide, job_name
from mooring.controllers.cronjob.plan import CreateJob, DeleteJob, SaveStatus
from mooring.controllers.cronjob.schedule_times import find_due
from mooring.controllers.cronjob.view import CronJobView
from mooring.model.cron import parse
from mooring.model.cron_job import CronJob
from mooring.model.job import Job
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.wire import read_document

MADE = datetime(2026, 1, 2, 3, 0, 30, tzinfo=UTC)


def a_cron_job(last: str = "", active: tuple[str, ...] = (), **spec: Any) -> CronJob:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}}
    doc: dict[str, Any] = {
        "metadata": {
            "name": "often",
            "namespace": "default",
            "uid": "c",
            "creationTimestamp": to_seconds(MADE),
        },
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": template, **spec},
        "status": {"active": [{"name": name, "uid": name} for name in active]},
    }
    if last:
        doc["status"]["lastScheduleTime"] = last
    return read_document(doc, CronJob)


def a_job(name: str, condition: str = "", end: str = "2026-01-02T03:01:00Z") -> Job:
    status: dict[str, Any] = {"startTime": end}
    if condition:
        status["conditions"] = [{"type": condition, "status": "True"}]
    if condition == "Complete":
        status["completionTime"] = end
    return read_document({"metadata": {"name": name, "uid": name}, "status": status}, Job)


def looked(cron_job: CronJob, now: str, *jobs: Job, missing: tuple[str, ...] = ()) -> Any:
    view = CronJobView(cron_job, jobs, frozenset(missing), UTC, datetime.fromisoformat(now))
    return decide(view)


def made(decision: Any) -> list[str]:
    return [s.document["metadata"]["name"] for s in decision.plan.steps if isinstance(s, CreateJob)]


def reasons(decision: Any) -> list[str]:
    return [step.reason for step in decision.plan.steps if isinstance(step, Emit)]


AT_FIVE = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
NAME = f"often-{int(AT_FIVE.timestamp()) // 60}"


def test_before_its_time_nothing_is_made() -> None:
    decision = looked(a_cron_job(), "2026-01-02T03:04:59Z")
    assert made(decision) == []
    assert decision.again == pytest.approx(1.1)


def test_at_its_time_a_job_is_made_and_the_next_time_is_known() -> None:
    decision = looked(a_cron_job(), "2026-01-02T03:05:00Z")
    assert made(decision) == [NAME]
    assert decision.again == pytest.approx(300.1)
    (step,) = (s for s in decision.plan.steps if isinstance(s, CreateJob))
    metadata = step.document["metadata"]
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-02T03:05:00Z"
    }
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("CronJob", "c", True)


def test_a_time_is_served_once() -> None:
    served = a_cron_job(last="2026-01-02T03:05:00Z")
    assert made(looked(served, "2026-01-02T03:05:30Z")) == []
    assert made(looked(a_cron_job(active=(NAME,)), "2026-01-02T03:05:30Z")) == []


def test_of_many_missed_times_the_last_is_made_up_for() -> None:
    decision = looked(a_cron_job(), "2026-01-03T03:07:00Z")
    late = datetime(2026, 1, 3, 3, 5, tzinfo=UTC)
    assert made(decision) == [f"often-{int(late.timestamp()) // 60}"]
    assert "TooManyMissedTimes" in reasons(decision)


def test_too_late_is_too_late() -> None:
    cron_job = a_cron_job(schedule="0 * * * *", startingDeadlineSeconds=60)
    assert made(looked(cron_job, "2026-01-02T04:00:59Z")) != []
    assert made(looked(cron_job, "2026-01-02T04:01:01Z")) == []


def test_while_another_runs() -> None:
    now, running = "2026-01-02T03:05:00Z", a_job("earlier")
    forbid = a_cron_job(active=("earlier",), concurrencyPolicy="Forbid")
    decision = looked(forbid, now, running)
    assert made(decision) == []
    assert "JobAlreadyActive" in reasons(decision)
    assert made(looked(a_cron_job(active=("earlier",)), now, running)) == [NAME]
    replacing = looked(a_cron_job(active=("earlier",), concurrencyPolicy="Replace"), now, running)
    steps = [type(step) for step in replacing.plan.steps]
    assert steps == [DeleteJob, CreateJob]


def test_suspended_means_none() -> None:
    assert made(looked(a_cron_job(suspend=True), "2026-01-02T03:05:00Z")) == []


def test_an_unknown_time_zone_is_told() -> None:
    view = CronJobView(a_cron_job(timeZone="Mars/Base"), (), frozenset(), None, AT_FIVE)
    assert reasons(decide(view)) == ["UnknownTimeZone"]


def test_times_are_those_of_the_zone() -> None:
    cron_job = a_cron_job(schedule="0 9 * * *", timeZone="Asia/Tokyo")
    zone = timezone(timedelta(hours=9))
    view = CronJobView(cron_job, (), frozenset(), zone, datetime(2026, 1, 3, 0, 0, tzinfo=UTC))
    (step,) = (s for s in decide(view).plan.steps if isinstance(s, CreateJob))
    stamp = step.document["metadata"]["annotations"].popitem()[1]
    assert stamp == "2026-01-03T09:00:00+09:00"


def test_what_has_become_of_jobs() -> None:
    cron_job = a_cron_job(active=("done", "lost", "runs"))
    jobs = (a_job("done", "Complete"), a_job("runs"), a_job("strange"))
    decision = looked(cron_job, "2026-01-02T03:04:00Z", *jobs, missing=("lost",))
    assert reasons(decision) == ["SawCompletedJob", "UnexpectedJob", "MissingJob"]
    (saved,) = (s.status for s in decision.plan.steps if isinstance(s, SaveStatus))
    assert [reference.name for reference in saved.active] == ["runs"]
    assert saved.last_successful_time == "2026-01-02T03:01:00Z"


def test_old_jobs_go() -> None:
    jobs = [a_job(f"ok{n}", "Complete", f"2026-01-02T03:0{n}:00Z") for n in range(4)]
    jobs += [a_job(f"bad{n}", "Failed", f"2026-01-02T03:0{n}:00Z") for n in range(3)]
    limits: dict[str, Any] = {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
    decision = looked(a_cron_job(**limits), "2026-01-02T03:04:00Z", *jobs)
    gone = [step.job.name for step in decision.plan.steps if isinstance(step, DeleteJob)]
    assert gone == ["ok0", "bad0", "bad1"]


def test_names_follow_from_the_time() -> None:
    assert job_name(a_cron_job(), AT_FIVE) == NAME


@given(
    schedule=st.sampled_from(("* * * * *", "*/7 * * * *", "30 6-16/4 * * 1-5", "0 0 1 * *")),
    seconds=st.integers(0, 10**7),
)
def test_what_is_due_is_the_latest_time_that_has_come(schedule: str, seconds: int) -> None:
    parsed, now = parse(schedule), MADE + timedelta(seconds=seconds)
    due = find_due(parsed, MADE, now)
    if due.at is None:
        following = parsed.next_after(MADE)
        assert following is None or following > now or due.missed_many
        return
    assert MADE < due.at <= now
    following = parsed.next_after(due.at)
    assert following is None or following > now
