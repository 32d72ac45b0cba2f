"""The resources of a whole pod, computed from its containers as Kubernetes does.

Init containers run one after the other, before the others; sidecars (init containers that keep
running) add to all that start after them.
"""

from collections.abc import Iterator

from mooring.model import quantity
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.model.quantity import ZERO, Quantity

MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
HUGE_PAGES = "hugepages-"
_OF_WHOLE_PODS = ("cpu", MEMORY)  # and huge pages: allowed in a pod's own resources
_KEEPS_RUNNING = "Always"


def total_limit(pod: Pod, resource: str) -> Quantity:
    """The limit of all containers together; a container without a limit counts as zero."""
    running = sum((_limit(each, resource) for each in pod.spec.containers), ZERO)
    sidecars = sum((_limit(each, resource) for each in _sidecars(pod)), ZERO)
    total = max(running + sidecars, *_while_starting(pod, resource), ZERO)
    of_pod = pod.spec.resources.limits.get(resource)
    if of_pod is not None and _may_be_of_pod(resource):
        total = quantity.parse(of_pod)
    if total > ZERO:
        total += quantity.parse(pod.spec.overhead.get(resource, "0"))
    return total


def find_memory_limit(pod: Pod) -> int | None:
    """The pod's memory limit in bytes; None when any container has no limit."""
    is_limited = bool(pod.spec.containers) and all(
        _limit(each, MEMORY) > ZERO for each in pod.spec.containers
    )
    is_limited = is_limited and all(limit > ZERO for limit in _while_starting(pod, MEMORY))
    if not is_limited and quantity.parse(pod.spec.resources.limits.get(MEMORY, "0")) == ZERO:
        return None
    return total_limit(pod, MEMORY).bytes_ceil()


def huge_page_requests(pod: Pod) -> Iterator[str]:
    """The sizes of huge pages that the pod or its containers request, one for each request.

    Sizes are quantities as they were written, such as `2Mi`.
    """
    asking = [pod.spec.resources]
    asking += (each.resources for each in (*pod.spec.containers, *pod.spec.init_containers))
    for resources in asking:
        for name in resources.requests:
            if name.startswith(HUGE_PAGES):
                yield name.removeprefix(HUGE_PAGES)


def _may_be_of_pod(resource: str) -> bool:
    return resource in _OF_WHOLE_PODS or resource.startswith(HUGE_PAGES)


def _sidecars(pod: Pod) -> Iterator[Container]:
    return (each for each in pod.spec.init_containers if each.restart_policy == _KEEPS_RUNNING)


def _while_starting(pod: Pod, resource: str) -> Iterator[Quantity]:
    """For each init container: its limit plus those of the sidecars started before it."""
    sidecars = ZERO
    for each in pod.spec.init_containers:
        limit = _limit(each, resource)
        yield sidecars + limit
        if each.restart_policy == _KEEPS_RUNNING:
            sidecars += limit


def _limit(container: Container, resource: str) -> Quantity:
    return quantity.parse(container.resources.limits.get(resource, "0"))
