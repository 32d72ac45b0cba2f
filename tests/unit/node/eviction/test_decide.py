"""Who stores more than was said, and has to go: the kubelet's rules, in its order and its words."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from mooring.model.pod import Pod
from mooring.node.eviction.decide import find_excess, local_storage, may_exceed
from mooring.node.eviction.view import Used

MIB = 1 << 20
CRITICAL = 2_000_000_000
Doc = dict[str, Any]


def a_container(name: str, limit: str | None = None, **body: Any) -> Doc:
    resources = {} if limit is None else {"limits": {"ephemeral-storage": limit}}
    return {"name": name, "resources": resources} | body


def a_sidecar(name: str, limit: str | None = None) -> Doc:
    return a_container(name, limit, restartPolicy="Always")


def a_pod(*containers: Doc, **spec: Any) -> Pod:
    has = {"containers": list(containers) or [a_container("main")]} | spec
    metadata = {"name": "web", "namespace": "default"}
    return msgspec.convert({"metadata": metadata, "spec": has}, Pod)


def with_empty_dirs(*limits: str | None, medium: str = "", priority: int = 0) -> Pod:
    volumes = []
    for number, limit in enumerate(limits):
        source = {"medium": medium} | ({} if limit is None else {"sizeLimit": limit})
        volumes.append({"name": f"v{number}", "emptyDir": source})
    return a_pod(volumes=volumes, priority=priority)


def find(pod: Pod, used: Used) -> str | None:
    return find_excess(pod, used, with_sidecars=True)


def of_volume(name: str, limit: str) -> str:
    return f'Usage of EmptyDir volume "{name}" exceeds the limit "{limit}". '


def of_pod(limit: str) -> str:
    return f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "


def of_container(name: str, limit: str) -> str:
    return f'Container {name} exceeded its local ephemeral storage limit "{limit}". '


@pytest.mark.parametrize(
    ("pod", "used", "message"),
    [
        pytest.param(with_empty_dirs("1Mi"), {"v0": MIB}, None, id="just as much as allowed"),
        pytest.param(
            with_empty_dirs("1Mi"), {"v0": MIB + 1}, of_volume("v0", "1Mi"), id="one byte more"
        ),
        pytest.param(
            with_empty_dirs("1024Ki"),
            {"v0": MIB + 1},
            of_volume("v0", "1Mi"),
            id="the limit is told in its plain form",
        ),
        pytest.param(
            with_empty_dirs("1Mi", medium="Memory"),
            {"v0": 2 * MIB},
            of_volume("v0", "1Mi"),
            id="more than allowed, in memory",
        ),
        pytest.param(with_empty_dirs("0"), {"v0": MIB}, None, id="a limit of nothing is none"),
        pytest.param(with_empty_dirs(None), {"v0": MIB}, None, id="a volume without a limit"),
        pytest.param(with_empty_dirs("1Mi"), {}, None, id="a volume whose usage is not known"),
        pytest.param(
            with_empty_dirs("1Gi", "1Mi"),
            {"v0": MIB, "v1": 2 * MIB},
            of_volume("v1", "1Mi"),
            id="the second volume of two",
        ),
        pytest.param(
            with_empty_dirs("1Mi", priority=CRITICAL), {"v0": 2 * MIB}, None, id="a critical pod"
        ),
    ],
)
def test_an_empty_dir_by_its_own_limit(
    pod: Pod, used: Mapping[str, int], message: str | None
) -> None:
    assert find(pod, Used(volumes=used)) == message


INIT = "initContainers"


@pytest.mark.parametrize(
    ("pod", "used", "message"),
    [
        pytest.param(
            a_pod(a_container("a", "1Mi"), a_container("b", "1Mi")),
            Used(containers={"a": MIB, "b": MIB}),
            None,
            id="just as much as allowed",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), a_container("b", "1Mi")),
            Used(containers={"a": MIB, "b": MIB + 1}),
            of_pod("2Mi"),
            id="limits add up, and the pod is told before its container",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), a_container("b")),
            Used(containers={"a": 0, "b": MIB + 1}),
            of_pod("1Mi"),
            id="a container without a limit uses that of the others",
        ),
        pytest.param(
            a_pod(a_container("a"), a_container("b")),
            Used(containers={"a": 9 * MIB}),
            None,
            id="nobody has a limit",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi")),
            Used(containers={"a": MIB}, hosts=1),
            of_pod("1Mi"),
            id="its hosts file counts",
        ),
        pytest.param(
            a_pod(a_container("a", "0")),
            Used(containers={"a": 1}),
            of_pod("0"),
            id="a limit of nothing is one for the pod",
        ),
        pytest.param(
            a_pod(a_container("a", "1M"), a_container("b", "1Mi")),
            Used(containers={"a": 3 * MIB}),
            of_pod("2048576"),
            id="told in the form of the first",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), **{INIT: [a_container("i", "4Mi")]}),
            Used(containers={"a": 4 * MIB}),
            of_container("a", "1Mi"),
            id="an init container's limit is the pod's, if it is the larger one",
        ),
        pytest.param(
            a_pod(a_container("a"), **{INIT: [a_container("i", "4Mi")]}),
            Used(containers={"a": 4 * MIB + 1}),
            of_pod("4Mi"),
            id="an init container alone has a limit",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), **{INIT: [a_sidecar("s", "2Mi")]}),
            Used(containers={"a": MIB, "s": 2 * MIB}),
            None,
            id="a sidecar's limit is added",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), overhead={"ephemeral-storage": "1Mi"}),
            Used(containers={"a": 2 * MIB}),
            of_container("a", "1Mi"),
            id="overhead is added to the pod's limit alone",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), priority=CRITICAL),
            Used(containers={"a": 9 * MIB}),
            None,
            id="a critical pod stays",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), priority=CRITICAL - 1),
            Used(containers={"a": 9 * MIB}),
            of_pod("1Mi"),
            id="one that is nearly critical does not",
        ),
    ],
)
def test_a_pod_by_the_limits_of_its_containers(pod: Pod, used: Used, message: str | None) -> None:
    assert find(pod, used) == message


def with_volume(**source: Any) -> Pod:
    return a_pod(a_container("a", "1Mi"), volumes=[{"name": "v", **source}])


@pytest.mark.parametrize(
    ("pod", "counts"),
    [
        pytest.param(with_volume(emptyDir={}), True, id="emptyDir"),
        pytest.param(with_volume(emptyDir={"medium": "Memory"}), False, id="emptyDir in memory"),
        pytest.param(
            with_volume(emptyDir={"medium": "HugePages"}), False, id="emptyDir of huge pages"
        ),
        pytest.param(with_volume(configMap={"name": "c"}), True, id="configMap"),
        pytest.param(with_volume(gitRepo={"repository": "r"}), True, id="gitRepo"),
        pytest.param(with_volume(secret={"secretName": "s"}), False, id="secret"),
        pytest.param(with_volume(downwardAPI={}), False, id="downwardAPI"),
        pytest.param(with_volume(projected={}), False, id="projected"),
        pytest.param(with_volume(hostPath={"path": "/data"}), False, id="hostPath"),
        pytest.param(
            with_volume(persistentVolumeClaim={"claimName": "c"}), False, id="a claim's volume"
        ),
    ],
)
def test_volumes_that_count_for_the_pod(pod: Pod, counts: bool) -> None:  # noqa: FBT001  a column
    used = Used(volumes={"v": MIB}, containers={"a": 1})
    assert local_storage(pod, used) == (MIB + 1 if counts else 1)
    assert find(pod, used) == (of_pod("1Mi") if counts else None)


def test_of_a_pod_of_which_nothing_runs_only_empty_dirs_count() -> None:
    pod = with_volume(emptyDir={})
    assert find(pod, Used(volumes={"v": 9 * MIB})) is None


ROOMY = a_container("z", "90Mi")  # so that the pod as a whole stays within its limit


@pytest.mark.parametrize(
    ("pod", "used", "message"),
    [
        pytest.param(
            a_pod(a_container("a", "1Mi"), ROOMY), {"a": MIB}, None, id="just as much as allowed"
        ),
        pytest.param(
            a_pod(a_container("a", "1024Ki"), ROOMY),
            {"a": MIB + 1},
            of_container("a", "1Mi"),
            id="one byte more",
        ),
        pytest.param(
            a_pod(a_container("a"), ROOMY), {"a": 9 * MIB}, None, id="a container without a limit"
        ),
        pytest.param(
            a_pod(a_container("a", "0"), ROOMY), {"a": 9 * MIB}, None, id="a limit of nothing"
        ),
        pytest.param(
            a_pod(ROOMY, **{INIT: [a_container("i", "1Mi")]}),
            {"z": 1, "i": 2 * MIB},
            None,
            id="an init container has none for itself",
        ),
        pytest.param(
            a_pod(ROOMY, **{INIT: [a_sidecar("s", "1Mi")]}),
            {"z": 1, "s": 2 * MIB},
            of_container("s", "1Mi"),
            id="a sidecar",
        ),
        pytest.param(
            a_pod(a_container("a", "1Mi"), ROOMY, **{INIT: [a_sidecar("s", "1Mi")]}),
            {"a": 2 * MIB, "s": 2 * MIB},
            of_container("a", "1Mi"),
            id="the first in the pod is told",
        ),
    ],
)
def test_a_container_by_its_own_limit(
    pod: Pod, used: Mapping[str, int], message: str | None
) -> None:
    assert find(pod, Used(containers=used)) == message


def test_before_1_37_a_sidecar_has_no_limit_for_itself() -> None:
    pod = a_pod(ROOMY, **{INIT: [a_sidecar("s", "1Mi")]})
    used = Used(containers={"z": 1, "s": 2 * MIB})
    assert find_excess(pod, used, with_sidecars=False) is None


def test_an_empty_dir_is_told_before_the_pod() -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]
    pod = a_pod(a_container("a", "1Mi"), volumes=volumes)
    used = Used(volumes={"v": 2 * MIB}, containers={"a": 2 * MIB})
    assert find(pod, used) == of_volume("v", "1Mi")


@pytest.mark.parametrize(
    ("pod", "may"),
    [
        pytest.param(with_empty_dirs("1Mi"), True, id="a limited emptyDir"),
        pytest.param(a_pod(a_container("a", "1Mi")), True, id="a limited container"),
        pytest.param(
            a_pod(**{INIT: [a_container("i", "1Mi")]}), True, id="a limited init container"
        ),
        pytest.param(with_empty_dirs(None), False, id="no limit at all"),
        pytest.param(with_empty_dirs("1Mi", priority=CRITICAL), False, id="a critical pod"),
    ],
)
def test_pods_that_need_be_measured(pod: Pod, may: bool) -> None:  # noqa: FBT001  a column
    assert may_exceed(pod) is may
