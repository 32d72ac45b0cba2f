"""What pods ask of the kernel for their own safety: they get it, or are told why not."""

import os
import signal
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.event import Event
from mooring.model.pod import Pod
from mooring.node.admission.decide import Rules
from mooring.node.admission.sysctls import allowed
from mooring.node.pods.user_ranges import USERS_NOTE
from tests.fakes.waiting import until
from tests.host.containers import World, logged
from tests.host.pods import PodNode

pytestmark = pytest.mark.usefixtures("needs_root")

SECCOMP = "while read a b; do [ $a = Seccomp: ] && echo $b; done < /proc/self/status; true"


@pytest.fixture
def node(world: World) -> PodNode:
    return PodNode(world)


async def said(node: PodNode, script: str, **spec: Any) -> str:
    """What a pod's only container says until it ends well."""
    async with node.running():
        node.create(script, restartPolicy="Never", **spec)
        await until(lambda: node.pod.is_finished)
        (found,) = node.world.containers.list()
        words = logged(found.log_path) + logged(found.log_path, "stderr")
        assert node.pod.status.phase == "Succeeded", words
        node.delete(grace=0)
        await node.is_gone()
    return words


def _events(node: PodNode) -> Sequence[Event]:
    return node.server.list(Event).items


async def rejected(node: PodNode, **spec: Any) -> Pod:
    async with node.running():
        node.create("exit 0", restartPolicy="Never", **spec)
        pod = await node.reaches("Failed")
        assert node.world.containers.list() == ()
        await until(lambda: pod.status.reason in {event.reason for event in _events(node)})
        node.delete(grace=0)
        await node.is_gone()
    return pod


async def test_a_container_that_asks_for_nothing_is_not_filtered(node: PodNode) -> None:
    assert await said(node, SECCOMP) == "0\n"


async def test_the_default_profile_filters_what_a_container_calls(node: PodNode) -> None:
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    assert await said(node, SECCOMP, securityContext=profile) == "2\n"


async def test_a_container_in_users_of_its_own_is_nobody_on_the_host(node: PodNode) -> None:
    words = await said(node, "id -u; cat /proc/self/uid_map", hostUsers=False)
    number, first, length = words.split()[1:]
    assert (number, length) == ("0", "65536")
    assert int(first) % 65536 == 0
    assert int(first) > 0


NO_NEW = "while read a b; do [ $a = NoNewPrivs: ] && echo $b; done < /proc/self/status; true"
BOUND = "while read a b; do [ $a = CapBnd: ] && echo $b; done < /proc/self/status; true"
CONTEXTS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "may gain privileges unless told otherwise": ({}, {}, NO_NEW, "0\n"),
    "may not gain privileges": ({}, {"allowPrivilegeEscalation": False}, NO_NEW, "1\n"),
    "has no capabilities but one": (
        {},
        {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        BOUND,
        "0000000000000400\n",
    ),
    "cannot write to its root": (
        {},
        {"readOnlyRootFilesystem": True},
        "touch /x 2>/dev/null || echo refused",
        "refused\n",
    ),
    "runs as the pod's user, in its groups": (
        {"runAsUser": 7, "runAsGroup": 8, "supplementalGroups": [12], "fsGroup": 13},
        {},
        "id -u; id -G",
        "7\n8 9 12 13\n",
    ),
    "is in no group of its image's": (
        {
            "runAsUser": 7,
            "runAsGroup": 8,
            "supplementalGroups": [12],
            "supplementalGroupsPolicy": "Strict",
        },
        {},
        "id -G",
        "8 12\n",
    ),
    "runs as its own user rather": ({"runAsUser": 7}, {"runAsUser": 1000}, "id -u", "1000\n"),
}


@pytest.mark.parametrize("own_users", [False, True], ids=["hosts-users", "own-users"])
@pytest.mark.parametrize(("of_pod", "own", "script", "words"), CONTEXTS.values(), ids=CONTEXTS)
async def test_a_container(
    node: PodNode,
    of_pod: dict[str, Any],
    own: dict[str, Any],
    script: str,
    words: str,
    own_users: bool,  # noqa: FBT001  a column
) -> None:
    container = {
        "name": "main",
        "image": "little",
        "command": ["/bin/sh", "-c", script],
        "securityContext": own,
    }
    spec = {"securityContext": of_pod, "containers": [container], "hostUsers": not own_users}
    assert await said(node, script, **spec) == words


async def test_a_setting_of_the_network_is_forbidden(node: PodNode) -> None:
    setting = {"name": "net.ipv4.tcp_syncookies", "value": "0"}
    pod = await rejected(node, securityContext={"sysctls": [setting]})
    assert pod.status.reason == "SysctlForbidden"
    assert pod.status.message == (
        'Pod was rejected: forbidden sysctl: "net.ipv4.tcp_syncookies" '
        "not allowed with host Net enabled"
    )


