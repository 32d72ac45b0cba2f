"""Whose a pod is."""

import pytest

from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.owned_pods.plan import Adopt, Release
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from tests.unit.controllers.owned_pods.some_pods import GONE, OTHER, OWNER, a_pod, an_owner

TABLE: dict[str, tuple[ReplicationController, Pod, list[str]]] = {
    "its own that matches is kept": (an_owner(), a_pod("a"), ["kept"]),
    "its own that no longer matches is released": (
        an_owner(),
        a_pod("a", labels={"app": "db"}),
        ["released"],
    ),
    "one of nobody that matches is adopted": (
        an_owner(),
        a_pod("a", owner=None),
        ["kept", "adopted"],
    ),
    "one of nobody that does not match is left alone": (
        an_owner(),
        a_pod("a", owner=None, labels={}),
        [],
    ),
    "one of nobody that is being deleted is left alone": (
        an_owner(),
        a_pod("a", owner=None, **GONE),
        [],
    ),
    "one of another owner is left alone": (an_owner(), a_pod("a", owner=OTHER), []),
    "an owner that is being deleted keeps its own": (an_owner(**GONE), a_pod("a"), ["kept"]),
    "an owner that is being deleted adopts nothing": (
        an_owner(**GONE),
        a_pod("a", owner=None),
        [],
    ),
    "an owner that is being deleted releases nothing": (
        an_owner(**GONE),
        a_pod("a", labels={"app": "db"}),
        [],
    ),
}


@pytest.mark.parametrize(("owner", "pod", "then"), TABLE.values(), ids=TABLE)
def test_claim(owner: ReplicationController, pod: Pod, then: list[str]) -> None:
    claimed = claim(owner, [pod])
    names = {Adopt: "adopted", Release: "released"}
    assert ["kept" for _ in claimed.pods] + [names[type(step)] for step in claimed.steps] == then


def test_what_the_owner_asks_beyond_its_selector() -> None:
    claimed = claim(
        an_owner(), [a_pod("a"), a_pod("b", owner=None)], fits=lambda pod: pod.name == "x"
    )
    assert (claimed.pods, [type(step) for step in claimed.steps]) == ((), [Release])


def test_other_owner_references_stay() -> None:
    keeper = {"apiVersion": "v1", "kind": "ConfigMap", "name": "k", "uid": "u-k"}
    assert Adopt(an_owner(), a_pod("a", owner=keeper)).owners() == [keeper, OWNER]
    both = a_pod("a", ownerReferences=[keeper, OWNER])
    assert Release(an_owner(), both).owners() == [keeper]
