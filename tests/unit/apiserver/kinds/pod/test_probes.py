from typing import Any

import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints

AT = "spec.containers[0].livenessProbe"
TRUE = {"exec": {"command": ["true"]}}
HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)
RANGE = "must be between 1 and 65535, inclusive"
PROBES: dict[str, tuple[Doc, list[str]]] = {
    "a command": (TRUE, []),
    "is not empty": ({"exec": {}}, [f"{AT}.exec.command: Required value"]),
    "a page": ({"httpGet": {"port": 80}}, []),
    "at a port with a name": ({"httpGet": {"port": "http"}}, []),
    "at a port that there is": (
        {"httpGet": {"port": 0}},
        [f"{AT}.httpGet.port: Invalid value: 0: {RANGE}"],
    ),
    "by a known scheme": (
        {"httpGet": {"port": 80, "scheme": "FTP"}},
        [f'{AT}.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"'],
    ),
    "with proper headers": (
        {"httpGet": {"port": 80, "httpHeaders": [{"name": "X-Ok"}, {"name": "X Bad"}]}},
        [f'{AT}.httpGet.httpHeaders: Invalid value: "X Bad": {HEADER}'],
    ),
    "a socket": (
        {"tcpSocket": {"port": 65536}},
        [f"{AT}.tcpSocket.port: Invalid value: 65536: {RANGE}"],
    ),
    "a health service": ({"grpc": {"port": 0}}, [f"{AT}.grpc.port: Invalid value: 0: {RANGE}"]),
    "nothing": ({}, [f"{AT}: Required value: must specify a handler type"]),
    "two at once": (
        {**TRUE, "tcpSocket": {"port": 80}},
        [f"{AT}.tcpSocket: Forbidden: may not specify more than 1 handler type"],
    ),
    "times are not negative": (
        {**TRUE, "initialDelaySeconds": -1},
        [f"{AT}.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "one success is enough": (
        {**TRUE, "successThreshold": 2},
        [f"{AT}.successThreshold: Invalid value: 2: must be 1"],
    ),
    "its own grace is some": (
        {**TRUE, "terminationGracePeriodSeconds": 0},
        [f"{AT}.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
    ),
}


@pytest.mark.parametrize(("probe", "expected"), PROBES.values(), ids=PROBES)
def test_probes(probe: Doc, expected: list[str]) -> None:
    assert complaints(a_container(livenessProbe=probe)) == expected
    renamed = [text.replace("livenessProbe", "startupProbe") for text in expected]
    assert complaints(a_container(startupProbe=probe)) == renamed


def test_readiness_may_need_several_successes_and_ends_nothing() -> None:
    assert complaints(a_container(readinessProbe={**TRUE, "successThreshold": 2})) == []
    assert complaints(a_container(readinessProbe={**TRUE, "terminationGracePeriodSeconds": 5})) == [
        "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: "
        "must not be set for readinessProbes"
    ]


def hooks(**given: Any) -> Doc:
    return a_container(lifecycle=given)


HOOKS: dict[str, tuple[Doc, list[str]]] = {
    "before the end, a command": (hooks(preStop=TRUE), []),
    "or a rest": (hooks(preStop={"sleep": {"seconds": 30}}), []),
    "no longer than the pod has": (
        hooks(preStop={"sleep": {"seconds": 31}}),
        [
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)"
        ],
    ),
    "after the start, something": (
        hooks(postStart={}),
        ["spec.containers[0].lifecycle.postStart: Required value: must specify a handler type"],
    ),
}


@pytest.mark.parametrize(("container", "expected"), HOOKS.values(), ids=HOOKS)
def test_hooks(container: Doc, expected: list[str]) -> None:
    assert complaints(container) == expected


NAMES: dict[str, tuple[str, list[str]]] = {
    "a short word": ("http", []),
    "with digits and hyphens": ("web-2", []),
    "too long": ("a" * 16, ["must be no more than 15 characters"]),
    "capitals": (
        "Http",
        ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"],
    ),
    "no letter": ("80", ["must contain at least one letter (a-z)"]),
    "two hyphens": ("a--b", ["must not contain consecutive hyphens"]),
    "a hyphen at the end": ("a-", ["must not begin or end with a hyphen"]),
    "a hyphen at the start": ("-a", ["must not begin or end with a hyphen"]),
}


@pytest.mark.parametrize(("name", "problems"), NAMES.values(), ids=NAMES)
def test_names_of_ports(name: str, problems: list[str]) -> None:
    told = [f'{AT}.tcpSocket.port: Invalid value: "{name}": {problem}' for problem in problems]
    assert complaints(a_container(livenessProbe={"tcpSocket": {"port": name}})) == told
