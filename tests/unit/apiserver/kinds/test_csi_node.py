import pytest

from mooring.apiserver.kinds.csi_node import CSI_NODE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    NO_SUBDOMAIN,
    create,
    created,
    merged,
    printed,
    update,
    updated,
)


def a_node(*drivers: Doc) -> Doc:
    return {
        "kind": "CSINode",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "n1", "creationTimestamp": BEFORE},
        "spec": {"drivers": list(drivers)},
    }


def a_driver(name: str = "d", **fields: object) -> Doc:
    return {"name": name, "nodeID": "id", **fields}


AT = "spec.drivers[0]"

CREATED: dict[str, tuple[tuple[Doc, ...], list[str]]] = {
    "no driver is fine": ((), []),
    "a driver is fine": ((a_driver(topologyKeys=["a"], allocatable={"count": 0}),), []),
    "a driver has a name": ((a_driver(""),), [f"{AT}.name: Required value"]),
    "a driver's name is checked": (
        (a_driver("Not_A_Name"),),
        [f'{AT}.name: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a driver stands once": (
        (a_driver(), a_driver()),
        ['spec.drivers[1].name: Duplicate value: "d"'],
    ),
    "a driver knows the node": (({"name": "d"},), [f"{AT}.nodeID: Required value"]),
    "it may call it by 256 characters": ((a_driver(nodeID="i" * 256),), []),
    "but not by more": (
        (a_driver(nodeID="i" * 257),),
        [f'{AT}.nodeID: Invalid value: "{"i" * 257}": must be 256 characters or less'],
    ),
    "a limit is not negative": (
        (a_driver(allocatable={"count": -1}),),
        [f"{AT}.allocatable.count: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "no limit is fine": ((a_driver(allocatable={}),), []),
    "topology keys are label keys": (
        (a_driver(topologyKeys=["not a key"]),),
        [f'{AT}: Invalid value: "not a key": {NO_KEY}'],
    ),
    "topology keys differ": (
        (a_driver(topologyKeys=["a", "a"]),),
        [f'{AT}: Duplicate value: "a"'],
    ),
}


@pytest.mark.parametrize(("drivers", "complaints"), CREATED.values(), ids=CREATED)
def test_create(drivers: tuple[Doc, ...], complaints: list[str]) -> None:
    assert create(CSI_NODE, a_node(*drivers)) == complaints


def test_an_empty_topology_key_is_missed() -> None:
    assert f"{AT}: Required value" in create(CSI_NODE, a_node(a_driver(topologyKeys=[""])))


def test_a_node_without_drivers_reads_back_as_an_empty_list() -> None:
    assert created(CSI_NODE, {"metadata": {"name": "n1"}})["spec"] == {"drivers": []}
    assert created(CSI_NODE, {"metadata": {"name": "n1"}, "spec": {}})["spec"] == {"drivers": []}


def test_keys_that_a_driver_does_not_have_are_null() -> None:
    ways: tuple[Doc, ...] = ({}, {"topologyKeys": []}, {"topologyKeys": None})
    for given in ways:
        (driver,) = created(CSI_NODE, a_node(a_driver(**given)))["spec"]["drivers"]
        assert driver == {"name": "d", "nodeID": "id", "topologyKeys": None}


@pytest.mark.parametrize("emptied", [[], None])
def test_the_last_driver_leaves_a_null_behind(emptied: object) -> None:
    left = updated(CSI_NODE, OLD, merged(OLD, {"spec": {"drivers": emptied}}))
    assert left["spec"] == {"drivers": None}
    labelled = updated(CSI_NODE, left, merged(left, {"metadata": {"labels": {"a": "b"}}}))
    assert labelled["spec"] == {"drivers": None}
    (back,) = updated(CSI_NODE, left, a_node(a_driver()))["spec"]["drivers"]
    assert back["name"] == "d"


OLD = a_node(a_driver("a"), a_driver("b", topologyKeys=["zone"]))

UPDATED: dict[str, tuple[list[Doc], list[str]]] = {
    "a driver may come": ([*OLD["spec"]["drivers"], a_driver("c")], []),
    "a driver may go": ([a_driver("a")], []),
    "drivers may change places": (list(reversed(OLD["spec"]["drivers"])), []),
    "a limit may change": (
        [a_driver("a", allocatable={"count": 5}), OLD["spec"]["drivers"][1]],
        [],
    ),
    "the node's name to a driver may not change": (
        [a_driver("a", nodeID="other")],
        ['spec.drivers: Invalid value: {"name":"a","nodeID":"other"}: field is immutable'],
    ),
    "topology keys may not change": (
        [a_driver("b", topologyKeys=["rack"])],
        [
            'spec.drivers: Invalid value: {"name":"b","nodeID":"id","topologyKeys":["rack"]}: '
            "field is immutable"
        ],
    ),
}


@pytest.mark.parametrize(("drivers", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(drivers: list[Doc], complaints: list[str]) -> None:
    assert update(CSI_NODE, OLD, {"spec": {"drivers": drivers}}) == complaints


def test_a_row_counts_the_drivers() -> None:
    assert printed(CSI_NODE, OLD) == {"Name": "n1", "Drivers": 2, "Age": "27h"}
