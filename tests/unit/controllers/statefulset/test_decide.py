"""What is decided about stateful sets: pods in order, claims, updates, growth."""

from typing import Any

import pytest

from mooring.controllers.owned_pods.plan import CreatePods
from mooring.controllers.statefulset.decide.rolling import most_unavailable
from mooring.controllers.statefulset.decide.stateful_set import decide
from mooring.controllers.statefulset.plan import SaveStatus
from mooring.controllers.statefulset.view import StatefulSetView
from mooring.model.document import Doc
from tests.unit.controllers.statefulset.worlds import (
    GOING,
    OF_SET,
    a_claim,
    a_pod,
    a_revision,
    a_set,
    a_view,
    claim_template,
    of_pod,
    reference,
    template,
    told,
)

PARALLEL: Doc = {"podManagementPolicy": "Parallel"}


def steps(view: StatefulSetView) -> list[str]:
    """All but the status."""
    return [told(step) for step in decide(view).steps if not isinstance(step, SaveStatus)]


def rolling(**limits: Any) -> Doc:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": limits}}


JUST_READY = "2026-01-02T03:04:00Z"
PODS: dict[str, tuple[StatefulSetView, list[str]]] = {
    "none there, ordered: the first, its claim before it": (
        a_view(a_set(2), claims=()),
        ["claim data-web-0", "create web-0 of web-1"],
    ),
    "none there, parallel: all": (
        a_view(a_set(2, **PARALLEL)),
        ["create web-0 of web-1", "create web-1 of web-1"],
    ),
    "no template was kept yet: it is kept first": (
        a_view(a_set(0), revisions=()),
        ["new revision 1"],
    ),
    "the first is not ready: the second waits": (
        a_view(a_set(2), a_pod(0, ready=False)),
        [],
    ),
    "the first is ready: the second": (a_view(a_set(2), a_pod(0)), ["create web-1 of web-1"]),
    "the first is not ready for long enough": (
        a_view(a_set(2, minReadySeconds=10), a_pod(0, since=JUST_READY)),
        [],
    ),
    "one is going: its place stays empty": (
        a_view(a_set(2), a_pod(0, **GOING), a_pod(1)),
        [],
    ),
    "one is doomed: nothing is made for its number": (
        a_view(a_set(1, **PARALLEL), a_pod(0), doomed=frozenset({"u-web-0"})),
        [],
    ),
    "one has failed: it is deleted, not replaced in the same pass": (
        a_view(a_set(1), a_pod(0, phase="Failed", ready=False)),
        ["delete web-0"],
    ),
    "one too many": (a_view(a_set(1), a_pod(0), a_pod(1), a_pod(2)), ["delete web-2"]),
    "too many, parallel": (
        a_view(a_set(1, **PARALLEL), a_pod(0), a_pod(1), a_pod(2)),
        ["delete web-2", "delete web-1"],
    ),
    "too many, while a wanted one is not ready": (
        a_view(a_set(1), a_pod(0, ready=False), a_pod(1)),
        [],
    ),
    "too many, and the last goes already": (
        a_view(a_set(1), a_pod(0), a_pod(1), a_pod(2, **GOING)),
        [],
    ),
    "too many, the last one not ready, and it is the only one": (
        a_view(a_set(1), a_pod(0), a_pod(1), a_pod(2, ready=False)),
        ["delete web-2"],
    ),
    "too many, one below the last not ready": (
        a_view(a_set(1), a_pod(0), a_pod(1, ready=False), a_pod(2, ready=False)),
        [],
    ),
    "numbers begin later": (
        a_view(a_set(1, ordinals={"start": 5}), a_pod(5), a_pod(0)),
        ["delete web-0"],
    ),
    "labels were taken off": (
        a_view(a_set(1), a_pod(0, labels={"app": "web", "controller-revision-hash": "web-1"})),
        ["label web-0"],
    ),
    "it is being deleted": (a_view(a_set(3, metadata=GOING), a_pod(0)), []),
    "a pod that no longer matches": (
        a_view(a_set(0), a_pod(0, labels={"app": "other"})),
        ["release web-0"],
    ),
    "a pod of nobody": (
        a_view(a_set(1), a_pod(0, ownerReferences=[])),
        ["adopt web-0"],
    ),
}


@pytest.mark.parametrize(("view", "wanted"), PODS.values(), ids=PODS)
def test_pods(view: StatefulSetView, wanted: list[str]) -> None:
    assert steps(view) == wanted


def changed(*pods: Any, **spec: Any) -> StatefulSetView:
    """A set whose template became another, kept as revision web-2."""
    set_ = a_set(3, template=template("y"), status={"currentRevision": "web-1"}, **spec)
    return a_view(set_, *pods, revisions=(a_revision(1), a_revision(2, "y")))


