"""What a deployment does to its replica sets next."""

import pytest

from mooring.controllers.deployment.decide.deployment import decide_failed
from mooring.controllers.deployment.plan import Collided, CreateSet, NotCreated, SaveStatus
from mooring.controllers.deployment.view import DeploymentView
from mooring.errors import Forbidden
from mooring.model.deployment import Deployment
from mooring.model.replica_set import ReplicaSet
from tests.unit.controllers.deployment.deployments import (
    GONE,
    NOW,
    OWNER,
    a_deployment,
    a_set,
    planned,
    saved,
    steps,
)

DONE = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}
RECREATE = {"type": "Recreate"}

TABLE: dict[str, tuple[Deployment, tuple[ReplicaSet, ...], list[str]]] = {
    "none yet: all pods at once": (a_deployment(3), (), ["create 3"]),
    "a new template: as many as the surge allows": (
        a_deployment(3),
        (a_set("old", 3),),
        ["create 1"],
    ),
    "no surge: none at first": (
        a_deployment(3, 0, 1),
        (a_set("old", 3, most=3),),
        ["create 0"],
    ),
    "no surge: an old one makes room": (
        a_deployment(3, 0, 1),
        (a_set("old", 3, most=3), a_set("new", 0, revision=2, most=3)),
        ["scale web-old 3->2"],
    ),
    "the new one is not available: no old one goes": (
        a_deployment(3),
        (a_set("old", 3), a_set("new", 1, 0, revision=2)),
        [],
    ),
    "the new one is available: an old one goes": (
        a_deployment(3),
        (a_set("old", 3), a_set("new", 1, revision=2)),
        ["scale web-old 3->2"],
    ),
    "an old one went: the next new one comes": (
        a_deployment(3),
        (a_set("old", 2), a_set("new", 1, revision=2)),
        ["scale web-new 1->2"],
    ),
    "old pods that are not available go first, of the oldest": (
        a_deployment(4, 0, 2),
        (
            a_set("old", 2, 2, desired=4, most=4),
            a_set("bad", 2, 0, revision=2, desired=4, most=4),
            a_set("new", 0, revision=3, desired=4, most=4),
        ),
        ["scale web-bad 2->0"],
    ),
    "a status that is behind costs no available pod": (
        a_deployment(3),
        (a_set("old", 2, 3), a_set("new", 2, revision=2)),
        ["scale web-old 2->1"],
    ),
    "the last old one goes": (
        a_deployment(3),
        (a_set("old", 1), a_set("new", 3, revision=2)),
        ["scale web-old 1->0"],
    ),
    "done": (
        a_deployment(3, status=DONE),
        (a_set("old", 0), a_set("new", 3, revision=2)),
        [],
    ),
    "done: what is older than the limit goes": (
        a_deployment(3, status=DONE, revisionHistoryLimit=1),
        (a_set("a", 0), a_set("b", 0, revision=2), a_set("new", 3, revision=3)),
        ["delete web-a"],
    ),
    "one that still has a pod stays": (
        a_deployment(3, status=DONE, revisionHistoryLimit=0),
        (a_set("a", 0, status={"replicas": 1}), a_set("new", 3, revision=3)),
        [],
    ),
    "one that has not been looked at stays": (
        a_deployment(3, status=DONE, revisionHistoryLimit=0),
        (a_set("a", 0, generation=2), a_set("new", 3, revision=3)),
        [],
    ),
    "back to an old template: that replica set is the newest": (
        a_deployment(3),
        (a_set("new", 0), a_set("other", 3, revision=2)),
        ["annotate web-new revision=3,revision-history=1"],
    ),
    "annotations of the deployment are copied, but not its own": (
        a_deployment(
            3,
            metadata={
                "annotations": {
                    "team": "a",
                    "deployment.kubernetes.io/revision": "9",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                }
            },
        ),
        (a_set("new", 3),),
        ["annotate web-new team=a"],
    ),
    "another time to become available is copied": (
        a_deployment(3, minReadySeconds=5),
        (a_set("new", 3),),
        ["annotate web-new "],
    ),
    "paused: nothing new": (a_deployment(3, paused=True), (a_set("old", 3),), []),
    "paused: but scaled": (
        a_deployment(5, paused=True),
        (a_set("old", 3),),
        ["scale web-old 3->5"],
    ),
    "scaled: the only one takes all": (
        a_deployment(5),
        (a_set("old", 0), a_set("new", 3, revision=2)),
        ["scale web-new 3->5"],
    ),
    "scaled to nothing": (a_deployment(0), (a_set("new", 3),), ["scale web-new 3->0"]),
    "scaled to nothing while it is rolled out": (
        a_deployment(0),
        (a_set("old", 2), a_set("new", 1, revision=2)),
        ["scale web-old 2->0", "scale web-new 1->0"],
    ),
    "scaled by hand to what is then wanted: only noted": (
        a_deployment(5),
        (a_set("new", 5),),
        ["scale web-new 5->5"],
    ),
    "scaled while it is rolled out: in proportion, the rest to the largest": (
        a_deployment(20, 3, 2),
        (
            a_set("old", 8, desired=10, most=13),
            a_set("new", 5, 0, revision=2, desired=10, most=13),
        ),
        ["scale web-old 8->14", "scale web-new 5->9"],
    ),
    "scaled down while it is rolled out": (
        a_deployment(4, 0, 1),
        (
            a_set("old", 6, desired=10, most=10),
            a_set("new", 4, revision=2, desired=10, most=10),
        ),
        ["scale web-old 6->2", "scale web-new 4->2"],
    ),
    "recreated: all old ones go": (
        a_deployment(3, strategy=RECREATE),
        (a_set("old", 3, most=3),),
        ["scale web-old 3->0"],
    ),
    "recreated: until their pods are gone": (
        a_deployment(3, strategy=RECREATE),
        (a_set("old", 0, status={"replicas": 1}, most=3),),
        [],
    ),
    "recreated: then the new ones come": (
        a_deployment(3, strategy=RECREATE),
        (a_set("old", 0, most=3),),
        ["create 3"],
    ),
    "recreated: an earlier one is used again": (
        a_deployment(3, strategy=RECREATE),
        (a_set("old", 0, most=3), a_set("new", 0, revision=2, most=3)),
        ["scale web-new 0->3"],
    ),
    "one of nobody that matches is adopted": (
        a_deployment(3),
        (a_set("new", 3, owner=None),),
        ["adopt web-new"],
    ),
    "one of another owner is left alone": (
        a_deployment(3),
        (a_set("new", 3, owner={**OWNER, "uid": "u-other"}),),
        ["create 3"],
    ),
    "its own that no longer matches is released": (
        a_deployment(3),
        (a_set("new", 3, labels={"app": "other"}),),
        ["release web-new"],
    ),
    "being deleted it does nothing": (
        a_deployment(5, metadata=GONE),
        (a_set("old", 3), a_set("new", 1, owner=None)),
        [],
    ),
}


