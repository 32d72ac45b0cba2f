"""The pods of a job, as documents."""

from collections.abc import Iterable
from copy import deepcopy

from mooring.controllers.job.decide.failure_policy import meaning_of
from mooring.controllers.job.decide.indexes import (
    FAILURES,
    IGNORED_FAILURES,
    INDEX,
    all_failures_of,
    failures_of,
)
from mooring.controllers.owned_pods.plan import pod_of
from mooring.model.document import Doc
from mooring.model.job import TRACKING, Job
from mooring.model.pod import Pod

_VARIABLE = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX = 58  # five letters follow


def new_pod(job: Job) -> Doc:
    pod = deepcopy(pod_of(job, job.spec.template))
    finalizers = pod["metadata"].setdefault("finalizers", [])
    if TRACKING not in finalizers:
        finalizers.append(TRACKING)
    return pod


def new_indexed_pod(job: Job, index: int, replaced: Pod | None) -> Doc:
    """`replaced` is the last failed pod of this index, if any."""
    pod = new_pod(job)
    metadata, spec = pod["metadata"], pod["spec"]
    suffix = f"-{index}-"
    metadata["generateName"] = job.name[: _LONGEST_PREFIX - len(suffix)] + suffix
    metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index)}
    metadata["labels"] = {**metadata.get("labels", {}), INDEX: str(index)}
    spec["hostname"] = f"{job.name}-{index}"
    if job.spec.backoff_limit_per_index is not None:
        metadata["annotations"] |= _failures_after(job, replaced)
    for field in ("initContainers", "containers"):
        _add_variable(spec.get(field) or ())
    return pod


def _failures_after(job: Job, replaced: Pod | None) -> dict[str, str]:
    if replaced is None:
        return {FAILURES: "0"}
    failures = failures_of(replaced)
    ignored = all_failures_of(replaced) - failures
    if meaning_of(job.spec.pod_failure_policy, replaced).counts:
        failures += 1
    else:
        ignored += 1
    counts = {FAILURES: str(failures)}
    return counts | {IGNORED_FAILURES: str(ignored)} if ignored else counts


def _add_variable(containers: Iterable[Doc]) -> None:
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in containers:
        variables = container.get("env") or []
        if all(each.get("name") != _VARIABLE for each in variables):
            container["env"] = [*variables, {"name": _VARIABLE, "valueFrom": source}]
