"""A node that filters everybody's system calls, and allows more settings of the kernel."""

from collections.abc import Iterator

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import Pods, a_script

SECCOMP = "grep ^Seccomp: /proc/self/status"
FLAGS = ("--seccomp-default", "--allowed-unsafe-sysctls", "kernel.msg*, fs.mqueue.*")


@pytest.fixture
def server(
    needs_runtime: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerWithNode]:
    with server_with_node(tmp_path_factory.mktemp("strict") / "data", *FLAGS) as running:
        yield running


def test_a_node_may_filter_everybody_and_allow_more_settings(kubectl: Kubectl) -> None:
    pods = Pods(kubectl)
    unsafe = {"sysctls": [{"name": "kernel.msgmax", "value": "12345"}]}
    reading = "cat /proc/sys/kernel/msgmax"
    pods.create(
        a_script("plain", SECCOMP, restartPolicy="Never"),
        a_script("set", reading, restartPolicy="Never", securityContext=unsafe),
    )
    for name in ("plain", "set"):
        pods.ends(name)
    assert pods.logs("plain").split() == ["Seccomp:", "2"]
    assert pods.logs("set") == "12345"
