"""What the containers of a pod use of the node's own disk: their layers, and their logs.

As of the kubelet, only containers that run count, each with the logs of all its attempts.
"""

import asyncio
import errno
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import KernelRefused, MooringError
from mooring.host import usage
from mooring.host.blocking import in_thread, within_own
from mooring.model.pod import Pod
from mooring.model.tree_usage import NOTHING, TreeUsage
from mooring.node.pods.paths import PodPaths
from mooring.oci.contract import Containers, Found, State

_log = log.get("mooring.node.pods")


class ContainerStorage(msgspec.Struct, frozen=True):
    name: str
    created_at: datetime
    layer: TreeUsage
    logs: TreeUsage

    @property
    def used(self) -> TreeUsage:
        return self.layer + self.logs


class PodStorage(msgspec.Struct, frozen=True):
    """A container that cannot be measured is left out."""

    containers: tuple[ContainerStorage, ...] = ()
    hosts: TreeUsage = NOTHING  # its /etc/hosts


NO_STORAGE = PodStorage()


async def measure(pod: Pod, containers: Containers, paths: PodPaths) -> PodStorage:
    """A pod of which nothing runs uses nothing. Raises: HostError."""
    own = [one for one in containers.list() if one.owner.pod_uid == pod.uid]
    running = [one for one in own if one.state is State.RUNNING]
    if not running:
        return NO_STORAGE
    found = await asyncio.gather(*(_measure(one, containers) for one in running))
    with within_own(f"usage/{pod.uid}"):
        hosts = await in_thread(usage.of_one_file, paths.hosts(pod))
    return PodStorage(tuple(_known(found)), hosts)


async def _measure(one: Found, containers: Containers) -> ContainerStorage | None:
    owner = one.owner
    try:
        layer = await containers.written(one.id)
        with within_own(f"usage/{owner.pod_uid}/{owner.container}/logs"):
            logs = await in_thread(_of_logs, one.log_path.parent)
    except MooringError as error:
        _log.warning(
            "the storage of a container cannot be measured",
            pod=f"{owner.namespace}/{owner.pod}",
            container=owner.container,
            because=error,
        )
        return None
    return ContainerStorage(owner.container, one.created_at, layer, logs)


def _known(found: Iterable[ContainerStorage | None]) -> Iterable[ContainerStorage]:
    return (one for one in found if one is not None)


def _of_logs(directory: Path) -> TreeUsage:
    try:
        return usage.of_tree(directory)
    except KernelRefused as refused:
        if refused.errno != errno.ENOENT:
            raise
        return NOTHING
