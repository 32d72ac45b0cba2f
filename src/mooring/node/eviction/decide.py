"""Does a pod use more of the node's disk than it may? Pure.

In the kubelet's order: emptyDirs with a `sizeLimit`, then the pod as a whole, then its containers.
Just as much as allowed is allowed. A critical pod stays, whatever it does.
"""

from collections.abc import Iterator
from itertools import chain

from mooring.model import quantity
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.model.pod_resources import EPHEMERAL_STORAGE, total_limit
from mooring.model.pod_volume import PodVolume
from mooring.node.eviction.view import Used

SYSTEM_CRITICAL = 2_000_000_000  # from this priority on, a pod is critical


def may_exceed(pod: Pod) -> bool:
    """Whether there is a limit for which the pod could have to go."""
    return not _is_critical(pod) and (_has_limited_volume(pod) or has_storage_limit(pod))


def has_storage_limit(pod: Pod) -> bool:
    """Whether any container says how much it may store; then the pod as a whole is limited."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return any(EPHEMERAL_STORAGE in each.resources.limits for each in containers)


def find_excess(pod: Pod, used: Used, *, with_sidecars: bool) -> str | None:
    """The eviction message, None when the pod is within its limits.

    `with_sidecars`: a limit of a sidecar counts for it alone, too.
    """
    if _is_critical(pod):
        return None
    excesses = chain(
        _of_volumes(pod, used),
        _of_pod(pod, used),
        _of_containers(pod, used, with_sidecars=with_sidecars),
    )
    return next(excesses, None)


def local_storage(pod: Pod, used: Used) -> int:
    """All that counts against the limit of the pod as a whole."""
    volumes = (used.volumes.get(each.name, 0) for each in pod.spec.volumes if _is_local(each))
    return sum(used.containers.values()) + sum(volumes) + used.hosts


def _is_critical(pod: Pod) -> bool:
    return pod.spec.priority >= SYSTEM_CRITICAL


def _has_limited_volume(pod: Pod) -> bool:
    sources = (volume.empty_dir for volume in pod.spec.volumes)
    return any(source is not None and source.size_limit is not None for source in sources)


def _is_local(volume: PodVolume) -> bool:
    """As of the kubelet: no secret, and nothing else that is kept in memory."""
    if volume.empty_dir is not None:
        return volume.empty_dir.medium == ""
    return volume.config_map is not None or volume.git_repo is not None


def _of_volumes(pod: Pod, used: Used) -> Iterator[str]:
    for volume in pod.spec.volumes:
        source = volume.empty_dir
        if source is None or source.size_limit is None:
            continue
        limit = quantity.parse(source.size_limit)
        if 0 < limit.value < used.volumes.get(volume.name, 0):
            yield f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{limit}". '


def _of_pod(pod: Pod, used: Used) -> Iterator[str]:
    """A pod of which nothing runs is not looked at, as of the kubelet."""
    if not used.containers or not has_storage_limit(pod):
        return
    limit = total_limit(pod, EPHEMERAL_STORAGE)
    if limit.value < local_storage(pod, used):
        yield f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "


def _of_containers(pod: Pod, used: Used, *, with_sidecars: bool) -> Iterator[str]:
    sidecars = (each for each in pod.spec.init_containers if each.is_sidecar)
    for container in (*pod.spec.containers, *(sidecars if with_sidecars else ())):
        limit = quantity.parse(_limit(container))
        if 0 < limit.value < used.containers.get(container.name, 0):
            yield (
                f'Container {container.name} exceeded its local ephemeral storage limit "{limit}". '
            )


def _limit(container: Container) -> str:
    return container.resources.limits.get(EPHEMERAL_STORAGE, "0")
