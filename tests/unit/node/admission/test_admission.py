"""Which pods a node turns away, with which words."""

from typing import Any

import msgspec
import pytest

from mooring.errors import UsageError
from mooring.model.pod import Pod
from mooring.node.admission import apparmor
from mooring.node.admission.decide import Rejection, Rules, find_rejection, remarks
from mooring.node.admission.sysctls import allowed, plain

LINUX = Rules()
ARMOURED = Rules(has_app_armor=True)
LABELLED = Rules(has_selinux=True)


def a_pod(annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    doc = {
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main"}], **spec},
    }
    return msgspec.convert(doc, Pod)


def with_settings(*names: str, **spec: Any) -> Pod:
    settings = [{"name": name, "value": "1"} for name in names]
    return a_pod(securityContext={"sysctls": settings}, **spec)


def armoured(kind: str, name: str | None = None) -> dict[str, Any]:
    return {"appArmorProfile": {"type": kind, "localhostProfile": name}}


NET = 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled'
CASES = {
    "a pod that asks for nothing is welcome": (a_pod(), LINUX, None),
    "one for Linux too": (a_pod(os={"name": "linux"}), LINUX, None),
    "one for Windows is not": (
        a_pod(os={"name": "windows"}),
        LINUX,
        Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
    ),
    "a safe setting of its own shared memory": (
        with_settings("kernel.shm_rmid_forced"),
        LINUX,
        None,
    ),
    "but not when that is the host's": (
        with_settings("kernel.shm_rmid_forced", hostIPC=True),
        LINUX,
        Rejection(
            "SysctlForbidden",
            'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
        ),
    ),
    "no setting of the network, which is the host's, be it safe": (
        with_settings("net.ipv4.tcp_syncookies"),
        LINUX,
        Rejection("SysctlForbidden", NET),
    ),
    "nor one that the node allows": (
        with_settings("net.core.somaxconn"),
        Rules(allowed(["net.*"])),
        Rejection(
            "SysctlForbidden",
            'forbidden sysctl: "net.core.somaxconn" not allowed with host Net enabled',
        ),
    ),
    "no unsafe setting": (
        with_settings("kernel.shm_rmid_forced", "kernel.msgmax"),
        LINUX,
        Rejection("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted'),
    ),
    "unless the node allows it by name": (
        with_settings("kernel.msgmax"),
        Rules(allowed(["kernel.msgmax"])),
        None,
    ),
    "or by its beginning": (
        with_settings("kernel/msgmax", "fs.mqueue.msg_max"),
        Rules(allowed(["kernel.msg*", "fs/mqueue/*"])),
        None,
    ),
    "a pattern reaches no setting of the whole machine": (
        with_settings("kernel.shmoo"),
        Rules(allowed(["kernel.shm*"])),
        Rejection("SysctlForbidden", 'forbidden sysctl: "kernel.shmoo" not allowlisted'),
    ),
    "a profile of AppArmor where there is none": (
        a_pod(securityContext=armoured("Localhost", "mine")),
        LINUX,
        Rejection("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"),
    ),
    "of one container": (
        a_pod(containers=[{"name": "main", "securityContext": armoured("RuntimeDefault")}]),
        LINUX,
        Rejection("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"),
    ),
    "by the old annotation": (
        a_pod({"container.apparmor.security.beta.kubernetes.io/main": "localhost/mine"}),
        LINUX,
        Rejection("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"),
    ),
    "none at all is no wish": (a_pod(securityContext=armoured("Unconfined")), LINUX, None),
    "a loaded profile by its name": (
        a_pod(securityContext=armoured("Localhost", "mine")),
        ARMOURED,
        None,
    ),
    "a default profile that does not exist": (
        a_pod(securityContext=armoured("RuntimeDefault")),
        ARMOURED,
        Rejection(
            "AppArmor",
            "Cannot enforce AppArmor: this node has no default profile; "
            "load one and name it with the type Localhost",
        ),
    ),
    "a label where labels count": (
        a_pod(securityContext={"seLinuxOptions": {"level": "s0"}}),
        LABELLED,
        Rejection("SELinux", "Cannot set SELinux labels: this node gives containers none"),
    ),
    "devices by claim": (
        a_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
        LINUX,
        Rejection(
            "PodFeatureUnsupported",
            "resource claims cannot be had: this node allocates no devices",
        ),
    ),
}


@pytest.mark.parametrize(("pod", "rules", "expected"), CASES.values(), ids=CASES)
def test_admission(pod: Pod, rules: Rules, expected: Rejection | None) -> None:
    assert find_rejection(pod, rules) == expected


REMARKS = {
    "nothing to remark": (a_pod(), LINUX, []),
    "a label where labels mean nothing": (
        a_pod(
            containers=[{"name": "main", "securityContext": {"seLinuxOptions": {"type": "x_t"}}}]
        ),
        LINUX,
        ["seLinuxOptions have no effect: SELinux is not enabled on the host"],
    ),
    "ports that nobody maps": (
        a_pod(containers=[{"name": "main", "ports": [{"containerPort": 80, "hostPort": 81}]}]),
        LINUX,
        [
            "hostIP, and a hostPort other than the containerPort, have no effect: containers "
            "listen on the addresses of the node themselves"
        ],
    ),
    "ports that need not be mapped": (
        a_pod(containers=[{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]),
        LINUX,
        [],
    ),
    "limits that nobody enforces": (
        a_pod(
            resources={"limits": {"memory": "1Gi"}},
            containers=[
                {"name": "a", "resources": {"limits": {"ephemeral-storage": "1Gi"}}},
                {"name": "b", "resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}},
            ],
        ),
        LINUX,
        [
            "the limits of the pod as a whole are those of each of its containers: "
            "together they may use more",
            "limits of hugepages-2Mi have no effect: this node does not enforce them",
        ],
    ),
    "what is for Windows": (
        a_pod(
            containers=[
                {"name": "main", "securityContext": {"windowsOptions": {"runAsUserName": "me"}}}
            ]
        ),
        LINUX,
        ["windowsOptions have no effect: the node runs Linux"],
    ),
}


@pytest.mark.parametrize(("pod", "rules", "expected"), REMARKS.values(), ids=REMARKS)
def test_remarks(pod: Pod, rules: Rules, expected: list[str]) -> None:
    assert list(remarks(pod, rules)) == expected


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("kernel.*", "is not known to be namespaced"),
        ("vm.swappiness", "is not known to be namespaced"),
        ("user.max_user_namespaces", "is not known to be namespaced"),
        ("*", "is not known to be namespaced"),
        ("Kernel.Shmmax", "is neither a sysctl nor the beginning of some"),
        ("kernel.shm*max", "is neither a sysctl nor the beginning of some"),
        ("k" * 300, "is neither a sysctl nor the beginning of some"),
    ],
)
def test_what_a_node_cannot_allow_stops_it_at_once(word: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        allowed([word])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kernel.shmmax", "kernel.shmmax"),
        ("kernel/shmmax", "kernel.shmmax"),
        ("net/ipv4/conf/eno2.100/rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
        ("net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
    ],
)
def test_the_two_ways_to_write_a_setting(name: str, expected: str) -> None:
    assert plain(name) == expected


def test_a_containers_own_profile_wins_over_the_pods() -> None:
    own = {"name": "main", "securityContext": armoured("Localhost", "own")}
    pod = a_pod(containers=[own], securityContext=armoured("Localhost", "pod"))
    found = apparmor.wanted(pod, pod.spec.containers[0])
    assert found is not None
    assert found.localhost_profile == "own"
