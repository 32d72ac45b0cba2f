from typing import Any

import pytest

from mooring.apiserver.kinds.node import NODE, NODE_BEFORE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    NO_VALUE,
    create,
    created,
    merged,
    printed,
    status_updated,
    update,
    update_status,
    updated,
    warned,
)

N1: Doc = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n1", "creationTimestamp": BEFORE},
}


def node(spec: Doc | None = None, status: Doc | None = None) -> Doc:
    return {**N1, "spec": spec or {}, "status": status or {}}


DEFAULTS: dict[str, tuple[Doc, Doc]] = {
    "what can be allocated is all there is, unless it says otherwise": (
        node(status={"capacity": {"cpu": "4"}}),
        {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}},
    ),
    "what it says can be allocated stays": (
        node(status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}),
        {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}},
    ),
    "one address range is also the first of several": (
        node({"podCIDR": "10.0.0.0/24"}),
        {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
    ),
    "the first of several is also the one": (
        node({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}),
        {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
    ),
    "where the two differ, the older field decides": (
        node({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.9.0.0/24"]}),
        {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
    ),
}


@pytest.mark.parametrize(("given", "then"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(given: Doc, then: Doc) -> None:
    assert created(NODE, given) == merged(given, then)


def test_node_info_is_whole_or_absent() -> None:
    info = created(NODE, node(status={"nodeInfo": {"osImage": "Linux"}}))["status"]["nodeInfo"]
    assert info["osImage"] == "Linux"
    assert len(info) == 10
    assert "nodeInfo" not in created(NODE, N1)["status"]


def test_a_node_brings_its_status_along_but_later_only_by_its_own_path() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    old = created(NODE, node({"unschedulable": True}, status))
    assert old["status"] == status
    new = merged(old, {"spec": {"unschedulable": None}, "status": {"conditions": []}})
    assert updated(NODE, old, new)["status"] == status
    assert updated(NODE, old, new)["spec"] == {}
    assert status_updated(NODE, old, new)["status"] == {"conditions": []}
    assert status_updated(NODE, old, new)["spec"] == {"unschedulable": True}


def test_what_is_left_of_dynamic_configuration_is_dropped() -> None:
    given = node({"configSource": {"configMap": {}}}, {"config": {}})
    assert created(NODE, given) == node()


TAINT = {"key": "example.com/special", "value": "yes", "effect": "NoSchedule"}
EFFECTS = '"NoSchedule", "PreferNoSchedule", "NoExecute"'
RULES: dict[str, tuple[Doc, list[str]]] = {
    "taints differ in key or effect": (
        node({"taints": [TAINT, {**TAINT, "effect": "NoExecute"}]}),
        [],
    ),
    "the same key and effect twice is once too often": (
        node({"taints": [TAINT, {**TAINT, "value": "no"}]}),
        [
            "metadata.taints[1]: Duplicate value: "
            '{"key":"example.com/special","value":"no","effect":"NoSchedule"}: '
            "taints must be unique by key and effect pair"
        ],
    ),
    "a taint has an effect": (
        node({"taints": [{"key": "a"}]}),
        ["metadata.taints[0].effect: Required value"],
    ),
    "one of three": (
        node({"taints": [{**TAINT, "effect": "Never"}]}),
        [f'metadata.taints[0].effect: Unsupported value: "Never": supported values: {EFFECTS}'],
    ),
    "its key is qualified": (
        node({"taints": [{**TAINT, "key": "not a key"}]}),
        [f'metadata.taints[0].key: Invalid value: "not a key": {NO_KEY}'],
    ),
    "its value is one word": (
        node({"taints": [{**TAINT, "value": "not a value"}]}),
        [f'metadata.taints[0].value: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "there is no less than nothing": (
        node(status={"capacity": {"cpu": "-1"}, "allocatable": {"cpu": "1"}}),
        ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "address ranges are address ranges": (
        node({"podCIDRs": ["10.0.0.0/33"]}),
        [
            'spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, '
            "(e.g. 10.9.8.0/24 or 2001:db8::/64)"
        ],
    ),
    "one of each family": (
        node({"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}),
        [
            'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: '
            "may specify no more than one CIDR for each IP family"
        ],
    ),
}


@pytest.mark.parametrize(("given", "complaints"), RULES.values(), ids=RULES)
def test_rules(given: Doc, complaints: list[str]) -> None:
    assert create(NODE, given) == complaints


OLD = created(NODE, node({"podCIDRs": ["10.0.0.0/24"], "providerID": "x://1"}))
CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "a node may be cordoned": (OLD, {"spec": {"unschedulable": True}}, []),
    "a range may be given once": (
        created(NODE, N1),
        {"spec": {"podCIDR": "10.0.0.0/24", "providerID": "x://1"}},
        [],
    ),
    "but not changed": (
        OLD,
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}},
        ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ),
    "who provides it is for ever": (
        OLD,
        {"spec": {"providerID": None}},
        ["spec.providerID: Invalid value: null: field cannot be modified once set"],
    ),
}


@pytest.mark.parametrize(("old", "patch", "complaints"), CHANGES.values(), ids=CHANGES)
def test_changes(old: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(NODE, old, patch) == complaints


def test_no_address_twice_in_a_status() -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    other = {"type": "ExternalIP", "address": "10.0.0.1"}
    assert update_status(NODE, OLD, {"status": {"addresses": [address, other]}}) == []
    assert update_status(NODE, OLD, {"status": {"addresses": [address, other, address]}}) == [
        'status.addresses[2]: Duplicate value: {"type":"InternalIP","address":"10.0.0.1"}'
    ]


READY = [{"type": "Ready", "status": "True"}]
CELLS: dict[str, tuple[Doc, str, Any]] = {
    "ready": ({"status": {"conditions": READY}}, "Status", "Ready"),
    "not ready": (
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        "Status",
        "NotReady",
    ),
    "nothing is known": ({}, "Status", "Unknown"),
    "cordoned": (
        {"status": {"conditions": READY}, "spec": {"unschedulable": True}},
        "Status",
        "Ready,SchedulingDisabled",
    ),
    "no role": ({}, "Roles", "<none>"),
    "roles from labels, sorted": (
        {
            "metadata": {
                "labels": {
                    "node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/control-plane": "",
                    "node-role.kubernetes.io/": "",
                    "kubernetes.io/role": "storage",
                }
            }
        },
        "Roles",
        "control-plane,storage,worker",
    ),
    "the version of its agent": (
        {"status": {"nodeInfo": {"kubeletVersion": "v1.35.0"}}},
        "Version",
        "v1.35.0",
    ),
    "no address": ({}, "Internal-IP", "<none>"),
    "the first address of its kind": (
        {
            "status": {
                "addresses": [
                    {"type": "ExternalIP", "address": "192.0.2.1"},
                    {"type": "InternalIP", "address": "10.0.0.1"},
                    {"type": "InternalIP", "address": "10.0.0.2"},
                ]
            }
        },
        "Internal-IP",
        "10.0.0.1",
    ),
    "an image that is not known": ({}, "OS-Image", "<unknown>"),
    "a kernel with its architecture": (
        {"status": {"nodeInfo": {"kernelVersion": "6.1", "architecture": "amd64"}}},
        "Kernel-Version",
        "6.1 (amd64)",
    ),
    "a runtime that is not known": ({}, "Container-Runtime", "<unknown>"),
}


@pytest.mark.parametrize(("patch", "column", "cell"), CELLS.values(), ids=CELLS)
def test_cells(patch: Doc, column: str, cell: Any) -> None:
    assert printed(NODE, merged(node(), patch))[column] == cell


def test_a_field_of_the_past_is_warned_of() -> None:
    (word,) = warned(NODE, node(spec={"externalID": "x"}))
    assert word == "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    assert warned(NODE, node()) == []


def test_columns() -> None:
    names = [column.name for column in NODE.columns if not column.wide]
    wide = [column.name for column in NODE.columns if column.wide]
    assert names == ["Name", "Status", "Roles", "Age", "Version"]
    assert wide == ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"]


def test_unschedulable_is_selectable() -> None:
    read = NODE.fields["spec.unschedulable"]
    assert read(node({"unschedulable": True})) == "true"
    assert read(node()) == "false"


def test_who_provides_it_was_for_ever_in_other_words() -> None:
    assert update(NODE_BEFORE, OLD, {"spec": {"providerID": None}}) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]
