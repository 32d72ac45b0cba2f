import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints

RANGE = "must be between 0 and 2147483647, inclusive"
P = "spec.securityContext"
POD: dict[str, tuple[Doc, list[str]]] = {
    "as anybody": ({"runAsUser": 1000, "runAsGroup": 0, "fsGroup": 2147483647}, []),
    "not as nobody there is": (
        {"runAsUser": -1, "runAsGroup": 2147483648, "fsGroup": -2},
        [
            f"{P}.fsGroup: Invalid value: -2: {RANGE}",
            f"{P}.runAsUser: Invalid value: -1: {RANGE}",
            f"{P}.runAsGroup: Invalid value: 2147483648: {RANGE}",
        ],
    ),
    "in groups that there are": (
        {"supplementalGroups": [1, -1]},
        [f"{P}.supplementalGroups[1]: Invalid value: -1: {RANGE}"],
    ),
    "files change hands in a known way": (
        {"fsGroupChangePolicy": "Never"},
        [
            f'{P}.fsGroupChangePolicy: Unsupported value: "Never": '
            'supported values: "Always", "OnRootMismatch"'
        ],
    ),
    "labels change in a known way": (
        {"seLinuxChangePolicy": "Never"},
        [
            f'{P}.seLinuxChangePolicy: Unsupported value: "Never": '
            'supported values: "MountOption", "Recursive"'
        ],
    ),
    "settings of the kernel have a name": (
        {"sysctls": [{"value": "1"}]},
        [f"{P}.sysctls[0].name: Required value"],
    ),
    "that the kernel may know": (
        {"sysctls": [{"name": "a b"}]},
        [
            f'{P}.sysctls[0].name: Invalid value: "a b": must have at most 253 characters and '
            "match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
        ],
    ),
    "once": (
        {"sysctls": [{"name": "net.core/x"}, {"name": "net.core/x"}]},
        [f'{P}.sysctls[1].name: Duplicate value: "net.core/x"'],
    ),
    "groups join in a known way": (
        {"supplementalGroupsPolicy": "Never"},
        [
            f'{P}.supplementalGroupsPolicy: Unsupported value: "Never": '
            'supported values: "Merge", "Strict"'
        ],
    ),
}


@pytest.mark.parametrize(("context", "expected"), POD.values(), ids=POD)
def test_pods(context: Doc, expected: list[str]) -> None:
    assert complaints(securityContext=context) == expected


SECCOMP: dict[str, tuple[Doc, list[str]]] = {
    "the runtime's own profile": ({"type": "RuntimeDefault"}, []),
    "a local one": ({"type": "Localhost", "localhostProfile": "a/b.json"}, []),
    "is named": (
        {"type": "Localhost"},
        ["{}.localhostProfile: Required value: must be set when seccomp type is Localhost"],
    ),
    "and below the directory of profiles": (
        {"type": "Localhost", "localhostProfile": "../b.json"},
        ["{}.localhostProfile: Invalid value: \"../b.json\": must not contain '..'"],
    ),
    "only a local one is named": (
        {"type": "Unconfined", "localhostProfile": "x"},
        [
            '{}.localhostProfile: Invalid value: {"type":"Unconfined","localhostProfile":"x"}: '
            "can only be set when seccomp type is Localhost"
        ],
    ),
    "a type is required": (
        {},
        ["{}.type: Required value: type is required when seccompProfile is set"],
    ),
    "one of three": (
        {"type": "Mine"},
        [
            '{}.type: Unsupported value: "Mine": '
            'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
        ],
    ),
}


@pytest.mark.parametrize(("profile", "expected"), SECCOMP.values(), ids=SECCOMP)
def test_profiles_of_pods_and_containers(profile: Doc, expected: list[str]) -> None:
    context = {"seccompProfile": profile}
    at = f"{P}.seccompProfile"
    assert complaints(securityContext=context) == [text.replace("{}", at) for text in expected]
    at = "spec.containers[0].securityContext.seccompProfile"
    given = complaints(a_container(securityContext=context))
    assert given == [text.replace("{}", at) for text in expected]


C = "spec.containers[0].securityContext"
CONTAINERS: dict[str, tuple[Doc, list[str]]] = {
    "all-powerful": ({"privileged": True}, []),
    "as somebody": ({"runAsUser": -1}, [f"{C}.runAsUser: Invalid value: -1: {RANGE}"]),
    "never gaining power is not being all-powerful": (
        {"privileged": True, "allowPrivilegeEscalation": False},
        [
            f'{C}: Invalid value: {{"privileged":true,"allowPrivilegeEscalation":false}}: '
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        ],
    ),
    "nor an administrator": (
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        [
            f'{C}: Invalid value: {{"allowPrivilegeEscalation":false,'
            '"capabilities":{"add":["CAP_SYS_ADMIN"]}}: '
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        ],
    ),
    "an administrator may gain power": ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, []),
}


@pytest.mark.parametrize(("context", "expected"), CONTAINERS.values(), ids=CONTAINERS)
def test_containers(context: Doc, expected: list[str]) -> None:
    assert complaints(a_container(securityContext=context)) == expected
