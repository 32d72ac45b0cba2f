"""Limits of ephemeral storage on real containers, also on those that would mislead who counts."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mooring.host.mount import Mounts
from mooring.model.pod import Pod
from mooring.node.pods.storage import ContainerStorage
from tests.fakes.waiting import until
from tests.host.containers import World
from tests.host.disks import MIB
from tests.host.pods import PodNode

pytestmark = pytest.mark.usefixtures("needs_root")

REST = "trap 'exit 0' TERM; echo up; sleep 1000 & wait"
OF_POD = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "


@pytest.fixture
def node(world: World) -> PodNode:
    return PodNode(world)


async def runs(node: PodNode, script: str, limit: str = "1Mi", **spec: Any) -> Pod:
    """A pod whose container may store so much, once its script has come to its end."""
    container = {
        "name": "main",
        "image": "little",
        "command": ["/bin/sh", "-c", f"{script}\n{REST}"],
        "resources": {"limits": {"ephemeral-storage": limit}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    pod = node.create("", containers=[container], **spec)
    await node.says("up")
    return pod


async def looked(node: PodNode) -> str:
    """The message of the pod's status after a look."""
    await node.evictions.look()
    return node.pod.status.message


async def measured(node: PodNode, pod: Pod) -> ContainerStorage:
    (found,) = (await node.storage(pod)).containers
    assert found.layer.is_whole
    return found


def upper(node: PodNode) -> Path:
    (found,) = node.world.containers.list()
    return node.root / "containers" / found.id / "upper"


def du(directory: Path) -> int:
    argv = ["du", "--summarize", "--one-file-system", "--block-size=1", str(directory)]
    shown = subprocess.run(argv, check=True, capture_output=True, text=True)  # noqa: S603  a test's own words
    return int(shown.stdout.split()[0])


async def test_who_writes_too_much_into_its_own_root_has_to_go(node: PodNode) -> None:
    async with node.running():
        pod = await runs(node, "dd if=/dev/zero of=/big bs=64k count=32")
        assert (await measured(node, pod)).layer.used_bytes >= 2 * MIB
        assert await looked(node) == OF_POD
        assert (node.pod.status.phase, node.pod.status.reason) == ("Failed", "Evicted")
        await until(lambda: not node.layout.pod(pod.uid).exists())
        node.delete(grace=0)
        await node.is_gone()


async def test_who_says_too_much_has_to_go_also_when_it_was_restarted(node: PodNode) -> None:
    async with node.running():
        script = 'x=0123456789abcdef; x="$x$x$x$x"; x="$x$x$x$x"; x="$x$x$x$x"; i=0\n'
        script += "[ -e /data/said ] || while [ $i -lt 1500 ]; do echo $x; i=$((i + 1)); done\n"
        pod = await runs(node, f"{script}touch /data/said")
        assert (await measured(node, pod)).logs.used_bytes >= MIB
        os.kill(node.world.containers.list()[0].pid, signal.SIGKILL)
        await until(lambda: node.pod.status.container_statuses[0].restart_count == 1)
        await until(lambda: node.pod.status.container_statuses[0].state.running is not None)
        assert await looked(node) == OF_POD
        node.delete(grace=0)
        await node.is_gone()


async def test_its_scratch_volumes_count_for_the_pod(node: PodNode) -> None:
    async with node.running():
        await runs(node, "dd if=/dev/zero of=/data/big bs=64k count=32")
        assert await looked(node) == OF_POD
        node.delete(grace=0)
        await node.is_gone()


MISLEADING = {
    "a link out of it": "ln -s {outside} /out; ln -s {outside}/big /bigger",
    "a hole": "dd if=/dev/zero of=/sparse bs=1 count=1 seek=100M",
    "a file of many names": (
        "dd if=/dev/zero of=/0 bs=1k count=256; for i in 1 2 3 4 5 6 7 8; do ln /0 /$i; done"
    ),
    "a deep tree": (
        "i=0; while [ $i -lt 100 ]; do mkdir 0123456789012345678901234567; "
        "cd 0123456789012345678901234567; i=$((i + 1)); done"
    ),
    "what it has removed": "dd if=/dev/zero of=/big bs=64k count=32; rm /big",
    "what the image holds": "rm /etc/passwd; mkdir /etc/passwd; touch /bin/sh",
}


@pytest.mark.parametrize("script", MISLEADING.values(), ids=MISLEADING)
async def test_what_it_does_not_store_does_not_count(
    node: PodNode, place: Path, script: str
) -> None:
    outside = place / "outside"
    outside.mkdir()
    (outside / "big").write_bytes(bytes(9 * MIB))
    async with node.running():
        pod = await runs(node, script.format(outside=outside))
        assert (await measured(node, pod)).layer.used_bytes == du(upper(node))
        assert await looked(node) == ""
        node.delete(grace=0)
        await node.is_gone()


@pytest.fixture
async def looped(node: PodNode) -> AsyncIterator[Path]:
    """Its own root is mounted once more inside it, and what is another's beside that."""
    async with node.running():
        await runs(node, "mkdir /loop /other; dd if=/dev/zero of=/own bs=1k count=600")
        top = upper(node)
        other = node.root / "other"
        other.mkdir()
        (other / "big").write_bytes(bytes(9 * MIB))
        mounts = Mounts()
        mounts.bind(top, top / "loop")
        mounts.bind(other, top / "other")
        try:
            yield top
        finally:
            mounts.unmount(top / "other")
            mounts.unmount(top / "loop")
            node.delete(grace=0)
            await node.is_gone()


async def test_what_is_mounted_inside_does_not_count(node: PodNode, looped: Path) -> None:
    found = await measured(node, node.pod)
    assert found.layer.used_bytes < MIB
    assert await looked(node) == ""


async def test_files_that_come_and_go_meanwhile(node: PodNode) -> None:
    async with node.running():
        script = "while true; do mkdir -p /a/b/c; touch /a/b/c/0 /a/b/1 /a/2; rm -r /a; done &"
        pod = await runs(node, script)
        for _ in range(200):
            assert (await measured(node, pod)).layer.used_bytes < MIB
        node.delete(grace=0)
        await node.is_gone()
