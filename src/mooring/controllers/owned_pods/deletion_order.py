"""Which of too many pods go first: those that are worth least, in upstream's order of ranks.

Ages are compared by their logarithm: of two pods that are about equally old, chance (the uid)
decides, so that not always the latest rollout pays.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cmp_to_key
from math import log2
from typing import Any, Final

import msgspec

from mooring.controllers.owned_pods.readiness import is_ready
from mooring.model.condition import find_condition
from mooring.model.pod import Pod, PodPhase
from mooring.model.selector import find_int64
from mooring.model.wellknown import Annotation

_PHASES: Final = {PodPhase.PENDING: 0, PodPhase.UNKNOWN: 1, PodPhase.RUNNING: 2}
_NANOSECONDS = 1_000_000_000
_INT32 = range(-(2**31), 2**31)


class _Moment(msgspec.Struct, frozen=True):
    """Since when something holds, and the logarithm of its age."""

    written: str | None
    bucket: int


class _Worth(msgspec.Struct, frozen=True):
    """What is compared of a pod: looked up once, for it is compared a dozen times and more."""

    pod: Pod
    ranks: tuple[int, ...]  # from the first that decides to the last; the lower value goes
    ready_since: _Moment | None  # None: it is not ready
    restarts: tuple[int, int]
    created: _Moment


def in_deletion_order(pods: Iterable[Pod], on_node: Mapping[str, int], now: datetime) -> list[Pod]:
    """`on_node` counts by node the active pods of the same application."""
    worths = (_worth(pod, on_node, now) for pod in pods)
    return [each.pod for each in sorted(worths, key=cmp_to_key(_compare))]


def _compare(one: _Worth, other: _Worth) -> int:
    if difference := _sign(one.ranks, other.ranks):
        return difference
    uids = one.pod.uid, other.pod.uid
    ready, other_ready = one.ready_since, other.ready_since
    if ready and other_ready and (by_age := _younger(ready, other_ready, *uids)):
        return by_age
    if difference := _sign(other.restarts, one.restarts):
        return difference
    return _younger(one.created, other.created, *uids) or _sign(*uids)


def _worth(pod: Pod, on_node: Mapping[str, int], now: datetime) -> _Worth:
    ranks = (
        pod.is_scheduled,
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        _cost(pod),
        -on_node.get(pod.spec.node_name, 0),
    )
    ready = _moment(_ready_since(pod), now) if is_ready(pod) else None
    created = _moment(pod.metadata.creation_timestamp, now)
    return _Worth(pod, ranks, ready, _restarts(pod), created)


def _cost(pod: Pod) -> int:
    """How dear its deletion is, as its annotation says; nonsense counts as nothing said."""
    cost = find_int64(pod.metadata.annotations.get(Annotation.POD_DELETION_COST))
    return cost if cost is not None and cost in _INT32 else 0


def _restarts(pod: Pod) -> tuple[int, int]:
    """The most restarts of one container, and of one init container."""
    return (
        max((each.restart_count for each in pod.status.container_statuses), default=0),
        max((each.restart_count for each in pod.status.init_container_statuses), default=0),
    )


def _moment(written: str | None, now: datetime) -> _Moment:
    return _Moment(written, -1 if written is None else _bucket(written, now))


def _younger(one: _Moment, other: _Moment, uid: str, other_uid: str) -> int:
    """Negative when `one` goes for being younger; zero when they are of the same moment."""
    if one.written == other.written:
        return 0
    if one.written is None or other.written is None:
        return -1 if one.written is None else 1
    return _sign(one.bucket, other.bucket) or _sign(uid, other_uid)


def _bucket(moment: str, now: datetime) -> int:
    age = (now - datetime.fromisoformat(moment)).total_seconds() * _NANOSECONDS
    return int(log2(age)) if age > 0 else -1


def _ready_since(pod: Pod) -> str | None:
    ready = find_condition(pod.status.conditions, "Ready")
    return None if ready is None else ready.last_transition_time


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)
