"""Which of too many pods go first: those that are worth least, in upstream's order of ranks.

Ages are compared by their logarithm: of two pods that are about equally old, chance (the uid)
decides, so that not always the latest rollout pays.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cmp_to_key
from math import log2
from typing import Any, Final

from mooring.controllers.owned_pods.readiness import is_ready
from mooring.model.condition import find_condition
from mooring.model.pod import Pod, PodPhase
from mooring.model.selector import find_int64
from mooring.model.wellknown import Annotation

_PHASES: Final = {PodPhase.PENDING: 0, PodPhase.UNKNOWN: 1, PodPhase.RUNNING: 2}
_NANOSECONDS = 1_000_000_000
_INT32 = range(-(2**31), 2**31)


def in_deletion_order(pods: Iterable[Pod], on_node: Mapping[str, int], now: datetime) -> list[Pod]:
    """`on_node` counts by node the active pods of the same application."""

    def compare(one: Pod, other: Pod) -> int:
        for worth in _ranks(on_node):
            if difference := _sign(worth(one), worth(other)):
                return difference
        both_ready = is_ready(one) and is_ready(other)
        if both_ready and (by_age := _younger(one, other, _ready_since, now)):
            return by_age
        if difference := _sign(_restarts(other), _restarts(one)):
            return difference
        return _younger(one, other, _created, now) or _sign(one.uid, other.uid)

    return sorted(pods, key=cmp_to_key(compare))


def _ranks(on_node: Mapping[str, int]) -> tuple[Callable[[Pod], int], ...]:
    """From the first that decides to the last; the lower value goes."""
    return (
        lambda pod: pod.is_scheduled,
        lambda pod: _PHASES.get(pod.status.phase, 0),
        is_ready,
        _cost,
        lambda pod: -on_node.get(pod.spec.node_name, 0),
    )


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


def _younger(one: Pod, other: Pod, since: Callable[[Pod], str | None], now: datetime) -> int:
    """Negative when `one` goes for being younger; zero when they are of the same moment."""
    first, second = since(one), since(other)
    if first == second:
        return 0
    if first is None or second is None:
        return -1 if first is None else 1
    return _sign(_bucket(first, now), _bucket(second, now)) or _sign(one.uid, other.uid)


def _bucket(moment: str, now: datetime) -> int:
    age = (now - datetime.fromisoformat(moment)).total_seconds() * _NANOSECONDS
    return int(log2(age)) if age > 0 else -1


def _ready_since(pod: Pod) -> str | None:
    ready = find_condition(pod.status.conditions, "Ready")
    return None if ready is None else ready.last_transition_time


def _created(pod: Pod) -> str | None:
    return pod.metadata.creation_timestamp


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)
