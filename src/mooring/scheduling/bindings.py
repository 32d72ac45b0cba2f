"""Pods on the way to their node: volumes are reserved and asked for, then others are waited for.

A pod that needs no volumes is put on its node at once. For the others, volumes are written first,
then claims; when all claims are bound, the pod follows. Nothing is undone when that fails: what was
written stays, and the next look at the pod goes on from there.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol

from mooring.client.contract import Client, T
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    ServerError,
    ServerTimeout,
    TooManyRequests,
)
from mooring.model.backoff import Backoff
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.scheduling.caches import Caches
from mooring.scheduling.decide.bound import Asked, Bound, Failed, Pending, judge
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.wanted import is_pointing, meant_for, pointed_at
from mooring.scheduling.effects import Assigned, assign, reserve, select_node
from mooring.scheduling.plan import Assignment, Reservation

PATIENCE_SECONDS = 600.0  # for claims to be bound
RETRIES = Backoff(first=0.1, cap=10.0)

_UNCERTAIN = (ConnectionLost, ServerError, ServerTimeout, TooManyRequests)
"""It is unknown whether it was done: ask again, change nothing."""


class Outcome(Protocol):
    """What becomes of a pod when its binding has ended."""

    def placed(self, pod: Pod, node: str) -> None: ...

    def failed(self, pod: Pod, message: str) -> None: ...

    def freed(self, volume: Volume) -> None:
        """It was reserved for a pod, and is not any more."""
        ...

    def left(self, pod: Pod) -> None:
        """The pod is gone, or another scheduler has placed it."""
        ...


class _Placement:
    """One pod on its way."""

    def __init__(self, pod: Pod, assignment: Assignment) -> None:
        self.pod = pod
        self.assignment = assignment
        self.until: float | None = None  # None: not everything is written yet
        volumes = assignment.volumes
        self.asked = Asked(
            assignment.node,
            tuple((each.volume.name, each.claim.key) for each in volumes.reservations),
            tuple(claim.key for claim in volumes.provisions),
        )

    def claims(self) -> Iterator[Key]:
        yield from (claim for _, claim in self.asked.reserved)
        yield from self.asked.provisioned


class Bindings:
    """Workers serve `queue`; `start` and `hear` feed it."""

    def __init__(self, client: Client, clock: Clock, caches: Caches, outcome: Outcome) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock, RETRIES)
        self._client = client
        self._clock = clock
        self._caches = caches
        self._outcome = outcome
        self._placements: dict[Key, _Placement] = {}
        self._by_claim: defaultdict[Key, set[Key]] = defaultdict(set)

    def start(self, pod: Pod, assignment: Assignment) -> None:
        """Start the binding; from now on no other pod gets its volumes."""
        placement = self._placements[pod.key] = _Placement(pod, assignment)
        for each in assignment.volumes.reservations:
            self._caches.assume_volume(pointed_at(each.volume, each.claim))
        for claim in assignment.volumes.provisions:
            self._caches.claims.assume(meant_for(claim, assignment.node))
        for claim_key in placement.claims():
            self._by_claim[claim_key].add(pod.key)
        self.queue.add(pod.key)

    def abandon(self, key: Key) -> None:
        """The pod is gone."""
        placement = self._placements.get(key)
        if placement is not None:
            self._end(placement)

    def hear(self, change: Change) -> None:
        """Look again at the pods that a change concerns."""
        if not self._placements:
            return
        match change.after or change.before:
            case Claim() as claim:
                concerned = list(self._by_claim.get(claim.key, ()))
            case Volume() as volume:
                reference = volume.spec.claim_ref
                was = change.before.spec.claim_ref if isinstance(change.before, Volume) else None
                keys = [each.key for each in (reference, was) if each is not None]
                concerned = [pod for key in keys for pod in self._by_claim.get(key, ())]
            case Node() as node:
                concerned = [
                    key
                    for key, each in self._placements.items()
                    if each.assignment.node == node.name
                ]
            case _:
                return
        for key in concerned:
            self.queue.add(key)

    async def reconcile(self, key: Key) -> Verdict:
        placement = self._placements.get(key)
        if placement is None:
            return Settled()
        if placement.until is None:
            try:
                await self._write(placement)
            except _UNCERTAIN:
                raise
            except ApiError as error:
                self._fail(placement, f'running PreBind plugin "VolumeBinding": {error}')
                return Settled()
            placement.until = self._clock.monotonic() + PATIENCE_SECONDS
        return await self._follow(placement)

    async def _follow(self, placement: _Placement) -> Verdict:
        """All is written: wait for the others, then let the pod go."""
        if not placement.assignment.volumes.is_empty:
            match judge(placement.asked, self._caches.seen(placement.assignment.node)):
                case Failed(why):
                    self._fail(placement, _in_vain(why))
                    return Settled()
                case Pending():
                    left = (placement.until or 0.0) - self._clock.monotonic()
                    if left > 0:
                        return Again(left)
                    self._fail(placement, _in_vain("context deadline exceeded"))
                    return Settled()
                case Bound():
                    pass
        await self._assign(placement)
        return Settled()

    async def _write(self, placement: _Placement) -> None:
        """Raises: Conflict when anything is not as it was when it was decided on.

        Pods that share a claim are on their way together: what one has written suits all.
        """
        node = placement.assignment.node
        for each in placement.assignment.volumes.reservations:
            if self._is_reserved(each):
                continue
            try:
                seen = _unchanged(each.volume, self._caches.seen_volume(each.volume.key))
                self._caches.fold(await reserve(self._client, seen, each.claim))
            except Conflict:
                if not self._is_reserved(each):
                    raise
        for claim in placement.assignment.volumes.provisions:
            if self._is_selected(claim, node):
                continue
            try:
                now = _unchanged(claim, self._caches.seen_claim(claim.key))
                self._caches.fold(await select_node(self._client, now, node))
            except Conflict:
                if not self._is_selected(claim, node):
                    raise

    def _is_reserved(self, each: Reservation) -> bool:
        volume = self._caches.seen_volume(each.volume.key)
        return volume is not None and is_pointing(volume, each.claim)

    def _is_selected(self, claim: Claim, node: str) -> bool:
        now = self._caches.seen_claim(claim.key)
        return now is not None and now.uid == claim.uid and now.selected_node == node

    async def _assign(self, placement: _Placement) -> None:
        try:
            end = await assign(self._client, placement.pod, placement.assignment.node)
        except _UNCERTAIN:
            raise
        except ApiError as error:
            self._fail(placement, f'running Bind plugin "DefaultBinder": {error}')
            return
        if not self._end(placement):
            return
        match end:
            case Assigned.HERE:
                self._outcome.placed(placement.pod, placement.assignment.node)
            case Assigned.NOT_OURS:
                self._outcome.left(placement.pod)

    def _fail(self, placement: _Placement, message: str) -> None:
        if self._end(placement):
            self._outcome.failed(placement.pod, message)

    def _end(self, placement: _Placement) -> bool:
        """Let go of it; False: that has happened already."""
        key = placement.pod.key
        if self._placements.get(key) is not placement:
            return False
        del self._placements[key]
        for claim in placement.claims():
            self._by_claim[claim].discard(key)
            if not self._by_claim[claim]:
                del self._by_claim[claim]
        self._let_go(placement)
        return True

    def _let_go(self, placement: _Placement) -> None:
        """What was assumed is written by now, or will not be: unless another pod counts on it."""
        for each in placement.assignment.volumes.reservations:
            if each.claim.key not in self._by_claim:
                freed = self._caches.restore_volume(pointed_at(each.volume, each.claim))
                if freed is not None:
                    self._outcome.freed(freed)
        for claim in placement.assignment.volumes.provisions:
            if claim.key not in self._by_claim:
                self._caches.claims.restore(claim.key)


def _unchanged(decided: T, now: T | None) -> T:
    """What is in the API, if it is what was decided on."""
    if now is None or now.metadata.resource_version != decided.metadata.resource_version:
        raise Conflict(
            f'Operation cannot be fulfilled on {decided.resource.plural} "{decided.name}": the '
            "object has been modified; please apply your changes to the latest version and try "
            "again"
        )
    return now


def _in_vain(why: str) -> str:
    return f'running PreBind plugin "VolumeBinding": binding volumes: {why}'
