"""Where a webhook behind a Service is asked."""

from collections.abc import Iterable

import pytest

from mooring.apiserver.webhooks.reach import Unreachable, endpoints
from mooring.model.document import Doc

REFERENCE = {"name": "hook", "namespace": "default"}
SERVICE: Doc = {"spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 8443}]}}
LISTED: Doc = {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 9443}]}]}
POD: Doc = {
    "metadata": {"labels": {"app": "hook"}},
    "spec": {},
    "status": {"podIP": "10.0.0.2", "conditions": [{"type": "Ready", "status": "True"}]},
}


class Known:
    """`Objects` out of a few."""

    def __init__(self, service: Doc | None, listed: Doc | None, *pods: Doc) -> None:
        self._found = {"services": service, "endpoints": listed}
        self._pods = pods
        self.scans = 0

    def find(self, plural: str, namespace: str, name: str, group: str = "") -> Doc | None:
        return self._found[plural]

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]:
        self.scans += 1
        return self._pods


CASES: dict[str, tuple[Known, list[tuple[str, int]]]] = {
    "what its Endpoints list": (Known(SERVICE, LISTED, POD), [("10.0.0.1", 9443)]),
    "its ready pods, where nobody lists them": (Known(SERVICE, None, POD), [("10.0.0.2", 8443)]),
    "its ready pods, where none may be listed": (
        Known(SERVICE, {"subsets": []}, POD),
        [("10.0.0.2", 8443)],
    ),
    "Endpoints of a Service without a selector": (
        Known({"spec": {"ports": [{"port": 443}]}}, LISTED, POD),
        [("10.0.0.1", 9443)],
    ),
    "another name": (
        Known({"spec": {"type": "ExternalName", "externalName": "x.example.com"}}, None),
        [("x.example.com", 443)],
    ),
}


@pytest.mark.parametrize(("known", "expected"), CASES.values(), ids=CASES)
def test_it_is_asked_at(known: Known, expected: list[tuple[str, int]]) -> None:
    assert list(endpoints(REFERENCE, known)) == expected


def test_pods_are_not_gone_through_where_endpoints_are_kept() -> None:
    known = Known(SERVICE, LISTED, POD)
    assert list(endpoints(REFERENCE, known)) == [("10.0.0.1", 9443)]
    assert known.scans == 0


def test_a_service_that_is_not_there() -> None:
    with pytest.raises(Unreachable, match='service "hook" not found'):
        list(endpoints(REFERENCE, Known(None, None)))
