"""Endpoints: addresses that somebody writes by hand."""

from typing import Any

import pytest

from mooring.apiserver.kinds.endpoints import ENDPOINTS
from mooring.apiserver.kinds.pod.validation import ADDRESS_TEXT
from mooring.model.document import Doc

NOW = "2026-01-02T03:04:05Z"


def endpoints(*subsets: dict[str, Any]) -> Doc:
    created = {"name": "e", "namespace": "ns", "creationTimestamp": NOW}
    return {"metadata": created, "subsets": list(subsets)}


def at(*ips: str, **fields: Any) -> dict[str, Any]:
    return {"addresses": [{"ip": ip} for ip in ips], **fields}


COMPLAINTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "addresses": (at("10.0.0.1", "fd00::1"), []),
    "none that is ready": ({"notReadyAddresses": [{"ip": "10.0.0.1"}]}, []),
    "no address": (
        at(),
        ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    ),
    "no address at all": (
        at("server"),
        [f'subsets[0].addresses[0].ip: Invalid value: "server": {ADDRESS_TEXT}'],
    ),
    "loopback": (
        at("127.0.0.1"),
        [
            'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": '
            "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        ],
    ),
    "unspecified": (
        at("0.0.0.0"),  # noqa: S104  nobody listens there
        ['subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)'],
    ),
    "link-local": (
        at("169.254.0.1"),
        [
            'subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": '
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        ],
    ),
    "a port": (
        at("10.0.0.1", ports=[{"port": 0}]),
        [
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ],
    ),
    "ports have names": (
        at("10.0.0.1", ports=[{"port": 1, "name": "a"}, {"port": 2}]),
        ["subsets[0].ports[1].name: Required value"],
    ),
    "a protocol": (
        at("10.0.0.1", ports=[{"port": 1, "protocol": "ICMP"}]),
        [
            'subsets[0].ports[0].protocol: Unsupported value: "ICMP": '
            'supported values: "SCTP", "TCP", "UDP"'
        ],
    ),
}


@pytest.mark.parametrize(("subset", "complaints"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_what_is_refused(subset: dict[str, Any], complaints: list[str]) -> None:
    doc = endpoints(subset)
    ENDPOINTS.defaults(doc)
    assert [str(error) for error in ENDPOINTS.validate(doc)] == complaints


@pytest.mark.parametrize(
    ("doc", "shown"),
    [
        (endpoints(), "<none>"),
        (endpoints(at("10.0.0.1")), "10.0.0.1"),
        (endpoints(at("fd00::1", ports=[{"port": 1}, {"port": 2}])), "[fd00::1]:1,[fd00::1]:2"),
        (
            endpoints(at(*(f"10.0.0.{number}" for number in range(1, 6)))),
            "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...",
        ),
    ],
)
def test_what_a_table_shows(doc: Doc, shown: str) -> None:
    assert ENDPOINTS.row is not None
    assert ENDPOINTS.row(doc, NOW) == ["e", shown, "0s"]
