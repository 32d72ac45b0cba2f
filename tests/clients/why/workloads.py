"""Situations of what makes pods, of priorities, and of a namespace that does not go."""

from typing import Any

from tests.clients.why.situations import (
    HOST_PATH,
    Situation,
    claim,
    named,
    node,
    pod,
    storage_class,
    until,
)
from tests.clients.why.stage import Doc, Stage

HELD = "backup.example/hold"
LARGE: Doc = {"resources": {"requests": {"cpu": "3"}}}


def workload(kind: str, **spec: Any) -> Doc:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod(uses="")["spec"]}
    selected = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {**selected, **spec},
    }


def quota(**hard: str) -> Doc:
    doc = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    none = dict.fromkeys(hard, "0")
    return {**doc, "spec": {"hard": hard}, "status": {"hard": hard, "used": none}}


def priority_class(policy: str) -> Doc:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent-$NS"},
        "value": 1000,
        "preemptionPolicy": policy,
    }


UNREACHABLE = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "checks-$NS"},
    "webhooks": [
        {
            "name": "checks.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "$NS"}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


def ending(stage: Stage) -> None:
    """The namespace is deleted, and something in it stays."""
    path = f"/api/v1/namespaces/{stage.namespace}"
    stage.ask("DELETE", path)
    for _ in range(400):
        conditions = stage.ask("GET", path)[1].get("status", {}).get("conditions", [])
        if any(one["type"] == "NamespaceFinalizersRemaining" for one in conditions):
            return
        stage.pause()
    raise AssertionError("nobody says what is left in the namespace")


def preempted(stage: Stage) -> None:
    """The scheduler has told the other pod to go."""
    stage.create(named(urgent(), stage.namespace))
    until(stage, "Pod", "low", lambda it: "deletionTimestamp" in it["metadata"])


def urgent() -> Doc:
    return pod("high", uses="", container=LARGE, priorityClassName="urgent-$NS")


WORKLOADS = {
    "stateful set waits for a claim": Situation(
        "sts/web",
        "there is no such StorageClass",
        "of class fast",
        (
            *(node(), storage_class(provisioner=HOST_PATH)),
            workload(
                "StatefulSet",
                serviceName="web",
                volumeClaimTemplates=[
                    {
                        "metadata": {"name": "data"},
                        "spec": claim(storageClassName="fst-$NS")["spec"],
                    }
                ],
            ),
        ),
    ),
    "deployment over quota": Situation(
        "deploy/web",
        "exceeded quota: few",
        "raises quota few",
        (quota(pods="0"), node(), workload("Deployment")),
    ),
    "webhook that cannot be asked": Situation(
        "deploy/web",
        'failed calling webhook "checks.example.com"',
        "while the webhook checks.example.com cannot be asked",
        (node(), UNREACHABLE, workload("Deployment")),
        is_quick=False,
    ),
    "deployment paused": Situation(
        "deploy/web",
        "it is paused",
        "lets the deployment go on",
        (node(), workload("Deployment", paused=True)),
        is_quick=False,
    ),
    "namespace held by a claim": Situation(
        "ns/$NS",
        f"the finalizer {HELD} holds it",
        "removes the finalizer",
        ({**claim(), "metadata": {"name": "data", "finalizers": [HELD]}},),
        begin=ending,
    ),
    "namespace held by something else": Situation(
        "ns/$NS",
        "finalizers of others hold what is left",
        "removes every finalizer in it",
        (
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "settings", "finalizers": [HELD]},
            },
        ),
        begin=ending,
        is_quick=False,
    ),
    "pod that may displace nobody": Situation(
        "pod/high",
        "its preemptionPolicy is Never",
        "deletes pods of lower priority",
        (
            *(node(), priority_class("Never")),
            pod("low", uses="", container=LARGE, nodeName="n1-$NS"),
            urgent(),
        ),
    ),
    "pods displaced are ending": Situation(
        "pod/high",
        "were displaced for it",
        "ends it at once",
        (
            *(node(), priority_class("PreemptLowerPriority")),
            pod(
                "low",
                uses="",
                container=LARGE,
                nodeName="n1-$NS",
                terminationGracePeriodSeconds=600,
            ),
        ),
        begin=preempted,
        needs_scheduler=True,
    ),
}
