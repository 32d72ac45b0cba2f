"""The indexes of an Indexed job: which have succeeded or failed, which need a pod."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.controllers.job.decide.backoff import finished_at
from mooring.controllers.job.decide.failure_policy import meaning_of
from mooring.controllers.job.view import JobView, has_succeeded, is_tracked
from mooring.controllers.owned_pods.deletion_order import in_deletion_order
from mooring.model import job_indexes
from mooring.model.job import Job, SuccessPolicy
from mooring.model.pod import Pod

INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_MOST = 2**31 - 1


class Indexes(msgspec.Struct, frozen=True):
    counted: frozenset[int] = frozenset()  # succeeded, as the status says
    succeeded: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    replaced: Mapping[int, Pod] = {}
    """Failed pods that stay until their index has a new one, which has to know of them."""


def index_of(pod: Pod, job: Job) -> int | None:
    """None: it has none, or one that the job does not have."""
    text = pod.metadata.annotations.get(INDEX, "")
    if not (text.isascii() and text.isdigit()):
        return None
    index = int(text)
    return index if index < (job.spec.completions or 0) else None


def indexes_of(view: JobView, pods: Iterable[Pod]) -> Indexes:
    job, listed = view.job, tuple(pods)
    completions = job.spec.completions or 0
    counted = job_indexes.parse(job.status.completed_indexes, completions)
    succeeded = counted | {
        index
        for pod in listed
        if is_tracked(pod) and has_succeeded(pod) and (index := index_of(pod, job)) is not None
    }
    if job.spec.backoff_limit_per_index is None:
        return Indexes(counted, succeeded)
    failed = job_indexes.parse(job.status.failed_indexes or "", completions) | {
        index
        for pod in listed
        if is_tracked(pod) and (index := index_of(pod, job)) is not None and _is_last(view, pod)
    }
    return Indexes(counted, succeeded, failed, _replaced(view, listed, succeeded | failed))


def _is_last(view: JobView, pod: Pod) -> bool:
    """Whether its failure is the one with which its index has failed."""
    if not view.has_failed(pod):
        return False
    meaning = meaning_of(view.job.spec.pod_failure_policy, pod)
    if meaning.action == "FailIndex":
        return True
    return meaning.counts and failures_of(pod) >= (view.job.spec.backoff_limit_per_index or 0)


def _replaced(view: JobView, pods: Iterable[Pod], done: frozenset[int]) -> dict[int, Pod]:
    job, listed = view.job, tuple(pods)
    active = {index_of(pod, job) for pod in listed if view.is_active(pod)}
    found: dict[int, Pod] = {}
    for pod in listed:
        index = index_of(pod, job)
        if index is None or not is_tracked(pod) or not view.has_failed(pod):
            continue
        if index in done or index in active:
            continue
        if index not in found or _is_later(pod, found[index]):
            found[index] = pod
    return found


def _is_later(pod: Pod, other: Pod) -> bool:
    return all_failures_of(pod) >= all_failures_of(other) and finished_at(pod) >= finished_at(other)


def failures_of(pod: Pod) -> int:
    return _count(pod, FAILURES)


def all_failures_of(pod: Pod) -> int:
    return _count(pod, FAILURES) + _count(pod, IGNORED_FAILURES)


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) <= _MOST else 0


def pending_indexes(view: JobView, pods: Iterable[Pod], known: Indexes, most: int) -> list[int]:
    """The first ones without a pod, a success or a failure."""
    job = view.job
    only_failed = job.spec.pod_replacement_policy == "Failed"
    taken = known.succeeded | known.failed
    taken |= {
        index
        for pod in pods
        if (view.is_active(pod) or (only_failed and view.is_terminating(pod)))
        and (index := index_of(pod, job)) is not None
    }
    found: list[int] = []
    for index in range(job.spec.completions or 0):
        if len(found) >= most:
            break
        if index not in taken:
            found.append(index)
    return found


def surplus(view: JobView, active: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
    """Pods without an index, or with one that another has; and the others."""
    by_index: dict[int | None, list[Pod]] = {}
    for pod in active:
        by_index.setdefault(index_of(pod, view.job), []).append(pod)
    gone = by_index.pop(None, [])
    left: list[Pod] = []
    for pods in by_index.values():
        ordered = in_deletion_order(pods, {}, view.now)
        gone += ordered[:-1]
        left.append(ordered[-1])
    return gone, left


def find_success(
    policy: SuccessPolicy | None, succeeded: frozenset[int], completions: int
) -> str | None:
    """The message of the rule that is met."""
    if policy is None or not succeeded:
        return None
    for number, rule in enumerate(policy.rules):
        met = f"Matched rules at index {number}"
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
                return met
            continue
        wanted = job_indexes.parse(rule.succeeded_indexes, completions)
        reached = len(wanted & succeeded)
        if wanted and (
            reached == len(wanted)
            or (rule.succeeded_count is not None and reached >= rule.succeeded_count)
        ):
            return met
    return None
