"""Endpoint slices: what is filled in, refused and printed."""

from typing import Any

import pytest

from mooring.apiserver.kinds.endpoint_slice import ENDPOINT_SLICE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, created, merged, printed, update

SLICE: Doc = {
    "metadata": {"name": "web-1", "namespace": "ns", "creationTimestamp": BEFORE},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.0.0.1"]}],
}


def at(*addresses: str, **fields: Any) -> Doc:
    return {"endpoints": [{"addresses": list(addresses), **fields}]}


def test_what_a_port_leaves_unsaid() -> None:
    stored = created(ENDPOINT_SLICE, merged(SLICE, {"ports": [{"port": 80}]}))
    assert stored["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}]


def test_the_topology_of_an_older_version_is_dropped() -> None:
    given = merged(SLICE, at("10.0.0.1", deprecatedTopology={"kubernetes.io/hostname": "n1"}))
    assert created(ENDPOINT_SLICE, given)["endpoints"] == [{"addresses": ["10.0.0.1"]}]


COMPLAINTS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "nobody": ({"endpoints": []}, []),
    "no type": ({"addressType": None, "endpoints": None}, ["addressType: Required value"]),
    "another type": (
        {"addressType": "IP"},
        ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
    ),
    "no address": (
        at(),
        ["endpoints[0].addresses: Required value: must contain at least 1 address"],
    ),
    "an address of the other family": (
        at("fd00::1"),
        [
            'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address',
        ],
    ),
    "a name where an address belongs": (
        {"addressType": "IPv6", **at("host")},
        ['endpoints[0].addresses[0]: Invalid value: "host": must be a valid IPv6 address'],
    ),
    "loopback": (
        at("127.0.0.1"),
        [
            'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": '
            "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        ],
    ),
    "a full name": ({"addressType": "FQDN", **at("db.example.com.")}, []),
    "a short name": (
        {"addressType": "FQDN", **at("db")},
        [
            'endpoints[0].addresses[0]: Invalid value: "db": '
            "should be a domain with at least two segments separated by dots"
        ],
    ),
    "too many of one": (
        at(*(f"10.0.0.{number}" for number in range(101))),
        ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
    ),
    "too many": (
        {"endpoints": at("10.0.0.1")["endpoints"] * 1001},
        ["endpoints: Too many: 1001: must have at most 1000 items"],
    ),
    "ports of one name": (
        {"ports": [{"port": 1}, {"port": 2}]},
        ['ports[1].name: Duplicate value: ""'],
    ),
    "another protocol": (
        {"ports": [{"port": 1, "protocol": "Pigeon"}]},
        ['ports[0].protocol: Unsupported value: "Pigeon": supported values: "SCTP", "TCP", "UDP"'],
    ),
}


@pytest.mark.parametrize(("fields", "complaints"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_what_is_refused(fields: Doc, complaints: list[str]) -> None:
    assert create(ENDPOINT_SLICE, {**SLICE, **fields}) == complaints


def test_the_type_of_addresses_never_changes() -> None:
    change = {"addressType": "IPv6", **at("fd00::1")}
    assert update(ENDPOINT_SLICE, created(ENDPOINT_SLICE, SLICE), change) == [
        'addressType: Invalid value: "IPv6": field is immutable'
    ]


PRINTED: dict[str, tuple[Doc, list[str]]] = {
    "nobody": ({"endpoints": []}, ["web-1", "IPv4", "<unset>", "<unset>"]),
    "more than fit": (
        {
            "endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(1, 6)],
            "ports": [{"port": 80}, {"name": "any"}],
        },
        ["web-1", "IPv4", "80,any", "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."],
    ),
}


@pytest.mark.parametrize(("fields", "row"), PRINTED.values(), ids=PRINTED)
def test_what_is_printed(fields: Doc, row: list[str]) -> None:
    assert list(printed(ENDPOINT_SLICE, {**SLICE, **fields}).values())[:4] == row
