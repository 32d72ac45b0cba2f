"""What a deployment shows."""

from datetime import timedelta
from typing import Any

import pytest

from mooring.controllers.deployment.decide.status import seconds_until_deadline
from mooring.model.deployment import NO_DEADLINE, Deployment
from mooring.model.document import Doc
from mooring.model.replica_set import ReplicaSet
from tests.unit.controllers.deployment.deployments import NOW, a_deployment, a_set, saved

BEFORE = "2026-01-02T03:04:00Z"  # five seconds ago
MOMENT = "2026-01-02T03:04:05Z"


def progressing(reason: str, status: str = "True", since: str = BEFORE) -> Doc:
    return {
        "type": "Progressing",
        "status": status,
        "reason": reason,
        "message": "",
        "lastUpdateTime": since,
        "lastTransitionTime": since,
    }


def shown(deployment: Deployment, *sets: ReplicaSet) -> dict[str, str]:
    return {
        each.type: f"{each.status} {each.reason}"
        for each in saved(deployment, *sets).status.conditions
    }


def rolling(reason: str, since: str = BEFORE, **spec: Any) -> Deployment:
    """Three pods of the new template are there, none of them is ready, and so it stays."""
    status = {"replicas": 3, "updatedReplicas": 3, "conditions": [progressing(reason, since=since)]}
    return a_deployment(3, status=status, **spec)


WAITING = a_set("new", 3, 0)
LONG_AGO = "2026-01-02T02:00:00Z"
TABLE: dict[str, tuple[Deployment, tuple[ReplicaSet, ...], dict[str, str]]] = {
    "all available": (
        a_deployment(3),
        (a_set("new", 3),),
        {
            "Available": "True MinimumReplicasAvailable",
            "Progressing": "True NewReplicaSetAvailable",
        },
    ),
    "found without a word about it": (
        a_deployment(3, status={"replicas": 3, "updatedReplicas": 3}),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True FoundNewReplicaSet",
        },
    ),
    "more pods than before": (
        a_deployment(3, status={"conditions": [progressing("NewReplicaSetCreated")]}),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True ReplicaSetUpdated",
        },
    ),
    "no progress, but in time": (
        rolling("ReplicaSetUpdated"),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True ReplicaSetUpdated",
        },
    ),
    "no progress for too long": (
        rolling("ReplicaSetUpdated", LONG_AGO),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "False ProgressDeadlineExceeded",
        },
    ),
    "no progress at all, but nobody waits for it": (
        rolling("ReplicaSetUpdated", LONG_AGO, progressDeadlineSeconds=NO_DEADLINE),
        (WAITING,),
        {"Available": "False MinimumReplicasUnavailable"},
    ),
    "done once, pods that fail later are no rollout": (
        rolling("NewReplicaSetAvailable", LONG_AGO),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True NewReplicaSetAvailable",
        },
    ),
    "paused": (
        rolling("ReplicaSetUpdated", paused=True),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "Unknown DeploymentPaused",
        },
    ),
    "resumed: the deadline begins anew": (
        rolling("DeploymentPaused", LONG_AGO),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "Unknown DeploymentResumed",
        },
    ),
    "too late stays too late when it is paused": (
        rolling("ProgressDeadlineExceeded", paused=True),
        (WAITING,),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True ProgressDeadlineExceeded",
        },
    ),
    "pods that are refused": (
        rolling("ReplicaSetUpdated"),
        (
            a_set(
                "new",
                3,
                0,
                status={
                    "conditions": [
                        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
                    ]
                },
            ),
        ),
        {
            "Available": "False MinimumReplicasUnavailable",
            "Progressing": "True ReplicaSetUpdated",
            "ReplicaFailure": "True FailedCreate",
        },
    ),
}


@pytest.mark.parametrize(("deployment", "sets", "then"), TABLE.values(), ids=TABLE)
def test_conditions(
    deployment: Deployment, sets: tuple[ReplicaSet, ...], then: dict[str, str]
) -> None:
    assert shown(deployment, *sets) == then


def test_counts_are_those_of_all_replica_sets() -> None:
    old = a_set("old", 2, 1, status={"terminatingReplicas": 1})
    status = saved(a_deployment(3), old, a_set("new", 2, 0, revision=2)).status
    assert (status.replicas, status.updated_replicas, status.ready_replicas) == (4, 2, 1)
    assert (status.available_replicas, status.unavailable_replicas) == (1, 3)
    assert (status.terminating_replicas, status.observed_generation) == (1, 1)


def test_progress_renews_the_time_of_the_last_news_but_not_of_the_last_change() -> None:
    deployment = a_deployment(3, status={"conditions": [progressing("ReplicaSetUpdated")]})
    progress = saved(deployment, WAITING).status.find_condition("Progressing")
    assert progress is not None
    assert (progress.last_update_time, progress.last_transition_time) == (MOMENT, BEFORE)


DEADLINES: dict[str, tuple[Deployment, float | None]] = {
    "in time": (rolling("ReplicaSetUpdated", progressDeadlineSeconds=10), 6.0),
    "nothing said yet": (a_deployment(3), None),
    "done": (rolling("NewReplicaSetAvailable"), None),
    "too late already": (rolling("ProgressDeadlineExceeded"), None),
    "paused": (rolling("ReplicaSetUpdated", paused=True), None),
    "never": (rolling("ReplicaSetUpdated", progressDeadlineSeconds=NO_DEADLINE), None),
}


@pytest.mark.parametrize(("deployment", "then"), DEADLINES.values(), ids=DEADLINES)
def test_when_to_look_whether_it_is_late(deployment: Deployment, then: float | None) -> None:
    assert seconds_until_deadline(deployment, NOW) == then


def test_past_the_deadline_it_is_looked_at_soon() -> None:
    deployment = rolling("ReplicaSetUpdated", progressDeadlineSeconds=1)
    assert seconds_until_deadline(deployment, NOW + timedelta(seconds=99)) == 1
