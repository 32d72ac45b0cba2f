"""What pods ask for their own safety, through a real kubectl: they get it, or are told why not."""

from typing import Any

import pytest

from tests.clients.csi import bare_claim
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_config_map, a_secret
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import IMAGE, Pods, a_script, mounting
from tests.fakes.waiting import until

SECCOMP = "grep ^Seccomp: /proc/self/status"
DEFAULT: Doc = {"seccompProfile": {"type": "RuntimeDefault"}}


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


def a_short_one(name: str, script: str, **spec: Any) -> Doc:
    return a_script(name, script, restartPolicy="Never", **spec)


def test_system_calls_are_filtered_for_those_who_ask(pods: Pods) -> None:
    pods.create(
        a_short_one("plain", SECCOMP),
        a_short_one("filtered", SECCOMP, securityContext=DEFAULT),
        a_short_one("one", SECCOMP, container={"securityContext": DEFAULT}),
    )
    for name, mode in (("plain", "0"), ("filtered", "2"), ("one", "2")):
        pods.ends(name)
        assert pods.logs(name).split() == ["Seccomp:", mode]


FACT: Doc = {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}
VOLUMES: list[Doc] = [
    {"name": "scratch", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory"}},
    {"name": "config", "configMap": {"name": "settings"}},
    {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o400}},
    {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
    {"name": "facts", "downwardAPI": {"items": [FACT]}},
]
PLACES = mounting(scratch="/a", memory="/b", config="/c", keys="/d", disk="/e", facts="/f")


def test_a_pod_with_users_of_its_own_has_all_its_volumes(pods: Pods) -> None:
    pods.ready(
        a_config_map("settings", colour="red"),
        a_secret("keys", password="swordfish"),
        bare_claim("disk"),
        a_script(
            "web",
            hostUsers=False,
            volumes=VOLUMES,
            securityContext={"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000},
            container=PLACES,
            automountServiceAccountToken=True,
        ),
    )
    first = int(pods.sh("web", "cat /proc/self/uid_map").split()[1])
    assert first >= 65536
    said = pods.sh(
        "web",
        "id -u; id -G; for at in /a /b /e; do echo mine > $at/file && stat -c '%u %g' $at/file; "
        "done; cat /c/colour /d/password /f/name; "
        "[ -s /var/run/secrets/kubernetes.io/serviceaccount/token ] && echo token",
    )
    assert said.split() == [
        *("1000", "1000", "2000"),
        *("1000", "2000") * 3,
        "redswordfishwebtoken",
    ]


def test_pods_with_users_of_their_own_are_strangers_to_each_other(pods: Pods) -> None:
    pods.ready(a_script("one", hostUsers=False), a_script("two", hostUsers=False))
    ranges = {pods.sh(name, "cat /proc/self/uid_map").split()[1] for name in ("one", "two")}
    assert len(ranges) == 2


def test_a_container_that_joins_sees_the_processes_of_such_a_pod(pods: Pods) -> None:
    pods.ready(a_script("web", hostUsers=False, shareProcessNamespace=True))
    wanted = ("debug", "web", f"--image={IMAGE}", "--target=main", "--container=debugger")
    pods.kubectl(*wanted, "--", "/bin/sh", "-c", "cat /proc/self/uid_map; readlink /proc/1/exe")
    pods.becomes("web", ".ephemeralContainerStatuses[0].state.terminated.exitCode", "0")
    said = pods.logs("web", "--container=debugger").splitlines()
    assert said[0].split() == pods.sh("web", "cat /proc/self/uid_map").split()
    assert said[1].endswith("sh")


REJECTED = {
    "a setting of the network": (
        {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "0"}]},
        "SysctlForbidden",
        'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    ),
    "an unsafe setting": (
        {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]},
        "SysctlForbidden",
        'forbidden sysctl: "kernel.msgmax" not allowlisted',
    ),
}


@pytest.mark.parametrize(("context", "reason", "why"), REJECTED.values(), ids=REJECTED)
async def test_what_the_node_cannot_give_is_told(
    pods: Pods, context: Doc, reason: str, why: str
) -> None:
    pods.create(a_short_one("web", "true", securityContext=context))
    pods.ends("web", "Failed")
    status = pods.kubectl.doc("pod", "web")["status"]
    assert (status["reason"], status["message"]) == (reason, f"Pod was rejected: {why}")
    told = ("get", "events", f"--field-selector=reason={reason}", "-o", "name")
    await until(lambda: bool(pods.kubectl(*told)))
