"""Pods that fit nowhere: each waits until something happens that its refusers name, and a while.

The more often a pod has been refused, the longer it is left alone, so that a pod that never fits
does not keep others waiting. A pod whose claims lack something has not been tried on any node: it
is not left alone, and looked at as soon as that is no longer what they lack.

Who is looked at when something happens is said by `decide/hints.py`; here are the indexes that make
it cheap. What one volume or one node has to give is offered to one pod at a time: the next one is
woken when the last one was looked at, if anything is left.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol

import msgspec
from msgspec.structs import replace

from mooring.model.backoff import Backoff
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.scheduling.decide.claims import find_lack
from mooring.scheduling.decide.contract import Change, Refused
from mooring.scheduling.decide.hints import (
    Interest,
    Source,
    Topic,
    interests,
    interests_in_claims,
    may_fit,
    source_of,
    topics,
)
from mooring.scheduling.decide.matching import is_free
from mooring.scheduling.decide.memory import PodShape, pod_shape
from mooring.scheduling.decide.schedule import is_woken
from mooring.scheduling.interested import Interested, Rank
from mooring.scheduling.view import Storage

OF_CLAIMS = frozenset({"VolumeRestrictions", "VolumeBinding", "VolumeZone"})
"""Rules that refuse a pod for what its claims lack."""

PAUSES = Backoff(first=1.0, cap=10.0)
LONGEST_WAIT = 300.0  # seconds after which a pod is looked at although nothing happened

Woken = list[tuple[Key, float]]
"""Pods to look at, and in how many seconds."""


class Surroundings(Protocol):
    """What is there now."""

    @property
    def storage(self) -> Storage: ...

    def find_refuser(self, pod: Pod, shape: PodShape, node: str) -> str | None:
        """The rule that keeps the pod from this node, empty if there is no such node; None: it may
        fit, as far as it is not up to other pods."""
        ...


class _Waiting(msgspec.Struct, frozen=True):
    pod: Pod
    rules: frozenset[str]  # that refused it
    until: float  # before that time it is not looked at again
    rank: Rank
    shape: PodShape
    lack: Refused | None = None  # what its claims lacked
    interests: frozenset[Interest] = frozenset()


class _Offer(msgspec.Struct):
    """What a change has brought that is not for all."""

    change: Change
    topics: tuple[Topic, ...]
    tried: set[Key]


class WaitingPods:
    def __init__(self, monotonic: Callable[[], float], around: Surroundings) -> None:
        self._monotonic = monotonic
        self._around = around
        self._failures: dict[Key, int] = {}
        self._pods: dict[Key, _Waiting] = {}
        self._told = Interested()
        self._offered = Interested()
        self._arrivals: dict[Key, int] = {}
        self._sequence = count()
        self._offers: dict[Source, _Offer] = {}
        self._trying: dict[Key, set[Source]] = {}  # pods that were woken for what is offered

    def __contains__(self, key: Key) -> bool:
        return key in self._pods

    def fail(self, key: Key) -> float:
        """It was in vain once more; for how many seconds it is to be left alone."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return PAUSES.delay(failures)

    def put(self, pod: Pod, rules: frozenset[str]) -> None:
        """These rules refused the pod, just now."""
        key = pod.key
        self.take(key)
        arrival = self._arrivals.setdefault(key, next(self._sequence))
        rank = -pod.spec.priority, arrival
        is_of_claims = bool(rules) and rules <= OF_CLAIMS
        lack = find_lack(self._around.storage, pod) if is_of_claims else None
        until = self._monotonic() + (self.fail(key) if lack is None else 0.0)
        self._file(_Waiting(pod, rules, until, rank, pod_shape(pod), lack))

    def _file(self, waiting: _Waiting) -> None:
        pod, storage = waiting.pod, self._around.storage
        if waiting.lack is None:
            found = interests(pod, waiting.rules, storage)
        else:
            found = interests_in_claims(pod, storage)
        self._pods[waiting.pod.key] = replace(waiting, interests=found)
        for interest in found:
            self._index(interest).add(interest, waiting.rank, waiting.pod.key)

    def take(self, key: Key) -> None:
        """It does not wait any more."""
        waiting = self._pods.pop(key, None)
        if waiting is None:
            return
        for interest in waiting.interests:
            self._index(interest).remove(interest, waiting.rank, key)

    def forget(self, key: Key) -> None:
        """It is placed, or gone: its failures are history."""
        self.take(key)
        self._failures.pop(key, None)
        self._arrivals.pop(key, None)

    def wake(self, change: Change) -> Woken:
        """The pods that may fit after a change, and in how many seconds to look; they are taken."""
        if not self._pods:  # in a burst of claims it is all that the scheduler does
            return []
        about = topics(change)
        woken = [
            key
            for key in dict.fromkeys(self._concerned(about, change))
            if self._is_helped(self._pods[key], change)
        ]
        found = [(key, self.wake_pod(key)) for key in woken]
        source = source_of(change)
        if source is not None and any(self._offered.groups(topic) for topic in about):
            known = self._offers.get(source)
            merged = about if known is None else tuple(dict.fromkeys((*known.topics, *about)))
            self._offers[source] = _Offer(change, merged, set())
            if known is None or not self._is_tried(source):
                found += self._offer(source)
        return found

    def wake_pod(self, key: Key) -> float:
        """The pod itself changed: in how many seconds to look at it. It is taken."""
        waiting = self._pods.get(key)
        self.take(key)
        return 0.0 if waiting is None else max(0.0, waiting.until - self._monotonic())

    def looked(self, key: Key) -> Woken:
        """The pod was looked at, or is gone: what was offered to it is the next one's."""
        return [each for source in self._trying.pop(key, ()) for each in self._offer(source)]

    def _concerned(self, about: tuple[Topic, ...], change: Change) -> Iterator[Key]:
        for topic in about:
            for group, pods in self._told.groups(topic):
                if may_fit(group, change):
                    yield from pods

    def _is_helped(self, waiting: _Waiting, change: Change) -> bool:
        if waiting.lack is None:
            return is_woken(waiting.pod, waiting.rules, change)
        return find_lack(self._around.storage, waiting.pod) != waiting.lack

    def _is_tried(self, source: Source) -> bool:
        """Whether a pod is about to be looked at for it."""
        return any(source in sources for sources in self._trying.values())

    def _offer(self, source: Source) -> Woken:
        """Wake the first who may have it."""
        offer = self._offers.get(source)
        if offer is None:
            return []
        key = self._first(source, offer)
        if key is None:
            del self._offers[source]
            return []
        offer.tried.add(key)
        self._trying.setdefault(key, set()).add(source)
        return [(key, self.wake_pod(key))]

    def _first(self, source: Source, offer: _Offer) -> Key | None:
        """The most important of those who need not be left alone; else who needs it shortest."""
        if not self._is_there(source):
            return None
        now = self._monotonic()
        resting: list[tuple[float, Rank, Key]] = []
        ready: list[tuple[Rank, Key]] = []
        for topic in offer.topics:
            for group, pods in self._offered.groups(topic):
                if not may_fit(group, offer.change):
                    continue
                for key in pods:
                    waiting = self._pods[key]
                    if key in offer.tried:
                        continue
                    if waiting.until > now:
                        resting.append((waiting.until, waiting.rank, key))
                    elif self._may_have(source, offer, key):
                        ready.append((waiting.rank, key))
                        break
        if ready:
            return min(ready)[1]
        return next(
            (key for _, _, key in sorted(resting) if self._may_have(source, offer, key)), None
        )

    def _may_have(self, source: Source, offer: _Offer, key: Key) -> bool:
        if source.kind is Volume:
            return True  # its group suits
        waiting = self._pods[key]
        refuser = self._around.find_refuser(waiting.pod, waiting.shape, source.name)
        if refuser is None:
            return True
        offer.tried.add(key)
        if refuser and refuser not in waiting.rules:  # from now on it is one more to wait for
            self.take(key)
            self._file(replace(waiting, rules=waiting.rules | {refuser}))
        return False

    def _is_there(self, source: Source) -> bool:
        if source.kind is not Volume:
            return True
        volume = self._around.storage.find_volume(source.name)
        return volume is not None and is_free(volume)

    def _index(self, interest: Interest) -> Interested:
        return self._offered if interest.is_offered else self._told
