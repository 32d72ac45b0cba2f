"""Jobs, budgets and quotas, as a real kubectl sees them; pods run."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from mooring.model.timestamp import to_seconds
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import STAYS, a_script
from tests.fakes.waiting import until

WITHIN = "--timeout=30s"


@pytest.fixture(scope="session")
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


def a_job_spec(script: str, **spec: Any) -> Doc:
    pod = a_script("x", script, restartPolicy="Never")["spec"]
    return {"template": {"spec": pod}, **spec}


def an_object(kind: str, version: str, name: str, **body: Any) -> Doc:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}


async def test_a_job_completes_and_one_that_fails_says_so(kubectl: Kubectl) -> None:
    good = a_job_spec("echo $JOB_COMPLETION_INDEX", completions=2, parallelism=2)
    kubectl(
        "apply",
        "-f-",
        given=an_object("Job", "batch/v1", "good", spec=good | {"completionMode": "Indexed"}),
    )
    bad = a_job_spec("exit 3", backoffLimit=0)
    kubectl("apply", "-f-", given=an_object("Job", "batch/v1", "bad", spec=bad))
    kubectl("wait", "--for=condition=complete", "job/good", WITHIN)
    kubectl("wait", "--for=condition=failed", "job/bad", WITHIN)
    shown = {line.split()[0]: line.split()[1:3] for line in lines(kubectl, "get", "jobs")}
    assert shown == {"good": ["Complete", "2/2"], "bad": ["Failed", "0/1"]}, shown
    described = kubectl("describe", "job", "good")
    assert "Completed Indexes:  0,1" in described, described
    pods = kubectl.doc("pods", "-l", "job-name=good")["items"]
    assert all("finalizers" not in pod["metadata"] for pod in pods), pods
    told = sorted(kubectl("logs", pod["metadata"]["name"]).strip() for pod in pods)
    assert told == ["0", "1"], told
    kubectl("delete", "job", "good", "bad", WITHIN)
    await until(lambda: kubectl("get", "pods", "-o", "name") == "")


async def test_a_cron_job_fires(kubectl: Kubectl) -> None:
    """Without waiting for a minute: the time of the last job is put back."""
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": a_job_spec("true")}}
    kubectl("apply", "-f-", given=an_object("CronJob", "batch/v1", "often", spec=spec))
    made = kubectl.doc("cronjob", "often")["metadata"]["creationTimestamp"]
    past = to_seconds(datetime.fromisoformat(made) - timedelta(seconds=90))
    change = json.dumps({"status": {"lastScheduleTime": past}})
    kubectl("patch", "cronjob", "often", "--subresource=status", "--type=merge", f"-p={change}")
    await until(lambda: "Complete" in kubectl("get", "jobs"))
    events = kubectl("get", "events")
    assert "SuccessfulCreate" in events, events
    kubectl("create", "job", "by-hand", "--from=cronjob/often")
    kubectl("wait", "--for=condition=complete", "job/by-hand", WITHIN)
    kubectl("delete", "cronjob", "often", WITHIN)


async def test_a_drain_is_stopped_by_a_budget(kubectl: Kubectl) -> None:
    pod = a_script("guarded", STAYS, nodeName=NODE)
    pod["metadata"]["labels"] = {"app": "guarded"}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    kubectl("create", "-f-", given=pod)
    kubectl(
        "create", "-f-", given=an_object("PodDisruptionBudget", "policy/v1", "keep", spec=budget)
    )
    kubectl("wait", "--for=condition=ready", "pod/guarded", WITHIN)
    await until(lambda: kubectl.doc("pdb", "keep")["status"].get("currentHealthy") == 1)
    chosen = ("--pod-selector=app=guarded", "--force", "--timeout=1s")
    try:
        said = kubectl.refused("drain", NODE, "--ignore-daemonsets", *chosen)
    finally:
        kubectl("uncordon", NODE)
    assert "would violate the pod's disruption budget" in said, said
    assert kubectl("get", "pod", "guarded", "-o", "name").strip() == "pod/guarded"
    (line,) = lines(kubectl, "get", "pdb")
    assert line.split()[:4] == ["keep", "1", "N/A", "0"], line


async def test_a_quota_refuses(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "small", "--hard=requests.storage=1Gi,pods=1")
    await until(lambda: "used" in kubectl.doc("quota", "small").get("status", {}))
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "2Gi"}},
    }
    given = an_object("PersistentVolumeClaim", "v1", "data", spec=claim)
    said = kubectl.refused("create", "-f-", given=given)
    assert (
        "exceeded quota: small, requested: requests.storage=2Gi, used: requests.storage=0, "
        "limited: requests.storage=1Gi" in said
    ), said
    shown = kubectl("describe", "quota", "small")
    assert "requests.storage  0     1Gi" in shown, shown


def lines(kubectl: Kubectl, *arguments: str) -> list[str]:
    return kubectl(*arguments, "--no-headers").splitlines()
