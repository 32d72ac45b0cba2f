"""How long a failed pod is not replaced: 10 seconds, doubled each time, at most 10 minutes."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from mooring.controllers.job.view import Backoff
from mooring.model.condition import find_condition
from mooring.model.pod import Pod
from mooring.model.timestamp import shifted

FIRST_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 600.0
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def after(backoff: Backoff, succeeded: Iterable[Pod], failed: Iterable[Pod]) -> Backoff:
    """The back-off when these pods have ended besides."""
    ends = sorted(map(finished_at, failed))
    last_success = max(map(finished_at, succeeded), default=None)
    if last_success is None:
        if not ends:
            return backoff
        return Backoff(backoff.failures + len(ends), ends[-1])
    since = [end for end in ends if end > last_success]
    return Backoff(len(since), since[-1]) if since else Backoff()


def seconds_left(backoff: Backoff, now: datetime) -> float:
    if not backoff.failures or backoff.last is None:
        return 0.0
    exponent = min(backoff.failures - 1, 16)
    pause: float = min(FIRST_SECONDS * 2**exponent, LONGEST_SECONDS)
    return max(pause - (now - backoff.last).total_seconds(), 0.0)


def finished_at(pod: Pod) -> datetime:
    """By its containers, its readiness, or its deletion; else when it was made."""
    if (ended := _containers_ended(pod)) is not None:
        return ended
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time:
        return datetime.fromisoformat(ready.last_transition_time)
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        grace = metadata.deletion_grace_period_seconds or 0
        return shifted(datetime.fromisoformat(metadata.deletion_timestamp), -grace)
    made = metadata.creation_timestamp
    return datetime.fromisoformat(made) if made else _NEVER


def _containers_ended(pod: Pod) -> datetime | None:
    ends: list[datetime] = []
    for status in pod.status.container_statuses:
        ended = status.state.terminated
        if ended is None or not ended.finished_at:
            return None
        ends.append(datetime.fromisoformat(ended.finished_at))
    return max(ends, default=None)
