"""What makes pods, and a namespace that does not go."""

from typing import Any

from mooring.why.answer import Answer, Ref, Step, Verdict
from mooring.why.explain import explain
from tests.unit.why.test_explain import said
from tests.unit.why.worlds import NOW, claim, doc, whole_world

SET = Ref("StatefulSet", "web", "shop")
DEPLOYMENT = Ref("Deployment", "web", "shop")
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
QUOTA = (
    'Error creating: pods "web-x" is forbidden: exceeded quota: few, requested: pods=1, '
    "used: pods=1, limited: pods=1"
)


def owned(name: str, kind: str, uid: str, status: dict[str, Any] | None = None) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": uid, "controller": True}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return doc(
        "Pod", name, "shop", spec=spec, status=status or {}, metadata={"ownerReferences": [owner]}
    )


def stateful(replicas: int, *docs: dict[str, Any]) -> Answer:
    templates = [{"metadata": {"name": "data"}, "spec": {}}]
    spec = {"replicas": replicas, "volumeClaimTemplates": templates}
    return explain(whole_world(doc("StatefulSet", "web", "shop", spec=spec), *docs), SET, NOW)


def deployment(*docs: dict[str, Any], **spec: Any) -> Answer:
    made = doc("Deployment", "web", "shop", spec={"replicas": 1, **spec})
    return explain(whole_world(made, *docs), DEPLOYMENT, NOW)


def replica_set() -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": "uid-web",
        "controller": True,
    }
    return doc(
        "ReplicaSet", "web-1", "shop", spec={"replicas": 1}, metadata={"ownerReferences": [owner]}
    )


def test_all_pods_ready_is_fine() -> None:
    answer = stateful(1, owned("web-0", "StatefulSet", "uid-web", READY))
    assert (answer.verdict, answer.summary) == (
        Verdict.FINE,
        "StatefulSet shop/web: 1 of 1 pods are ready",
    )


def test_the_first_pod_that_is_not_ready_keeps_the_next_from_being_made() -> None:
    answer = stateful(3, owned("web-0", "StatefulSet", "uid-web"))
    first = next(link for link in answer.links if link.step is Step.WORKLOAD)
    assert first.says == "0 of 3 pods are ready; the next one is made when web-0 is ready"
    assert "there is no node" in answer.summary


def test_a_quota_that_refuses_pods_is_raised() -> None:
    answer = deployment(replica_set(), said("ReplicaSet", "web-1", "FailedCreate", QUOTA))
    assert "exceeded quota: few" in answer.summary
    assert '"pods":"2"' in answer.fixes[0].command


def test_an_old_refusal_is_not_told_when_the_pods_are_there() -> None:
    made = owned("web-1-x", "ReplicaSet", "uid-web-1", READY)
    told = said("ReplicaSet", "web-1", "FailedCreate", QUOTA)
    assert deployment(replica_set(), told, made).verdict is Verdict.FINE


def test_a_paused_deployment_is_resumed() -> None:
    assert deployment(paused=True).fixes[0].command == (
        "kubectl rollout resume deployment web -n shop"
    )


def test_the_claim_of_a_stateful_set_is_changed_in_its_template() -> None:
    wanted = Ref("PersistentVolumeClaim", "data-web-0", "shop")
    templates = [{"metadata": {"name": "data"}, "spec": {}}]
    maker = doc("StatefulSet", "web", "shop", spec={"volumeClaimTemplates": templates})
    fast = doc("StorageClass", "fast", provisioner="kubernetes.io/host-path")
    waits = claim("data-web-0", storageClassName="fst")
    (fix, *_) = explain(whole_world(maker, fast, waits), wanted, NOW).fixes
    assert fix.command.startswith("kubectl get statefulset web -n shop -o yaml | sed ")
    assert fix.command.endswith(
        "&& kubectl delete statefulset web -n shop && kubectl delete pvc data-web-0 -n shop "
        "&& kubectl replace --force -f web.yaml"
    )


def test_a_namespace_names_the_finalizer_that_holds_it() -> None:
    gone = {"deletionTimestamp": "2026-05-01T11:00:00Z"}
    held = claim(metadata={**gone, "finalizers": ["backup.example/hold"]})
    space = doc("Namespace", "shop", metadata=gone)
    answer = explain(whole_world(space, held), Ref("Namespace", "shop"), NOW)
    assert "the finalizer backup.example/hold holds it" in answer.summary
    assert answer.verdict is Verdict.BROKEN


def test_a_namespace_that_stays_is_fine() -> None:
    answer = explain(whole_world(doc("Namespace", "shop")), Ref("Namespace", "shop"), NOW)
    assert answer.verdict is Verdict.FINE