OLD = tuple(a_pod(number) for number in range(3))
UPDATES: dict[str, tuple[StatefulSetView, list[str]]] = {
    "the highest goes first": (changed(*OLD), ["delete web-2"]),
    "the next waits for it": (
        changed(*OLD[:2], a_pod(2, "web-2", ready=False)),
        [],
    ),
    "then the next": (changed(*OLD[:2], a_pod(2, "web-2")), ["delete web-1"]),
    "its place is taken by the newest": (changed(*OLD[:2]), ["create web-2 of web-2"]),
    "below the partition the former stays": (
        changed(OLD[0], a_pod(1, "web-2"), a_pod(2, "web-2"), **rolling(partition=1)),
        [],
    ),
    "below the partition the former is made": (
        changed(a_pod(1, "web-2"), a_pod(2, "web-2"), **rolling(partition=1)),
        ["create web-0 of web-1"],
    ),
    "on delete only": (changed(*OLD, updateStrategy={"type": "OnDelete"}), []),
    "several at once": (
        changed(*OLD, **rolling(partition=0, maxUnavailable=2)),
        ["delete web-2", "delete web-1"],
    ),
    "several at once, one already missing": (
        changed(OLD[0], OLD[1], a_pod(2, **GOING), **PARALLEL, **rolling(maxUnavailable=2)),
        ["delete web-1"],
    ),
    "parallel: the unhealthy old ones go whatever the limit": (
        changed(
            a_pod(0, ready=False),
            OLD[1],
            a_pod(2, "web-2"),
            **PARALLEL,
            **rolling(maxUnavailable=1),
        ),
        ["delete web-0"],
    ),
}


@pytest.mark.parametrize(("view", "wanted"), UPDATES.values(), ids=UPDATES)
def test_updates(view: StatefulSetView, wanted: list[str]) -> None:
    assert steps(view) == wanted


def test_a_template_of_the_past_takes_its_revision_again() -> None:
    view = a_view(
        a_set(0, status={"currentRevision": "web-1"}), revisions=(a_revision(1), a_revision(2, "y"))
    )
    assert steps(view) == ["web-1 becomes revision 3"]


def test_the_oldest_revisions_that_nobody_uses_are_forgotten() -> None:
    kept = tuple(a_revision(number, f"i{number}") for number in range(1, 5))
    set_ = a_set(1, template=template("i4"), revisionHistoryLimit=1)
    view = a_view(set_, a_pod(0, "web-1", ready=False), revisions=kept)
    assert steps(view) == ["forget web-2"]


def policy(scaled: str, deleted: str) -> Doc:
    said = {"whenScaled": scaled, "whenDeleted": deleted}
    return {"persistentVolumeClaimRetentionPolicy": said}


OTHER = reference("Backup", "b", "u-b", "example.com/v1")
LOOSE = {**OTHER, "controller": False}
# policy, owners of the claim of the wanted web-0, owners of that of web-1, which is too many
OWNERS: dict[str, tuple[Doc, list[Doc], list[Doc], list[str]]] = {
    "kept: nobody": (policy("Retain", "Retain"), [], [], []),
    "kept from now on": (
        policy("Retain", "Retain"),
        [OF_SET],
        [of_pod(1)],
        ["data-web-0 of nobody", "data-web-1 of nobody"],
    ),
    "with the set": (
        policy("Retain", "Delete"),
        [],
        [],
        ["data-web-0 of StatefulSet", "data-web-1 of StatefulSet"],
    ),
    "with the set, already": (policy("Retain", "Delete"), [OF_SET], [OF_SET], []),
    "when scaled": (policy("Delete", "Retain"), [], [], ["data-web-1 of Pod"]),
    "in any case": (
        policy("Delete", "Delete"),
        [],
        [OF_SET],
        ["data-web-0 of StatefulSet", "data-web-1 of Pod"],
    ),
    "a reference that is no controller's": (
        policy("Retain", "Delete"),
        [{**OF_SET, "controller": False}],
        [OF_SET],
        ["data-web-0 of StatefulSet"],
    ),
    "another owner stays": (
        policy("Retain", "Delete"),
        [LOOSE],
        [OF_SET],
        ["data-web-0 of Backup,StatefulSet"],
    ),
    "of another controller": (policy("Delete", "Delete"), [OTHER], [OTHER], []),
    "of another controller, and ours by mistake": (
        policy("Delete", "Delete"),
        [OTHER, {**OF_SET, "controller": False}],
        [OTHER],
        ["event ConflictingController", "data-web-0 of Backup"],
    ),
    "of a former set of the same name": (
        policy("Retain", "Delete"),
        [{**OF_SET, "uid": "u-former"}],
        [of_pod(1, "u-former")],
        [],
    ),
}


