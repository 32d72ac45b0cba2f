"""What a job needs next: a row per situation."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.controllers.job.decide.backoff import seconds_left
from mooring.controllers.job.decide.failure_policy import meaning_of
from mooring.controllers.job.decide.indexes import find_success
from mooring.controllers.job.decide.pods import new_indexed_pod
from mooring.controllers.job.view import Backoff
from mooring.model import job_indexes
from mooring.model.job import FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED, FailurePolicy
from mooring.model.pod import Pod, PodPhase
from mooring.model.wire import read_document
from tests.unit.controllers.job.test_laws import START, World, a_job


def ended(*phases: PodPhase, **spec: Any) -> World:
    """A job whose pods have ended so, one after the other; all is counted."""
    world = World(a_job(**spec))
    while world.look():
        pass
    for phase in phases:
        world.end(0, phase)
        world.now += timedelta(seconds=700)
        while world.look():
            pass
    return world


def told(world: World, kind: str) -> tuple[str, str]:
    (condition,) = (c for c in world.job.status.conditions if c.type == kind)
    return condition.reason, condition.message


OK, BAD = PodPhase.SUCCEEDED, PodPhase.FAILED


def test_one_pod_and_it_is_done() -> None:
    world = ended(OK, completions=1)
    assert (
        told(world, SUCCESS_CRITERIA_MET)
        == told(world, "Complete")
        == (
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        )
    )
    assert world.job.status.completion_time is not None
    assert world.events == ["Completed"]


def test_no_more_run_than_are_missing() -> None:
    world = World(a_job(completions=3, parallelism=2))
    world.look()
    assert len(world.pods) == 2
    world = ended(OK, OK, completions=3, parallelism=2)
    assert sum(not pod.is_finished for pod in world.pods.values()) == 1


def test_without_completions_the_others_of_its_time_may_end() -> None:
    world = ended(OK, parallelism=3)
    assert not world.job.is_finished
    assert sum(not pod.is_finished for pod in world.pods.values()) == 2, "nobody is replaced"
    world = ended(OK, OK, BAD, parallelism=3)
    assert world.job.status.has("Complete")


def test_too_many_failures() -> None:
    world = ended(BAD, BAD, completions=1, backoffLimit=1)
    assert (
        told(world, FAILURE_TARGET)
        == told(world, "Failed")
        == (
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        )
    )


def test_a_deadline_ends_the_pods_that_run() -> None:
    world = World(a_job(completions=1, activeDeadlineSeconds=60))
    world.look()
    world.look()
    assert world.decision().again == 60
    world.now += timedelta(seconds=60)
    while world.look():
        pass
    assert told(world, "Failed") == (
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )
    assert not world.pods
    assert world.job.status.failed == 1


def test_a_failed_pod_is_replaced_after_a_while() -> None:
    world = World(a_job(completions=1))
    while world.look():
        pass
    world.end(0, BAD)
    while world.look():
        pass
    assert len(world.pods) == 1
    assert world.decision().again == 10
    world.now += timedelta(seconds=10)
    world.look()
    assert len(world.pods) == 2


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (9, 600)])
def test_pauses(failures: int, seconds: float) -> None:
    assert seconds_left(Backoff(failures, START), START) == seconds


def test_suspended_and_resumed() -> None:
    world = World(a_job(completions=2, parallelism=2))
    while world.look():
        pass
    began = world.job.status.start_time
    world.job = replace(world.job, spec=replace(world.job.spec, suspend=True))
    while world.look():
        pass
    assert not world.pods
    assert told(world, SUSPENDED) == ("JobSuspended", "Job suspended")
    assert world.job.status.failed == 0
    world.now += timedelta(seconds=5)
    world.job = replace(world.job, spec=replace(world.job.spec, suspend=False))
    while world.look():
        pass
    assert told(world, SUSPENDED) == ("JobResumed", "Job resumed")
    assert world.job.status.start_time != began
    assert world.events == ["Suspended", "Resumed"]


def test_another_controllers_job_is_left_alone() -> None:
    assert not World(a_job(managedBy="example.com/other")).decision().plan.steps


def test_indexed_pods() -> None:
    job = a_job(completions=3, parallelism=3, completionMode="Indexed")
    pod = new_indexed_pod(job, 2, None)
    assert pod["metadata"]["generateName"] == "once-2-"
    assert pod["spec"]["hostname"] == "once-2"
    index = "batch.kubernetes.io/job-completion-index"
    assert pod["metadata"]["annotations"][index] == pod["metadata"]["labels"][index] == "2"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    world = ended(OK, OK, OK, completions=3, parallelism=2, completionMode="Indexed")
    assert world.job.status.completed_indexes == "0-2"
    assert world.job.status.has("Complete")


def test_an_index_that_fails_too_often_fails_the_job_at_its_end() -> None:
    spec: dict[str, Any] = {"completions": 2, "parallelism": 1, "completionMode": "Indexed"}
    world = ended(BAD, BAD, OK, backoffLimitPerIndex=1, backoffLimit=99, **spec)
    assert world.job.status.failed_indexes == "0"
    assert world.job.status.completed_indexes == "1"
    assert told(world, "Failed") == ("FailedIndexes", "Job has failed indexes")


def test_a_success_policy() -> None:
    policy = {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]}
    spec: dict[str, Any] = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
    world = ended(OK, successPolicy=policy, **spec)
    assert told(world, "Complete") == ("SuccessPolicy", "Matched rules at index 0")
    assert world.job.status.succeeded == 1


def test_success_rules() -> None:
    job = a_job(
        successPolicy={"rules": [{"succeededIndexes": "5"}, {"succeededCount": 2}]},
        completions=9,
        completionMode="Indexed",
    )
    assert find_success(job.spec.success_policy, frozenset({1}), 9) is None
    assert find_success(job.spec.success_policy, frozenset({5}), 9) == "Matched rules at index 0"
    assert find_success(job.spec.success_policy, frozenset({1, 2}), 9) == "Matched rules at index 1"


def a_failed_pod(code: int, *conditions: str) -> Pod:
    status = {
        "phase": "Failed",
        "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}],
        "conditions": [{"type": each, "status": "True"} for each in conditions],
    }
    return read_document({"metadata": {"name": "p", "namespace": "default"}, "status": status}, Pod)


def a_policy(*rules: dict[str, Any]) -> FailurePolicy:
    doc = {"spec": {"podFailurePolicy": {"rules": list(rules)}}, "metadata": {}}
    policy = read_document(doc, type(a_job())).spec.pod_failure_policy
    assert policy is not None
    return policy


IGNORE = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
FAIL = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
COUNT = {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [1]}}


def test_what_a_failure_means() -> None:
    policy = a_policy(IGNORE, FAIL, COUNT)
    assert not meaning_of(policy, a_failed_pod(42, "DisruptionTarget")).counts
    assert meaning_of(policy, a_failed_pod(42)).message == (
        "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 1"
    )
    assert meaning_of(policy, a_failed_pod(7)).action == "Count"
    assert meaning_of(policy, a_failed_pod(1)).action == ""
    condition = a_policy({**IGNORE, "action": "FailJob"})
    assert meaning_of(condition, a_failed_pod(1, "DisruptionTarget")).message == (
        "Pod default/p has condition DisruptionTarget matching FailJob rule at index 0"
    )


SPELLED = {"": [], "0": [0], "0-2,5": [0, 1, 2, 5], "1,2,4-6": [1, 2, 4, 5, 6]}


@pytest.mark.parametrize(("text", "indexes"), SPELLED.items())
def test_indexes_in_words(text: str, indexes: list[int]) -> None:
    assert job_indexes.spelled(indexes) == text
    assert job_indexes.parse(text, 10) == frozenset(indexes)
    assert job_indexes.count(text, 10) == len(indexes)


NO_INDEXES = {
    "a": 'cannot convert string to integer for index: "a"',
    "10": 'too large index: "10"',
    "3,2": "non-increasing order, previous: 3, current: 2",
    "2-2": "non-increasing order, previous: 2, current: 2",
}


@pytest.mark.parametrize(("text", "why"), NO_INDEXES.items())
def test_what_are_no_indexes(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="^" + why.replace("(", r"\(") + "$"):
        job_indexes.count(text, 10)
