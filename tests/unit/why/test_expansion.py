"""What helps a claim whose volume was not grown."""

from typing import Any

from mooring.why.explain import explain
from tests.unit.why.test_explain import DATA, pod
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, whole_world

OWNED = [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True, "apiVersion": "v1"}]
GIVEN_UP = "kubectl patch pvc data -n shop"


def helps(code: str, **of_pod: Any) -> list[str]:
    failed = {
        "type": "NodeResizeError",
        "status": "True",
        "message": f"rpc error: code = {code} desc = mounted",
    }
    asks = bound_claim(
        resources={"requests": {"storage": "2Gi"}},
        status={
            "allocatedResourceStatuses": {"storage": "NodeResizeInProgress"},
            "conditions": [failed],
        },
    )
    world = whole_world(
        asks, bound_volume(capacity={"storage": "2Gi"}), pod(nodeName="n1", **of_pod)
    )
    return [fix.command for fix in explain(world, DATA, NOW).fixes]


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
