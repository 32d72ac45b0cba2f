from typing import Any

import pytest

from mooring.apiserver.kinds.contract import Subresource
from mooring.apiserver.kinds.pod.pod import POD, grace, quality_of_service
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, a_pod, stored
from tests.unit.apiserver.kinds.writing import NOW, created, merged, status_updated, updated, warned


def test_a_new_pod_waits() -> None:
    new = created(POD, a_pod(status={"phase": "Running", "podIP": "10.0.0.1"}))
    assert new["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_so() -> None:
    new = created(POD, a_pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert new["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": NOW,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


def test_debugging_containers_do_not_come_with_a_new_pod() -> None:
    pod = created(POD, a_pod(ephemeralContainers=[a_container()]))
    complaints = [str(error) for error in POD.validate(pod)]
    assert "spec.ephemeralContainers: Forbidden: cannot be set on create" in complaints


def test_the_main_path_leaves_the_status_alone() -> None:
    old = stored(status={"phase": "Running"})
    new = updated(POD, old, merged(old, {"status": {"phase": "Failed"}}))
    assert new["status"] == old["status"]


def test_the_status_path_leaves_spec_and_owners_alone() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}]
    old = merged(stored(), {"metadata": {"ownerReferences": owners}})
    patch: Doc = {
        "metadata": {"ownerReferences": [], "labels": {"seen": "yes"}},
        "spec": {"nodeName": "n2"},
        "status": {"phase": "Running", "qosClass": None},
    }
    new = status_updated(POD, old, merged(old, patch))
    assert new["spec"] == old["spec"]
    assert new["metadata"]["ownerReferences"] == owners
    assert new["metadata"]["labels"] == {"seen": "yes"}
    assert new["status"] == {"phase": "Running", "qosClass": "BestEffort"}


GRACE: dict[str, tuple[Doc, Doc, int | None, int]] = {
    "as long as the pod asks for": ({"nodeName": "n1"}, {}, None, 30),
    "as long as the request asks for": ({"nodeName": "n1"}, {}, 5, 5),
    "longer than the pod asks for, if the request says so": ({"nodeName": "n1"}, {}, 60, 60),
    "at once, if the request says so": ({"nodeName": "n1"}, {}, 0, 0),
    "less than nothing counts as a second": ({"nodeName": "n1"}, {}, -1, 1),
    "at once, when it never reached a node": ({}, {}, 60, 0),
    "at once, when it succeeded": ({"nodeName": "n1"}, {"phase": "Succeeded"}, None, 0),
    "at once, when it failed": ({"nodeName": "n1"}, {"phase": "Failed"}, 60, 0),
    "its own wish may be nothing": (
        {"nodeName": "n1", "terminationGracePeriodSeconds": 0},
        {},
        None,
        0,
    ),
}


@pytest.mark.parametrize(("spec", "status", "asked", "seconds"), GRACE.values(), ids=GRACE)
def test_grace(spec: Doc, status: Doc, asked: int | None, seconds: int) -> None:
    assert grace(stored(status=status, **spec), asked) == seconds


def limits(**amounts: str) -> Doc:
    return a_container(resources={"limits": amounts})


def requests(**amounts: str) -> Doc:
    return a_container(resources={"requests": amounts})


ALL = {"cpu": "1", "memory": "1Gi"}
QUALITIES: dict[str, tuple[Doc, str]] = {
    "nothing is asked for": (a_pod(), "BestEffort"),
    "requests equal limits for both resources": (a_pod(limits(**ALL)), "Guaranteed"),
    "only one resource has a limit": (a_pod(limits(cpu="1")), "Burstable"),
    "requests are less than limits": (
        a_pod(a_container(resources={"limits": ALL, "requests": {"cpu": "500m"}})),
        "Burstable",
    ),
    "equal amounts may be spelt differently": (
        a_pod(a_container(resources={"limits": ALL, "requests": {"memory": "1024Mi"}})),
        "Guaranteed",
    ),
    "there are requests without limits": (a_pod(requests(**ALL)), "Burstable"),
    "one container asks for nothing": (
        a_pod(limits(**ALL), a_container(name="d")),
        "Burstable",
    ),
    "a container that runs first counts": (
        a_pod(limits(**ALL), initContainers=[a_container(name="i")]),
        "Burstable",
    ),
    "only another resource is asked for": (
        a_pod(requests(**{"ephemeral-storage": "1Gi"})),
        "BestEffort",
    ),
    "the pod as a whole decides": (
        a_pod(resources={"limits": ALL, "requests": ALL}),
        "Guaranteed",
    ),
}


@pytest.mark.parametrize(("pod", "quality"), QUALITIES.values(), ids=QUALITIES)
def test_quality_of_service(pod: Doc, quality: str) -> None:
    assert created(POD, pod)["status"]["qosClass"] == quality
    assert quality_of_service(created(POD, pod)["spec"]) == quality


def test_fields() -> None:
    pod = stored(
        nodeName="n1",
        hostNetwork=True,
        status={"phase": "Running", "podIP": "10.0.0.1", "nominatedNodeName": "n2"},
    )
    assert {name: read(pod) for name, read in POD.fields.items()} == {
        "spec.nodeName": "n1",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "default",
        "spec.hostNetwork": "true",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.nominatedNodeName": "n2",
    }


def test_fields_that_are_absent() -> None:
    pod: Doc = {"metadata": {"name": "web"}}
    given: dict[str, Any] = {name: read(pod) for name, read in POD.fields.items()}
    assert given.pop("spec.hostNetwork") == "false"
    assert set(given.values()) == {""}


def test_discovery_lists_the_subresources_that_are_served() -> None:
    assert POD.subresources == (
        Subresource("attach", ("create", "get"), "PodAttachOptions"),
        Subresource("binding", ("create",), "Binding"),
        Subresource("ephemeralcontainers", ("get", "patch", "update"), "Pod"),
        Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
        Subresource("exec", ("create", "get"), "PodExecOptions"),
        Subresource("log", ("get",), "Pod"),
        Subresource("portforward", ("create", "get"), "PodPortForwardOptions"),
        Subresource("proxy", ("create", "delete", "get", "patch", "update"), "PodProxyOptions"),
    )


def test_a_name_that_makes_a_poor_hostname_is_warned_of() -> None:
    (warning,) = warned(POD, merged(a_pod(), {"metadata": {"name": "a.b"}}))
    assert warning.startswith("metadata.name: this is used in the Pod's hostname")
    assert warning.endswith("[must not contain dots]")
    assert warned(POD, a_pod()) == []


def test_a_pod_counts_its_generations() -> None:
    assert POD.generation
