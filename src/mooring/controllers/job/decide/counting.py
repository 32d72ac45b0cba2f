"""Which pods have ended, and how their ends get into the status, each once.

A pod with the finalizer is not counted. To count it, its uid is put on a list in the status; once
the finalizer is off, the uid leaves the list and the counter grows, in one write.
"""

from collections.abc import Iterable

import msgspec

from mooring.controllers.job.decide.end import End
from mooring.controllers.job.decide.failure_policy import meaning_of
from mooring.controllers.job.decide.indexes import Indexes, index_of
from mooring.controllers.job.view import JobView, has_succeeded, is_tracked
from mooring.model.job import Uncounted
from mooring.model.pod import Pod

MOST_UNCOUNTED = 500  # uids on the list


class Ended(msgspec.Struct, frozen=True):
    """Pods whose end is neither counted nor on the list."""

    succeeded: tuple[Pod, ...]
    failed: tuple[Pod, ...]
    counting_failures: int  # of the failed, those that count against the limit


class Tally(msgspec.Struct, frozen=True):
    """What the status says next, and whose finalizer goes when it says so."""

    succeeded: int
    failed: int
    uncounted: Uncounted
    untracked: tuple[Pod, ...]
    indexes: frozenset[int]  # that have succeeded, with those counted now


def ended_of(view: JobView, pods: Iterable[Pod]) -> Ended:
    job, uncounted = view.job, view.job.status.uncounted
    fresh = [
        pod
        for pod in pods
        if is_tracked(pod) and (not job.is_indexed or index_of(pod, job) is not None)
    ]
    failed = [pod for pod in fresh if pod.uid not in uncounted.failed and view.has_failed(pod)]
    policy = job.spec.pod_failure_policy
    return Ended(
        tuple(p for p in fresh if p.uid not in uncounted.succeeded and has_succeeded(p)),
        tuple(failed),
        sum(meaning_of(policy, pod).counts for pod in failed),
    )


def tally_of(view: JobView, pods: tuple[Pod, ...], known: Indexes, end: End | None) -> Tally:
    job, status = view.job, view.job.status
    tracked = {pod.uid for pod in pods if is_tracked(pod)}
    before = status.uncounted
    succeeded = [uid for uid in before.succeeded if uid in tracked]
    failed = [uid for uid in before.failed if uid in tracked]
    counts = (
        status.succeeded + len(before.succeeded) - len(succeeded),
        status.failed + len(before.failed) - len(failed),
    )
    untracked: list[Pod] = []
    indexes = set(known.counted)
    for pod in sorted(pods, key=lambda pod: (index_of(pod, job) or 0, pod.key)):
        if not is_tracked(pod) or not _may_untrack(view, pod, known, end):
            continue
        if len(succeeded) + len(failed) + len(indexes - known.counted) >= MOST_UNCOUNTED:
            break
        untracked.append(pod)
        index = index_of(pod, job)
        if has_succeeded(pod) and pod.uid not in failed:
            if job.is_indexed:
                indexes |= set() if index is None else {index}
            elif pod.uid not in succeeded:
                succeeded.append(pod.uid)
        elif view.has_failed(pod) or (end is not None and not end.is_success):
            is_ours = not job.is_indexed or index is not None
            counted = meaning_of(job.spec.pod_failure_policy, pod).counts
            if is_ours and counted and pod.uid not in failed:
                failed.append(pod.uid)
    return Tally(
        succeeded=len(indexes) if job.is_indexed else counts[0],
        failed=counts[1],
        uncounted=Uncounted(tuple(succeeded), tuple(failed)),
        untracked=tuple(untracked),
        indexes=frozenset(indexes),
    )


def _may_untrack(view: JobView, pod: Pod, known: Indexes, end: End | None) -> bool:
    if view.job.is_deleting or end is not None or has_succeeded(pod):
        return True
    if not view.has_failed(pod):
        return False
    index = index_of(pod, view.job)
    kept = known.replaced.get(index) if index is not None else None
    return kept is None or kept.uid != pod.uid
