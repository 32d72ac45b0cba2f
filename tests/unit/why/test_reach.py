"""A volume that is on one node: what is offered to a pod that no node takes for it."""

from typing import Any

import pytest

from mooring.why.answer import Answer
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod, ready_node
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, whole_world

OWN_KEY = "topology.loop.csi.mooring.dev/node"
HOSTNAME = "kubernetes.io/hostname"


def labelled(name: str, key: str, value: str, **spec: Any) -> dict[str, Any]:
    node = ready_node(name, **spec)
    node["metadata"]["labels"] = {key: value}
    return node


def answered(key: str, value: str, *nodes: dict[str, Any]) -> Answer:
    wanted = [{"key": key, "operator": "In", "values": [value]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}
    source = {"driver": "disk.example", "volumeHandle": "h"}
    volume = bound_volume(csi=source, nodeAffinity=affinity)
    return explain(whole_world(bound_claim(), volume, pod(), *nodes), WEB, NOW)


@pytest.mark.parametrize("key", [HOSTNAME, OWN_KEY, "disk.example/place"])
def test_a_node_that_was_renamed_gets_its_old_name_back(key: str) -> None:
    answer = answered(key, "old", labelled("new", key, "new"))
    assert [fix.command for fix in answer.fixes] == ["mooring up --node-name old"]
    assert "on the machine that was node old" in answer.fixes[0].what_it_does


def test_a_node_without_the_drivers_label_is_not_given_that_of_another() -> None:
    answer = answered(OWN_KEY, "old", ready_node("new"))
    assert [fix.command for fix in answer.fixes] == ["mooring up --node-name old"]


def test_a_node_that_is_there_but_cordoned_is_freed_and_no_other_labelled() -> None:
    there = labelled("old", OWN_KEY, "old", unschedulable=True)
    answer = answered(OWN_KEY, "old", labelled("new", OWN_KEY, "new"), there)
    assert [fix.command for fix in answer.fixes] == ["kubectl uncordon old"]


def test_a_zone_is_said_of_a_node_that_reaches_it() -> None:
    zone = "topology.kubernetes.io/zone"
    answer = answered(zone, "a", labelled("n1", zone, "b"))
    assert [fix.command for fix in answer.fixes] == [f"kubectl label node n1 {zone}=a --overwrite"]
