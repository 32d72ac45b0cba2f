"""What a node says last."""

from typing import Any

from mooring.model.node import Node
from mooring.model.wire import read_document
from mooring.node.status.goodbye import farewell

NOW = "2026-01-02T03:04:05Z"


def a_node(**status: Any) -> Node:
    return read_document({"metadata": {"name": "n1"}, "status": status}, Node)


READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
OTHER = {"type": "team.example.com/Clean", "status": "True", "reason": "Swept"}


def test_it_is_not_ready_for_a_reason_and_uses_no_volume() -> None:
    before = a_node(conditions=[READY, OTHER], volumesInUse=["kubernetes.io/csi/d^v"])
    assert not before.has_left
    said = farewell(before, NOW)
    assert said["volumesInUse"] is None
    ready, other = said["conditions"]
    assert other == OTHER
    assert (ready["status"], ready["reason"]) == ("False", "NodeShutdown")
    assert ready["lastHeartbeatTime"] == ready["lastTransitionTime"] == NOW
    assert a_node(conditions=said["conditions"]).has_left


def test_one_that_says_so_and_uses_a_volume_is_not_believed() -> None:
    said = farewell(a_node(), NOW)
    assert not a_node(conditions=said["conditions"], volumesInUse=["x"]).has_left