async def test_a_setting_of_its_own_shared_memory_is_made(node: PodNode) -> None:
    setting = {"name": "kernel.shm_rmid_forced", "value": "1"}
    words = await said(
        node, "cat /proc/sys/kernel/shm_rmid_forced", securityContext={"sysctls": [setting]}
    )
    assert words == "1\n"


async def test_a_setting_that_nobody_allowed_is_forbidden(node: PodNode) -> None:
    setting = {"name": "kernel.msgmax", "value": "65536"}
    pod = await rejected(node, securityContext={"sysctls": [setting]})
    assert (pod.status.reason, pod.status.message) == (
        "SysctlForbidden",
        'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted',
    )


async def test_a_setting_that_the_node_allows_is_made(node: PodNode) -> None:
    node.rules = Rules(allowed(("kernel.msg*",)))
    setting = {"name": "kernel/msgmax", "value": "65536"}
    script = "cat /proc/sys/kernel/msgmax"
    assert await said(node, script, securityContext={"sysctls": [setting]}) == "65536\n"


async def test_a_profile_of_apparmor_is_refused_where_there_is_none(node: PodNode) -> None:
    pod = await rejected(node, securityContext={"appArmorProfile": {"type": "RuntimeDefault"}})
    assert (pod.status.reason, pod.status.message) == (
        "AppArmor",
        "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host",
    )


async def test_a_node_may_give_everybody_the_default_profile(node: PodNode) -> None:
    node.settings = replace(node.settings, seccomp_default=True)
    assert await said(node, SECCOMP) == "2\n"
    profile = {"seccompProfile": {"type": "Unconfined"}}
    assert await said(node, SECCOMP, securityContext=profile) == "0\n"


async def test_a_missing_profile_keeps_a_container_waiting(node: PodNode) -> None:
    profile = {"type": "Localhost", "localhostProfile": "none.json"}
    async with node.running():
        node.create("exit 0", securityContext={"seccompProfile": profile})
        await until(lambda: _waits(node.pod) == "CreateContainerError")
        path = node.root / "seccomp/none.json"
        said = node.pod.status.container_statuses[0].state.waiting
        assert said is not None
        assert said.message.startswith(f'cannot load seccomp profile "{path}": open ')
        node.delete(grace=0)
        await node.is_gone()


def _waits(pod: Pod) -> str:
    states = [one.state.waiting for one in pod.status.container_statuses]
    return states[0].reason if states and states[0] is not None else ""


async def test_volumes_of_a_pod_with_users_of_its_own_are_its_own(node: PodNode) -> None:
    words = await said(
        node,
        "id -u; id -G; touch /data/x && [ -O /data/x ] && echo mine; "
        "echo end > /dev/termination-log; cat /etc/hostname",
        hostUsers=False,
        securityContext={"runAsUser": 1000, "fsGroup": 1234},
    )
    assert words == "1000\n0 1234\nmine\nweb\n"


async def test_a_pod_keeps_its_users_over_a_restart_of_the_node(node: PodNode) -> None:
    script = "trap 'exit 1' TERM; cat /proc/self/uid_map; echo up; sleep 1000 & wait"
    async with node.running():
        node.create(script, hostUsers=False)
        await node.says("up")
    (before,) = node.world.containers.list()
    await node.world.stop()
    async with node.world.running(), node.running():
        os.kill(before.pid, signal.SIGKILL)
        await until(lambda: node.pod.status.container_statuses[0].restart_count == 1)
        ranges = {one.notes[USERS_NOTE] for one in node.world.containers.list()}
        assert ranges == {before.notes[USERS_NOTE]}
        node.delete(grace=0)
        await node.is_gone()


async def test_what_has_no_effect_is_said(node: PodNode) -> None:
    options = {"seLinuxOptions": {"level": "s0:c1,c2"}, "windowsOptions": {"hostProcess": False}}
    ignored = {
        "seLinuxOptions have no effect: SELinux is not enabled on the host",
        "windowsOptions have no effect: the node runs Linux",
    }
    async with node.running():
        node.create("exit 0", restartPolicy="Never", securityContext=options)
        await node.reaches("Succeeded")
        await until(
            lambda: (
                ignored == {each.message for each in _events(node) if each.reason == "FieldIgnored"}
            )
        )
        node.delete(grace=0)
        await node.is_gone()


async def test_a_pod_for_another_system_is_rejected(node: PodNode) -> None:
    pod = await rejected(node, os={"name": "windows"})
    assert pod.status.reason == "PodOSNotSupported"