@pytest.mark.parametrize(("said", "wanted", "surplus", "done"), OWNERS.values(), ids=OWNERS)
def test_who_claims_go_with(
    said: Doc, wanted: list[Doc], surplus: list[Doc], done: list[str]
) -> None:
    claims = (a_claim(0, *wanted), a_claim(1, *surplus))
    view = a_view(a_set(1, **said), a_pod(0), a_pod(1), claims=claims)
    assert steps(view) == [*done, "delete web-1"]


WAITS: dict[str, tuple[Doc, list[str]]] = {
    "being deleted": (GOING, ["event FailedCreate"]),
    "of the former pod": ({"ownerReferences": [of_pod(0, "u-former")]}, []),
}


@pytest.mark.parametrize(("metadata", "done"), WAITS.values(), ids=WAITS)
def test_no_pod_is_made_while_its_claim_is(metadata: Doc, done: list[str]) -> None:
    view = a_view(a_set(1, **policy("Delete", "Retain")), claims=(a_claim(0, **metadata),))
    assert steps(view) == done


def test_in_parallel_a_claim_that_goes_holds_up_only_its_pod() -> None:
    claims = (a_claim(0, **GOING), a_claim(1))
    assert steps(a_view(a_set(2, **PARALLEL), claims=claims)) == [
        "event FailedCreate",
        "create web-1 of web-1",
    ]


def test_a_pod_with_other_volumes_is_told_of_and_left() -> None:
    pod = a_pod(0)
    templates = [claim_template(), {**claim_template(), "metadata": {"name": "log"}}]
    view = a_view(a_set(2, volumeClaimTemplates=templates), pod)
    assert steps(view) == ["event FailedUpdate"]


GROWS: Doc = {"annotations": {"mooring.dev/grow-claims": "true"}}
LARGER: Doc = {"volumeClaimTemplates": [claim_template("2Gi")]}
GROWTH: dict[str, tuple[StatefulSetView, list[str], str]] = {
    "grows": (
        a_view(a_set(1, metadata=GROWS, **LARGER), a_pod(0)),
        ["grow data-web-0 to 2Gi"],
        "GrowingClaims",
    ),
    "without the annotation": (a_view(a_set(1, **LARGER), a_pod(0)), [], ""),
    "large enough": (
        a_view(a_set(1, metadata=GROWS, **LARGER), a_pod(0), claims=(a_claim(0, storage="3Gi"),)),
        [],
        "",
    ),
    "no expansion": (
        a_view(a_set(1, metadata=GROWS, **LARGER), a_pod(0), expands=False),
        [],
        "ClaimGrowthRefused",
    ),
    "of another controller": (
        a_view(a_set(1, metadata=GROWS, **LARGER), a_pod(0), claims=(a_claim(0, OTHER),)),
        [],
        "ClaimGrowthRefused",
    ),
    "being deleted": (
        a_view(a_set(1, metadata=GROWS, **LARGER), a_pod(0), claims=(a_claim(0, **GOING),)),
        [],
        "",
    ),
}


@pytest.mark.parametrize(("view", "wanted", "reason"), GROWTH.values(), ids=GROWTH)
def test_growth(view: StatefulSetView, wanted: list[str], reason: str) -> None:
    assert steps(view) == wanted
    (saved,) = [step for step in decide(view).steps if isinstance(step, SaveStatus)]
    assert [each.reason for each in saved.status.conditions] == ([reason] if reason else [])


def test_what_a_pod_adds_to_its_template() -> None:
    (made,) = [s for s in decide(a_view(a_set(1))).steps if isinstance(s, CreatePods)]
    (pod,) = made.documents
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "web")
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    ]
    assert pod["metadata"]["ownerReferences"] == [OF_SET]


LIMITS = [(1, 10, 1), ("25%", 10, 2), ("5%", 10, 1), ("100%", 3, 3), (4, 3, 4)]


@pytest.mark.parametrize(("limit", "replicas", "most"), LIMITS)
def test_how_many_may_be_unavailable(limit: int | str, replicas: int, most: int) -> None:
    assert most_unavailable(limit, replicas) == most


NAMES = {
    "web-0": 0,
    "web-12": 12,
    "web-": None,
    "web-x": None,
    "web-01": None,
    "other-1": None,
    "web-1-2": None,
    "web-²": None,
    "web-99999999999": None,
}


@pytest.mark.parametrize(("name", "ordinal"), NAMES.items())
def test_which_pod_a_name_is(name: str, ordinal: int | None) -> None:
    assert a_set().find_ordinal(name) == ordinal
