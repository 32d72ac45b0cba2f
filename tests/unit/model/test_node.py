"""Nodes as controllers read them."""

from typing import Any

import pytest

from mooring.model.node import AttachedVolume, Node
from mooring.model.taint import Taint
from tests.unit.model.reading import read

IN_USE = "kubernetes.io/csi/ebs.csi.example.com^vol-1"

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "labels": {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z1"},
        "annotations": {
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.example.com":"i-1"}',
        },
    },
    "spec": {
        "podCIDR": "10.0.0.0/24",
        "unschedulable": True,
        "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            {
                "key": "node.kubernetes.io/out-of-service",
                "value": "nodeshutdown",
                "effect": "NoExecute",
                "timeAdded": "2026-01-01T00:00:00Z",
            },
        ],
    },
    "status": {
        "capacity": {"cpu": "4", "pods": "110"},
        "allocatable": {"cpu": "3900m", "pods": "110"},
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }
        ],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "volumesInUse": [IN_USE],
        "volumesAttached": [{"name": IN_USE, "devicePath": ""}],
    },
}


def test_a_node_with_volumes() -> None:
    node = read(DOCUMENT, Node)
    assert node.spec.unschedulable
    assert node.spec.taints[0] == Taint("node.kubernetes.io/unschedulable", "NoSchedule")
    assert node.status.allocatable == {"cpu": "3900m", "pods": "110"}
    assert node.status.volumes_in_use == (IN_USE,)
    assert node.status.volumes_attached == (AttachedVolume(IN_USE),)
    assert node.metadata.labels["topology.kubernetes.io/zone"] == "z1"
    assert node.selectable_fields == {"metadata.name": "n1"}
    assert node.is_ready
    assert node.is_out_of_service
    assert node.leaves_attaching_to_controller


@pytest.mark.parametrize("status", ["False", "Unknown", None])
def test_not_ready_unless_it_says_so(status: str | None) -> None:
    conditions = [{"type": "Ready", "status": status}] if status else []
    assert not read(DOCUMENT | {"status": {"conditions": conditions}}, Node).is_ready


def test_a_bare_node() -> None:
    node = read({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}, Node)
    assert not node.is_out_of_service
    assert not node.leaves_attaching_to_controller
    assert node.status.volumes_attached == ()


OUT = "node.kubernetes.io/out-of-service"
GONE: dict[str, Any] = {"type": "Ready", "status": "False", "reason": "NodeShutdown"}
BACK: dict[str, Any] = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
SILENT: dict[str, Any] = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}

OFF_OR_NOT = {
    "somebody's word holds": (BACK, "nodeshutdown", [], True),
    "whatever is mounted there": (SILENT, "", [IN_USE], True),
    "that of a node which has left holds": (GONE, "left", [], True),
    "not when it is back": (BACK, "left", [], False),
    "nor when it is back and silent": (SILENT, "left", [IN_USE], False),
    "nor when it uses a volume": (GONE, "left", [IN_USE], False),
}


@pytest.mark.parametrize(
    ("ready", "value", "in_use", "is_off"), OFF_OR_NOT.values(), ids=OFF_OR_NOT
)
def test_out_of_service(
    ready: dict[str, Any], value: str, in_use: list[str], *, is_off: bool
) -> None:
    taint = {"key": OUT, "value": value, "effect": "NoExecute"}
    status = {"conditions": [ready], "volumesInUse": in_use}
    doc = DOCUMENT | {"spec": {"taints": [taint]}, "status": status}
    assert read(doc, Node).is_out_of_service is is_off
