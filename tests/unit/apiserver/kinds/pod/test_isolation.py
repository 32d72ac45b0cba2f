"""What of a pod does not go together."""

from typing import Any

import pytest

from mooring.apiserver.kinds.pod.isolation import validate_isolation
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints

C = "spec.containers[0]"
USERS = "Forbidden: when `hostUsers` is false"
WINDOWS = "Forbidden: cannot be set for a windows pod"


def secured(**context: Any) -> Doc:
    return a_container(securityContext=context)


CASES: dict[str, tuple[Doc, dict[str, Any], list[str]]] = {
    "users of its own": (a_container(), {"hostUsers": False}, []),
    "users of its own in the host's namespaces": (
        a_container(),
        {"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True},
        [f"spec.hostNetwork: {USERS}", f"spec.HostPID: {USERS}", f"spec.HostIPC: {USERS}"],
    ),
    "the host's users there": (a_container(), {"hostUsers": True, "hostPID": True}, []),
    "devices for users of its own": (
        a_container(volumeDevices=[{"name": "disk", "devicePath": "/dev/x"}]),
        {
            "hostUsers": False,
            "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "c"}}],
        },
        [f"{C}.volumeDevices: {USERS}"],
    ),
    "the whole of proc for the host's users": (
        secured(procMount="Unmasked"),
        {},
        [
            f'{C}.securityContext.procMount: Invalid value: "Unmasked": '
            "`hostUsers` must be false to use `Unmasked`"
        ],
    ),
    "the whole of proc for its own": (secured(procMount="Unmasked"), {"hostUsers": False}, []),
    "settings of what is the host's": (
        a_container(),
        {
            "hostNetwork": True,
            "hostIPC": True,
            "securityContext": {
                "sysctls": [
                    {"name": "net.core.somaxconn", "value": "1"},
                    {"name": "kernel/shmmax", "value": "1"},
                ]
            },
        },
        [
            'spec.securityContext.sysctls[0].name: Invalid value: "net.core.somaxconn": '
            "may not be specified when 'hostNetwork' is true",
            'spec.securityContext.sysctls[1].name: Invalid value: "kernel/shmmax": '
            "may not be specified when 'hostIPC' is true",
        ],
    ),
    "processes shared twice": (
        a_container(),
        {"hostPID": True, "shareProcessNamespace": True},
        [
            "spec.shareProcessNamespace: Invalid value: true: "
            "ShareProcessNamespace and HostPID cannot both be enabled"
        ],
    ),
    "a profile of AppArmor": (
        secured(appArmorProfile={"type": "Localhost", "localhostProfile": "mine"}),
        {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}},
        [],
    ),
    "profiles of AppArmor that are none": (
        secured(appArmorProfile={"type": "Localhost", "localhostProfile": " x"}),
        {"securityContext": {"appArmorProfile": {"type": "Odd"}}},
        [
            'spec.securityContext.appArmorProfile.type: Unsupported value: "Odd": '
            'supported values: "Localhost", "RuntimeDefault", "Unconfined"',
            f'{C}.securityContext.appArmorProfile.localhostProfile: Invalid value: " x": '
            "must not be padded with whitespace",
        ],
    ),
    "a profile with no name, and a name with no profile": (
        secured(appArmorProfile={"type": "Localhost"}),
        {
            "securityContext": {
                "appArmorProfile": {"type": "Unconfined", "localhostProfile": "mine"}
            }
        },
        [
            "spec.securityContext.appArmorProfile.localhostProfile: "
            'Invalid value: "mine": can only be set when AppArmor type is Localhost',
            f"{C}.securityContext.appArmorProfile.localhostProfile: Required value: "
            "must be set when AppArmor type is Localhost",
        ],
    ),
    "rules of restarting": (
        a_container(
            restartPolicy="Never",
            restartPolicyRules=[
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
            ],
        ),
        {},
        [],
    ),
    "rules of restarting that are none": (
        a_container(
            restartPolicyRules=[
                {"action": "Odd", "exitCodes": {"operator": "Odd", "values": list(range(256))}},
                {"action": "Restart"},
            ]
        ),
        {},
        [
            f"{C}.restartPolicy: Required value: "
            "must specify restartPolicy when restart rules are used",
            f'{C}.restartPolicyRules[0].action: Unsupported value: "Odd": '
            'supported values: "Restart"',
            f'{C}.restartPolicyRules[0].exitCodes.operator: Unsupported value: "Odd": '
            'supported values: "In", "NotIn"',
            f"{C}.restartPolicyRules[0].exitCodes.values: Too many: 256: "
            "must have at most 255 items",
            f"{C}.restartPolicyRules[1].exitCodes: Required value: must be specified",
        ],
    ),
    "a name over all others": (a_container(), {"hostnameOverride": "a.b"}, []),
    "a name over all others that is none": (
        a_container(),
        {"hostnameOverride": "a" * 65, "setHostnameAsFQDN": True},
        [
            "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
            "spec.hostnameOverride: Too long: may not be more than 64 bytes",
        ],
    ),
    "what is for Windows in a pod for Linux": (
        secured(windowsOptions={}),
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
        [
            "spec.securityContext.windowsOptions: "
            "Forbidden: windows options cannot be set for a linux pod",
            f"{C}.securityContext.windowsOptions: "
            "Forbidden: windows options cannot be set for a linux pod",
        ],
    ),
    "what is for Linux in a pod for Windows": (
        secured(privileged=False, runAsUser=1),
        {"os": {"name": "windows"}, "hostUsers": True, "securityContext": {"fsGroup": 1}},
        [
            f"spec.securityContext.fsGroup: {WINDOWS}",
            f"spec.hostUsers: {WINDOWS}",
            f"{C}.securityContext.privileged: {WINDOWS}",
            f"{C}.securityContext.runAsUser: {WINDOWS}",
        ],
    ),
}


@pytest.mark.parametrize(("container", "spec", "expected"), CASES.values(), ids=CASES)
def test_isolation(container: Doc, spec: dict[str, Any], expected: list[str]) -> None:
    assert complaints(container, **spec) == expected


def test_a_profile_by_annotation_is_of_a_container() -> None:
    prefix = "container.apparmor.security.beta.kubernetes.io"
    annotations = {f"{prefix}/c": "localhost/mine", f"{prefix}/d": "odd", "other": "odd"}
    doc = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}
    assert [str(error) for error in validate_isolation(doc)] == [
        f'metadata.annotations[{prefix}/d]: Invalid value: "d": container not found',
        f'metadata.annotations[{prefix}/d]: Invalid value: "odd": '
        'invalid AppArmor profile name: "odd"',
    ]