@pytest.mark.parametrize(("deployment", "sets", "then"), TABLE.values(), ids=TABLE)
def test_replica_sets(
    deployment: Deployment, sets: tuple[ReplicaSet, ...], then: list[str]
) -> None:
    assert steps(deployment, *sets) == then


def test_recreated_pods_wait_for_those_that_terminate() -> None:
    deployment, old = a_deployment(1, strategy=RECREATE), a_set("old", 0, desired=1, most=1)
    assert steps(deployment, old, unfinished={"u-old": 1}) == []
    assert steps(deployment, old, unfinished={"u-old": 0}) == ["create 1"]


def test_the_document_of_a_new_replica_set() -> None:
    deployment = a_deployment(
        3, minReadySeconds=5, metadata={"annotations": {"team": "a"}}, status={"collisionCount": 2}
    )
    step, _ = planned(deployment, a_set("old", 3, revision=6)).steps
    assert isinstance(step, CreateSet)
    metadata, spec = step.document["metadata"], step.document["spec"]
    label = metadata["labels"]["pod-template-hash"]
    assert metadata == {
        "name": f"web-{label}",
        "namespace": "ns",
        "labels": {"app": "web", "pod-template-hash": label},
        "annotations": {
            "team": "a",
            "deployment.kubernetes.io/revision": "7",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        },
        "ownerReferences": [OWNER],
    }
    assert (spec["replicas"], spec["minReadySeconds"]) == (1, 5)
    assert spec["selector"] == {"matchLabels": metadata["labels"]}
    assert spec["template"]["metadata"]["labels"] == metadata["labels"]
    other, _ = planned(a_deployment(3)).steps
    assert isinstance(other, CreateSet)
    assert other.name != step.name  # a collision gives another one


def test_a_long_name_is_cut() -> None:
    step, _ = planned(a_deployment(1, metadata={"name": "w" * 253})).steps
    assert isinstance(step, CreateSet)
    assert len(step.name) == 253


def test_a_new_replica_set_is_told_with_its_revision() -> None:
    step = saved(a_deployment(3), a_set("old", 3))
    (progress,) = [each for each in step.status.conditions if each.type == "Progressing"]
    assert (progress.status, progress.reason) == ("True", "NewReplicaSetCreated")
    assert step.revision == "2"


def test_a_name_that_is_taken_counts_as_a_collision() -> None:
    seen = DeploymentView(a_deployment(3, status={"collisionCount": 1}), (), {}, NOW)
    (step,) = decide_failed(seen, Collided()).steps
    assert isinstance(step, SaveStatus)
    assert step.status.collision_count == 2


def test_a_replica_set_that_is_refused_is_told() -> None:
    seen = DeploymentView(a_deployment(3), (), {}, NOW)
    (step,) = decide_failed(seen, NotCreated("web-x", Forbidden("no"))).steps
    assert isinstance(step, SaveStatus)
    (progress,) = [each for each in step.status.conditions if each.type == "Progressing"]
    assert (progress.status, progress.reason, progress.message) == (
        "False",
        "ReplicaSetCreateError",
        'Failed to create new replica set "web-x": no',
    )
