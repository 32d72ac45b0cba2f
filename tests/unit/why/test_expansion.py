"""What helps a claim whose volume was not grown."""

from typing import Any

import pytest

from mooring.why.answer import Answer, Step
from mooring.why.explain import explain
from tests.unit.why.test_explain import DATA, RUNS, pod
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, whole_world

OWNED = [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True, "apiVersion": "v1"}]
GIVEN_UP = "kubectl patch pvc data -n shop"


IN_USE = "rpc error: code = FailedPrecondition desc = mounted"
MOUNTED = (
    "failed to expand pvc with resize of device /dev/loop0 failed: exit status 1. A mounted ext4 "
    "grows only by a process with CAP_SYS_RESOURCE: grant it, or, with no pod using the volume, "
    "run `e2fsck -f` and `resize2fs` on /dev/loop0 or on the file behind it. resize2fs output: "
    "resize2fs 1.47.0 (5-Feb-2023) Filesystem at /dev/loop0 is mounted on "
    "/var/lib/kubelet/plugins/kubernetes.io/flexvolume/example.com/image/mounts/flex-image; "
    "on-line resizing required old_desc_blocks = 1, new_desc_blocks = 1 resize2fs: Permission "
    "denied to resize filesystem"
)


def failed(
    message: str, *pods: dict[str, Any], asked: str = "2Gi", status: str = "NodeResizeInProgress"
) -> Answer:
    error = {"type": "NodeResizeError", "status": "True", "message": message}
    asks = bound_claim(
        resources={"requests": {"storage": asked}},
        status={"allocatedResourceStatuses": {"storage": status}, "conditions": [error]},
    )
    return explain(whole_world(asks, bound_volume(capacity={"storage": "2Gi"}), *pods), DATA, NOW)


def helps(code: str, **of_pod: Any) -> list[str]:
    message = f"rpc error: code = {code} desc = mounted"
    return [fix.command for fix in failed(message, pod(nodeName="n1", **of_pod)).fixes]


def who(answer: Answer) -> str:
    return next(link.who for link in answer.links if link.step is Step.EXPANSION)


def test_a_volume_that_does_not_grow_in_use_gets_its_pod_made_anew() -> None:
    first, second, *_ = helps("FailedPrecondition")
    assert first == "kubectl get pod web -n shop -o yaml | kubectl replace --force -f -"
    assert second.startswith(GIVEN_UP)


def test_a_pod_that_has_an_owner_is_deleted() -> None:
    first, *_ = helps("FailedPrecondition", metadata={"ownerReferences": OWNED})
    assert first == "kubectl delete pod web -n shop"


def test_no_pod_is_ended_for_another_refusal() -> None:
    first, *_ = helps("ResourceExhausted")
    assert first.startswith(GIVEN_UP)


def test_the_least_that_may_be_asked_for_is_not_given_up_for_itself() -> None:
    message = "rpc error: code = ResourceExhausted desc = full"
    told = [fix.what_it_does for fix in failed(message).fixes]
    assert told == ["gives up 2Gi: the least that may be asked for is 1025Mi"]
    assert failed(message, asked="1025Mi", status="NodeResizeInfeasible").fixes == ()


KEPT = "kubectl get pod web -n shop -o yaml > web.yaml && kubectl delete pod web -n shop"
GROWN = "e2fsck -f DEVICE && resize2fs DEVICE"
OF_SET = [{**OWNED[0], "kind": "StatefulSet", "name": "db"}]
OF_DAEMONS = [{**OWNED[0], "kind": "DaemonSet"}]
UNMOUNTED: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "a pod alone is kept and made anew": (
        [pod(nodeName="n1", status=RUNS)],
        [KEPT, f"{GROWN} && kubectl create -f web.yaml"],
    ),
    "a workload is brought down and up": (
        [pod(nodeName="n1", status=RUNS, metadata={"ownerReferences": OF_SET})],
        [
            "kubectl scale statefulset db -n shop --replicas=0",
            f"{GROWN} && kubectl scale statefulset db -n shop --replicas=VALUE",
        ],
    ),
    "one that cannot be brought down": (
        [pod(nodeName="n1", status=RUNS, metadata={"ownerReferences": OF_DAEMONS})],
        [GROWN],
    ),
    "no pod uses it": ([], [GROWN]),
}


@pytest.mark.parametrize(("pods", "commands"), UNMOUNTED.values(), ids=UNMOUNTED)
@pytest.mark.parametrize("asked", ["2Gi", "1025Mi"])
def test_a_file_system_that_the_node_may_not_grow_is_grown_by_hand_while_no_pod_uses_it(
    pods: list[dict[str, Any]], commands: list[str], asked: str
) -> None:
    """A smaller size is no easier, so none is offered."""
    answer = failed(MOUNTED, *pods, asked=asked)
    assert [fix.command for fix in answer.fixes] == commands
    assert who(answer) == "an administrator"


def test_who_must_act_is_who_can() -> None:
    assert who(failed(IN_USE, pod(nodeName="n1", status=RUNS))) == "whoever runs pod web"
    assert who(failed(IN_USE)) == "the resizer of the volume's plugin"
    refused = "rpc error: code = OutOfRange desc = too large"
    assert who(failed(refused, pod(nodeName="n1", status=RUNS))) == "whoever made the claim"


def test_a_long_text_stands_in_the_answer_once() -> None:
    answer = failed(MOUNTED)
    assert "as its file system may not grow while it is mounted" in answer.summary
    assert answer.summary.endswith("resize of device /dev/loop0 failed: exit status 1.")
    assert any(link.says.endswith(MOUNTED) for link in answer.links)
