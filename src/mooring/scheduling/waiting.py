"""Pods that fit nowhere: each waits until something happens that its refusers name, and a while.

The more often a pod has been refused, the longer it is left alone, so that a pod that never fits
does not keep others waiting.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from mooring.model.backoff import Backoff
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.schedule import is_woken

PAUSES = Backoff(first=1.0, cap=10.0)
LONGEST_WAIT = 300.0  # seconds after which a pod is looked at although nothing happened


class _Waiting(msgspec.Struct, frozen=True):
    pod: Pod
    rules: frozenset[str]  # that refused it
    until: float  # before that time it is not looked at again


class WaitingPods:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._failures: dict[Key, int] = {}
        self._pods: dict[Key, _Waiting] = {}
        self._by_claim: defaultdict[Key, set[Key]] = defaultdict(set)

    def __contains__(self, key: Key) -> bool:
        return key in self._pods

    def fail(self, key: Key) -> float:
        """It was in vain once more; for how many seconds it is to be left alone."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return PAUSES.delay(failures)

    def put(self, pod: Pod, rules: frozenset[str]) -> None:
        """These rules refused the pod, just now."""
        self.take(pod.key)
        until = self._monotonic() + self.fail(pod.key)
        self._pods[pod.key] = _Waiting(pod, rules, until)
        for claim in pod.claim_keys():
            self._by_claim[claim].add(pod.key)

    def take(self, key: Key) -> None:
        """It does not wait any more."""
        waiting = self._pods.pop(key, None)
        if waiting is None:
            return
        for claim in waiting.pod.claim_keys():
            self._by_claim[claim].discard(key)
            if not self._by_claim[claim]:
                del self._by_claim[claim]

    def forget(self, key: Key) -> None:
        """It is placed, or gone: its failures are history."""
        self.take(key)
        self._failures.pop(key, None)

    def wake(self, change: Change) -> list[tuple[Key, float]]:
        """The pods that may fit after a change, and in how many seconds to look; they are taken."""
        woken = [
            waiting.pod.key
            for waiting in self._concerned(change)
            if is_woken(waiting.pod, waiting.rules, change)
        ]
        return [(key, self.wake_pod(key)) for key in woken]

    def wake_pod(self, key: Key) -> float:
        """The pod itself changed: in how many seconds to look at it. It is taken."""
        waiting = self._pods.get(key)
        self.take(key)
        return 0.0 if waiting is None else max(0.0, waiting.until - self._monotonic())

    def _concerned(self, change: Change) -> Iterable[_Waiting]:
        known = change.after or change.before
        if not isinstance(known, Claim):
            return self._pods.values()
        return [self._pods[key] for key in self._by_claim.get(known.key, ())]
