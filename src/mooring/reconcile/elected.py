"""A role in the process of the API server that runs while this process has the role's lease.

So a role that also runs in a process of its own is active only once. The holder of the lease is
named after the data directory, which one process has at a time: a lease of an earlier process with
the same data directory is ours.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator

import msgspec
from prometheus_client import Metric
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.reconcile.leadership import FencedClient
from mooring.reconcile.lease import BESIDE_THE_SERVER, LeaderCallbacks, LeaderElection
from mooring.reconcile.loops import Loops
from mooring.reconcile.role import Role
from mooring.reconcile.shared_informer import SharedInformers
from mooring.reconcile.worker import lasting

_log = log.get("mooring.stack")

LEASES = "kube-system"

Build = Callable[[Loops], Role]
"""Adds a role to its loops; returns them, or what is built round them."""


def lease_of(role: str) -> Key:
    """The lease that a process holds while it runs the role."""
    return Key(LEASES, f"mooring-{role}")


def log_leader(role: str, lease: Key, holder: str) -> None:
    _log.warning(
        "another process runs this role: waiting for its lease",
        role=role,
        lease=lease,
        holder=holder,
    )


class Candidate(msgspec.Struct, frozen=True):
    """A candidate's identity and client, and its informers when it leads."""

    client: Client
    clock: Clock
    rng: random.Random
    identity: str
    informers: SharedInformers | None = None  # None: of its own


class ElectedRole:
    """`Role`; `build` makes it anew, with a client of its own, each time this process leads."""

    def __init__(self, name: str, candidate: Candidate, build: Build) -> None:
        self.name = name
        self._build = build
        self._lease = lease_of(name)
        self._candidate = candidate
        self._role: Role | None = None
        self._is_decided = asyncio.Event()  # whether this process leads, or another does
        self._may_be_behind = False  # another process may have led since the informers started
        self._election = LeaderElection(
            candidate.client,
            candidate.clock,
            candidate.rng,
            self._lease,
            candidate.identity,
            BESIDE_THE_SERVER,
            LeaderCallbacks(waiting=self._wait),
        )

    async def run(self) -> None:
        """A role that dies gives its lease back, and is made anew after a pause."""
        await lasting(f"role {self.name}", self._candidate.clock, self._stand)

    async def _stand(self) -> None:
        await self._election.run(self._lead)

    async def synced(self) -> None:
        """At once while another leads: there are no caches then."""
        await self._is_decided.wait()
        if self._role is not None:
            await self._role.synced()

    def collectors(self) -> Iterable[Collector]:
        return (_Now(self),)

    def collect(self) -> Iterator[Metric]:
        """What the role counts, while there is one."""
        for collector in () if self._role is None else self._role.collectors():
            yield from collector.collect()

    async def _lead(self) -> None:
        me = self._candidate
        client = FencedClient(me.client, self._election.leadership)
        if me.informers is not None and self._may_be_behind:
            await me.informers.relist()  # the last writes of that process may still be on their way
        self._may_be_behind = True
        loops = Loops(self.name, client, me.clock, me.rng, me.informers)
        try:
            self._role = self._build(loops)
            self._is_decided.set()
            await self._role.run()
        finally:
            self._role = None
            loops.close()

    def _wait(self, holder: str) -> None:
        log_leader(self.name, self._lease, holder)
        self._may_be_behind = True
        self._is_decided.set()


class _Now(Collector):
    def __init__(self, role: ElectedRole) -> None:
        self._of = role

    def collect(self) -> Iterator[Metric]:
        return self._of.collect()
