"""How much a pod may use as a whole."""

import pytest

from mooring.model import quantity
from mooring.model.container import ComputeResources, Container
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_resources import find_memory_limit, huge_page_requests, total_limit

MI = 1 << 20


def limited(memory: str | None, *, restart_policy: str = "") -> Container:
    limits = {"memory": memory} if memory is not None else {}
    return Container("c", resources=ComputeResources(limits=limits), restart_policy=restart_policy)


def sidecar(memory: str | None) -> Container:
    return limited(memory, restart_policy="Always")


def a_pod(
    *containers: Container, init: tuple[Container, ...] = (), of_pod: str = "", overhead: str = ""
) -> Pod:
    return Pod(
        spec=PodSpec(
            containers=containers,
            init_containers=init,
            resources=ComputeResources(limits={"memory": of_pod} if of_pod else {}),
            overhead={"memory": overhead} if overhead else {},
        )
    )


TWO = (limited("100Mi"), limited("50Mi"))

MEMORY: dict[str, tuple[Pod, int | None]] = {
    "the sum of its containers": (a_pod(*TWO), 150 * MI),
    "nothing if a container has no limit": (a_pod(*TWO, limited(None)), None),
    "nothing if a container has a limit of nothing": (a_pod(*TWO, limited("0")), None),
    "nothing for a pod without limits": (a_pod(limited(None)), None),
    "nothing if an init container has no limit": (a_pod(*TWO, init=(limited(None),)), None),
    "a large init container": (a_pod(*TWO, init=(limited("1Gi"),)), 1024 * MI),
    "a small init container": (a_pod(*TWO, init=(limited("10Mi"),)), 150 * MI),
    "sidecars run beside the containers": (a_pod(*TWO, init=(sidecar("10Mi"),)), 160 * MI),
    "an init container runs beside the sidecars before it": (
        a_pod(*TWO, init=(sidecar("100Mi"), limited("300Mi"))),
        400 * MI,
    ),
    "but not beside those after it": (
        a_pod(*TWO, init=(limited("300Mi"), sidecar("100Mi"))),
        300 * MI,
    ),
    "the pod's own limit beats the sum": (a_pod(*TWO, of_pod="64Mi"), 64 * MI),
    "the pod's own limit covers containers without": (
        a_pod(limited(None), of_pod="64Mi"),
        64 * MI,
    ),
    "running the pod costs something too": (a_pod(*TWO, overhead="7Mi"), 157 * MI),
}


@pytest.mark.parametrize(("pod", "limit"), MEMORY.values(), ids=[*MEMORY])
def test_memory_limit(pod: Pod, limit: int | None) -> None:
    assert find_memory_limit(pod) == limit


def test_other_limits_add_up_without_those_that_have_none() -> None:
    some = ComputeResources(limits={"ephemeral-storage": "1Gi"})
    pod = Pod(
        spec=PodSpec(
            containers=(Container("a", resources=some), Container("b")),
            resources=ComputeResources(limits={"ephemeral-storage": "9Gi"}),  # not of pods
        )
    )
    assert total_limit(pod, "ephemeral-storage") == quantity.parse("1Gi")
    assert total_limit(pod, "memory") == quantity.ZERO


def test_huge_pages_are_asked_for_by_pods_containers_and_init_containers() -> None:
    def asking(size: str) -> ComputeResources:
        return ComputeResources(requests={f"hugepages-{size}": "1Gi", "cpu": "1"})

    pod = Pod(
        spec=PodSpec(
            containers=(Container("a", resources=asking("2Mi")),),
            init_containers=(Container("b", resources=asking("1Gi")),),
            resources=asking("64Ki"),
        )
    )
    assert sorted(huge_page_requests(pod)) == ["1Gi", "2Mi", "64Ki"]
