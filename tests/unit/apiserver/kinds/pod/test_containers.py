from typing import Any

import pytest

from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints, stored
from tests.unit.apiserver.kinds.writing import NO_KEY, NO_LABEL, merged

AT = "spec.containers[0]"
TRUE = {"exec": {"command": ["true"]}}


def test_there_is_one_at_least() -> None:
    assert complaints(containers=[]) == ["spec.containers: Required value"]


COMMON: dict[str, tuple[Doc, list[str]]] = {
    "a name and an image": ({}, []),
    "a name is required": ({"name": ""}, ["{}.name: Required value"]),
    "a name is a DNS label": (
        {"name": "Not_A_Name"},
        [f'{{}}.name: Invalid value: "Not_A_Name": {NO_LABEL}'],
    ),
    "an image is required": ({"image": ""}, ["{}.image: Required value"]),
    "an image has no spaces around": (
        {"image": "busybox "},
        ['{}.image: Invalid value: "busybox ": must not have leading or trailing whitespace'],
    ),
    "last words go to a known place": (
        {"terminationMessagePolicy": "Scream"},
        [
            '{}.terminationMessagePolicy: Unsupported value: "Scream": '
            'supported values: "File", "FallbackToLogsOnError"'
        ],
    ),
    "images are fetched in a known way": (
        {"imagePullPolicy": "Sometimes"},
        [
            '{}.imagePullPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), COMMON.values(), ids=COMMON)
def test_all_containers(fields: Doc, expected: list[str]) -> None:
    one = {"name": "x", "image": "busybox", **fields}
    assert complaints(one) == [text.replace("{}", AT) for text in expected]
    at = "spec.initContainers[0]"
    assert complaints(initContainers=[one]) == [text.replace("{}", at) for text in expected]


NAMES: dict[str, tuple[Doc, list[str]]] = {
    "regular ones differ": (
        {"containers": [a_container(), a_container()]},
        ['spec.containers[1].name: Duplicate value: "c"'],
    ),
    "those that run first differ from them": (
        {"initContainers": [a_container()]},
        ['spec.initContainers[0].name: Duplicate value: "c"'],
    ),
    "and from each other": (
        {"initContainers": [a_container(name="i"), a_container(name="i")]},
        ['spec.initContainers[1].name: Duplicate value: "i"'],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), NAMES.values(), ids=NAMES)
def test_names(spec: Doc, expected: list[str]) -> None:
    assert complaints(**spec) == expected


def port(number: int = 80, **fields: Any) -> Doc:
    return {"containerPort": number, **fields}


RANGE = "must be between 1 and 65535, inclusive"
PORTS: dict[str, tuple[list[Doc], list[str]]] = {
    "a port": ([port()], []),
    "a number is required": ([{}], [f"{AT}.ports[0].containerPort: Required value"]),
    "in range": (
        [port(65536)],
        [f"{AT}.ports[0].containerPort: Invalid value: 65536: {RANGE}"],
    ),
    "on the host too": (
        [port(hostPort=-1)],
        [f"{AT}.ports[0].hostPort: Invalid value: -1: {RANGE}"],
    ),
    "of a known protocol": (
        [port(protocol="ICMP")],
        [
            f'{AT}.ports[0].protocol: Unsupported value: "ICMP": '
            'supported values: "SCTP", "TCP", "UDP"'
        ],
    ),
    "names are proper": (
        [port(name="80")],
        [f'{AT}.ports[0].name: Invalid value: "80": must contain at least one letter (a-z)'],
    ),
    "and differ": (
        [port(name="http"), port(81, name="http")],
        [f'{AT}.ports[1].name: Duplicate value: "http"'],
    ),
    "a port of the host is used once": (
        [port(hostPort=80), port(81, hostPort=80)],
        [f'{AT}.ports[1].hostPort: Duplicate value: "TCP//80"'],
    ),
    "once per protocol and address": (
        [
            port(hostPort=80),
            port(81, hostPort=80, protocol="UDP"),
            port(82, hostPort=80, hostIP="10.0.0.1"),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("ports", "expected"), PORTS.values(), ids=PORTS)
def test_ports(ports: list[Doc], expected: list[str]) -> None:
    assert complaints(a_container(ports=ports)) == expected


def test_two_containers_share_the_ports_of_the_host() -> None:
    one, two = (
        a_container(ports=[port(hostPort=80)]),
        a_container(name="d", ports=[port(hostPort=80)]),
    )
    assert complaints(one, two) == [
        'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"'
    ]
    assert complaints(one, initContainers=[two]) == []


def test_on_the_network_of_the_host_ports_are_the_same() -> None:
    assert complaints(a_container(ports=[port()]), hostNetwork=True) == []
    assert complaints(a_container(ports=[port(hostPort=81)]), hostNetwork=True) == [
        f"{AT}.ports[0].hostPort: Invalid value: 81: "
        "must match `containerPort` when `hostNetwork` is true"
    ]


NOT_STANDARD = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"
RESOURCES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "less is asked for than allowed": ({"cpu": "1"}, {"cpu": "2"}, []),
    "as much": ({"memory": "1Gi"}, {"memory": "1024Mi"}, []),
    "not more": (
        {"memory": "2Gi"},
        {"memory": "1Gi"},
        ['{}.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi'],
    ),
    "not less than nothing": (
        {"cpu": "-1"},
        {},
        ['{}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "a device of a vendor": ({"example.com/gpu": "1"}, {"example.com/gpu": "1"}, []),
    "is all or nothing": (
        {"example.com/gpu": "1"},
        {"example.com/gpu": "2"},
        ['{}.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
    ),
    "and has a limit": (
        {"example.com/gpu": "1"},
        {},
        ["{}.limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    "so have pages": (
        {"hugepages-2Mi": "4Mi", "cpu": "1"},
        {},
        ["{}.limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    "a plain word is none": (
        {},
        {"gpu": "1"},
        [
            f'{{}}.limits[gpu]: Invalid value: "gpu": {NOT_STANDARD}',
            f'{{}}.limits[gpu]: Invalid value: "gpu": {NOT_FOR_CONTAINERS}',
            f'{{}}.requests[gpu]: Invalid value: "gpu": {NOT_STANDARD}',
            f'{{}}.requests[gpu]: Invalid value: "gpu": {NOT_FOR_CONTAINERS}',
        ],
    ),
}


@pytest.mark.parametrize(("requests", "limits", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources(requests: Doc, limits: Doc, expected: list[str]) -> None:
    resources = {"requests": requests, "limits": limits}
    told = [text.replace("{}", f"{AT}.resources") for text in expected]
    assert complaints(a_container(resources=resources)) == told


def test_the_name_of_a_resource_is_qualified() -> None:
    given = complaints(a_container(resources={"requests": {"not a key": "1"}}))
    assert given[0] == (f'{AT}.resources.requests[not a key]: Invalid value: "not a key": {NO_KEY}')


NOT_FIRST = "Forbidden: may not be set for init containers without restartPolicy=Always"
INITIAL: dict[str, tuple[Doc, list[str]]] = {
    "one that runs to its end": ({}, []),
    "is not probed": (
        {"livenessProbe": TRUE, "readinessProbe": TRUE, "startupProbe": TRUE},
        [
            f"spec.initContainers[0].livenessProbe: {NOT_FIRST}",
            f"spec.initContainers[0].readinessProbe: {NOT_FIRST}",
            f"spec.initContainers[0].startupProbe: {NOT_FIRST}",
        ],
    ),
    "has no hooks": (
        {"lifecycle": {"preStop": TRUE}},
        [f"spec.initContainers[0].lifecycle: {NOT_FIRST}"],
    ),
    "a sidecar has all that": (
        {"restartPolicy": "Always", "livenessProbe": TRUE, "lifecycle": {"preStop": TRUE}},
        [],
    ),
    "but good ones": (
        {"restartPolicy": "Always", "livenessProbe": {}},
        ["spec.initContainers[0].livenessProbe: Required value: must specify a handler type"],
    ),
    "it is restarted in a known way": (
        {"restartPolicy": "Maybe"},
        [
            'spec.initContainers[0].restartPolicy: Unsupported value: "Maybe": '
            'supported values: "Always", "Never", "OnFailure"'
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), INITIAL.values(), ids=INITIAL)
def test_containers_that_run_first(fields: Doc, expected: list[str]) -> None:
    assert complaints(initContainers=[a_container(name="i", **fields)]) == expected


def test_a_regular_container_is_restarted_in_a_known_way() -> None:
    assert complaints(a_container(restartPolicy="Never")) == []
    assert complaints(a_container(restartPolicy="Maybe")) == [
        f'{AT}.restartPolicy: Unsupported value: "Maybe": '
        'supported values: "Always", "Never", "OnFailure"'
    ]


CANNOT = "Forbidden: cannot be set for an Ephemeral Container"
E = "spec.ephemeralContainers[0]"
DEBUGGERS: dict[str, tuple[Doc, list[str]]] = {
    "one for debugging": ({}, []),
    "of another": ({"targetContainerName": "c"}, []),
    "that exists": (
        {"targetContainerName": "zz"},
        [f'{E}.targetContainerName: Not found: "zz"'],
    ),
    "under a name of its own": ({"name": "c"}, [f'{E}.name: Duplicate value: "c"']),
    "that serves nobody": ({"ports": [port()]}, [f"{E}.ports: {CANNOT}"]),
    "takes nothing": (
        {"resources": {"limits": {"cpu": "1"}}},
        [f"{E}.resources: {CANNOT}"],
    ),
    "and is not probed": ({"livenessProbe": TRUE}, [f"{E}.livenessProbe: {CANNOT}"]),
    "it mounts whole volumes": (
        {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}]},
        [f"{E}.volumeMounts[0].subPath: {CANNOT}"],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), DEBUGGERS.values(), ids=DEBUGGERS)
def test_containers_for_debugging(fields: Doc, expected: list[str]) -> None:
    pod = stored(volumes=[{"name": "v"}])
    debugger = {"name": "debug", "image": "busybox", **fields}
    changed = merged(pod, {"spec": {"ephemeralContainers": [debugger]}})
    POD.defaults(changed)
    assert [str(error) for error in POD.validate(changed)] == expected
