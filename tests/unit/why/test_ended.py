"""What is said of a pod that has ended, and what helps."""

from typing import Any

import pytest

from mooring.why.answer import Answer, Verdict
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod
from tests.unit.why.worlds import NOW, whole_world

DELETE = "kubectl delete pod web -n shop"
ANEW = "kubectl get pod web -n shop -o yaml"
AGAIN = "| kubectl replace --force -f -"


def limited(name: str, limit: str) -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {"ephemeral-storage": limit}}}


def owned(kind: str, name: str, **labels: str) -> dict[str, Any]:
    owner = {"kind": kind, "name": name, "uid": "u", "controller": True, "apiVersion": "apps/v1"}
    return {"ownerReferences": [owner], "labels": labels}


def of(message: str, reason: str = "Evicted", phase: str = "Failed", **spec: Any) -> Answer:
    status = {"phase": phase, "reason": reason, "message": message}
    usual = {"volumes": [], "containers": [limited("main", "10Mi")], "nodeName": "n1"}
    return explain(whole_world(pod(status=status, **usual | spec)), WEB, NOW)


OF_POD = "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. "
OF_CONTAINER = 'Container main exceeded its local ephemeral storage limit "10Mi". '
OF_VOLUME = 'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". '
CACHE = [{"name": "cache", "emptyDir": {"sizeLimit": "1Mi"}}]
TWO = [limited("main", "10Mi"), limited("other", "20Mi")]

EVICTED: dict[str, tuple[Answer, str, str]] = {
    "the limits of the pod": (
        of(OF_POD, containers=TWO),
        "limits.ephemeral-storage of its containers main, other allows (10Mi, 20Mi)",
        f"{ANEW} | sed "
        r"""-e 's|\(ephemeral-storage: \)"\{0,1\}20Mi"\{0,1\}$|\140Mi|' """
        rf"""-e 's|\(ephemeral-storage: \)"\{{0,1\}}10Mi"\{{0,1\}}$|\120Mi|' {AGAIN}""",
    ),
    "the limit of a container": (
        of(OF_CONTAINER, containers=TWO, metadata=owned("StatefulSet", "db")),
        "limits.ephemeral-storage of container main allows (10Mi)",
        "kubectl set resources statefulset db -n shop -c main --limits=ephemeral-storage=20Mi",
    ),
    "the limits of pods of a deployment": (
        of(OF_POD, metadata=owned("ReplicaSet", "web-5c", **{"pod-template-hash": "5c"})),
        "limits.ephemeral-storage of its container main allows (10Mi)",
        "kubectl set resources deployment web -n shop -c main --limits=ephemeral-storage=20Mi",
    ),
    "the limit of an emptyDir": (
        of(OF_VOLUME, volumes=CACHE),
        "sizeLimit of emptyDir cache allows (1Mi)",
        rf"""{ANEW} | sed -e 's|\(sizeLimit: \)"\{{0,1\}}1Mi"\{{0,1\}}$|\12Mi|' {AGAIN}""",
    ),
    "the limit of an emptyDir of a daemon set": (
        of(OF_VOLUME, volumes=CACHE, metadata=owned("DaemonSet", "agent")),
        "sizeLimit of emptyDir cache allows (1Mi)",
        "kubectl patch daemonset agent -n shop -p "
        """'{"spec":{"template":{"spec":{"volumes":[{"name":"cache","emptyDir":"""
        """{"sizeLimit":"2Mi"}}]}}}}'""",
    ),
}


@pytest.mark.parametrize(("answer", "told", "command"), EVICTED.values(), ids=EVICTED)
def test_the_limit_that_was_exceeded_is_named_and_doubled(
    answer: Answer, told: str, command: str
) -> None:
    said = f"it has ended: Failed (Evicted): it stored more than {told}: raise it, or store less"
    assert answer.summary == f"Pod shop/web: {said}"
    assert answer.fixes[0].command == command
    assert answer.links[-1].who == "whoever set the limit"


OTHERS: dict[str, tuple[Answer, str]] = {
    "a node that is short of disk": (
        of("The node was low on resource: ephemeral-storage. "),
        "it has ended: Failed (The node was low on resource: ephemeral-storage.)",
    ),
    "a volume that the pod does not have": (
        of(OF_VOLUME),
        f"(Usage of EmptyDir {OF_VOLUME[18:-1]})",
    ),
    "no message": (of("", "Shutdown"), "it has ended: Failed (Shutdown)"),
}


@pytest.mark.parametrize(("answer", "told"), OTHERS.values(), ids=OTHERS)
def test_of_other_ends_what_was_said_is_quoted(answer: Answer, told: str) -> None:
    assert answer.summary.endswith(told)
    assert [fix.command for fix in answer.fixes] == [f"{ANEW} {AGAIN}", DELETE]


def test_another_pod_is_promised_only_where_somebody_makes_it() -> None:
    told = {fix.command: fix.what_it_does for fix in of(OF_POD).fixes}
    assert told[DELETE] == "deletes it, and nobody makes it anew"
    (fix,) = of("no", "Error", metadata=owned("Job", "once")).fixes
    assert fix.what_it_does == "deletes it, so that whoever made it makes another one"


def test_one_that_succeeded_is_fine() -> None:
    answer = of("", "", "Succeeded")
    assert (answer.verdict, answer.fixes) == (Verdict.FINE, ())
