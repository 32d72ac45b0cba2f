"""What a node writes into a pod's status while its volumes are coming."""

from mooring.model.condition import Condition
from mooring.model.container import Container
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec, PodStatus
from mooring.node.pods.status import creating_document, rejected_document

NOW = "2026-01-02T03:04:05Z"
SCHEDULED = Condition("PodScheduled", "True", last_transition_time="2026-01-02T03:04:00Z")


def a_pod(*init: Container) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="ns", uid="p1", generation=2),
        spec=PodSpec(
            containers=(Container("main", "busybox"), Container("side", "nginx")),
            init_containers=init,
        ),
        status=PodStatus(conditions=(SCHEDULED,)),
    )


def told(pod: Pod) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of each condition."""
    conditions = creating_document(pod, NOW, "")["status"]["conditions"]
    return {
        one["type"]: (one["status"], one.get("reason", ""), one.get("message", ""))
        for one in conditions
    }


def test_containers_are_being_created() -> None:
    status = creating_document(a_pod(), NOW, "10.0.0.7")["status"]
    assert status["containerStatuses"][0] == {
        "name": "main",
        "image": "busybox",
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
    }
    assert [one["name"] for one in status["containerStatuses"]] == ["main", "side"]
    assert "initContainerStatuses" not in status
    assert (status["startTime"], status["observedGeneration"]) == (NOW, 2)
    assert (status["hostIP"], status["hostIPs"]) == ("10.0.0.7", [{"ip": "10.0.0.7"}])


def test_a_node_without_an_address_says_nothing_about_it() -> None:
    assert "hostIP" not in creating_document(a_pod(), NOW, "")["status"]


def test_what_is_not_ready_is_named() -> None:
    unready = "containers with unready status: [main side]"
    assert told(a_pod()) == {
        "PodScheduled": ("True", "", ""),
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("True", "", ""),
        "Ready": ("False", "ContainersNotReady", unready),
        "ContainersReady": ("False", "ContainersNotReady", unready),
    }


def test_what_others_said_stays_as_it_was() -> None:
    conditions = creating_document(a_pod(), NOW, "")["status"]["conditions"]
    assert conditions[0] == {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": "2026-01-02T03:04:00Z",
    }
    assert {one["lastTransitionTime"] for one in conditions[1:]} == {NOW}


def test_a_pod_with_init_containers_is_initializing() -> None:
    pod = a_pod(Container("first"), Container("proxy", restart_policy="Always"))
    status = creating_document(pod, NOW, "")["status"]
    every = status["containerStatuses"] + status["initContainerStatuses"]
    assert {one["state"]["waiting"]["reason"] for one in every} == {"PodInitializing"}
    assert told(pod)["Initialized"] == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [first proxy]",
    )
    assert told(pod)["Ready"][2] == "containers with unready status: [proxy main side]"


def test_a_pod_that_the_node_does_not_take() -> None:
    assert rejected_document("Full", "no room") == {
        "status": {
            "phase": "Failed",
            "reason": "Full",
            "message": "Pod was rejected: no room",
        }
    }
