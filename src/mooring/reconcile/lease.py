"""Leader election on a Lease: of several candidates at most one leads, at any time.

How this stays true although no clock can be trusted, and although responses get lost:

- Every write is conditional on the version last seen; of two candidates, one is too late.
- Others wait a whole lease, by their own clocks, from the moment they last *saw* the record
  change. That is later than the leader sent the write, so a leader that counts from the sending
  gives up first: it stops when `renew_deadline` has passed, and has what is left of the lease to
  come to rest. One that takes longer finds that its writes are refused (`leadership.py`).
- Clocks are only ever compared with themselves. They may show different times, and may run at
  rates that differ by less than the two periods do.
- A write whose answer was lost counts as failed for leading. If it did happen, others wait longer.

Deleting the Lease by hand frees it at once, even if its holder still leads.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import msgspec

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    Forbidden,
    MooringError,
    NotFound,
    Unauthorized,
)
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.timestamp import to_micros
from mooring.reconcile.deadline import within
from mooring.reconcile.leadership import Leadership

_log = log.get("mooring.lease")

REMEDY = (
    "allow get, create and patch on leases of coordination.k8s.io in that namespace, or choose "
    "another one, or --no-leader-elect if nobody else runs"
)
_JITTER = 1.2  # candidates wait up to this many retry periods longer, so that they do not meet


class Terms(msgspec.Struct, frozen=True):
    """In seconds, as Kubernetes' own components have them."""

    lease: int = 15  # others may take over when they saw no sign of life for so long
    renew_deadline: float = 10.0  # a leader that could not renew for so long stops
    retry: float = 2.0
    renew: float = 0.0  # a leader renews so often; 0: as often as others try


TERMS = Terms()

BESIDE_THE_SERVER = Terms(lease=60, renew_deadline=40.0, retry=2.0, renew=15.0)
"""For leaders in the process of the API server: when that dies there is nothing to take over, so a
long lease does no harm, and each renewal is a write to its disk."""


class LeaderCallbacks(msgspec.Struct, frozen=True):
    """Called in the course of an election."""

    waiting: Callable[[str], None] = lambda _: None  # called once with each other holder
    overdue: Callable[[], None] = lambda: None  # `lead` is not at rest in the time that it has


NO_CALLBACKS = LeaderCallbacks()


class LeaderElection:
    """One candidate. `identity` must be its own: two with the same one would both lead.

    `leadership` is the fence for what `lead` does. Whatever another leader wrote has a version
    before `taken_from`.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        key: Key,
        identity: str,
        terms: Terms = TERMS,
        callbacks: LeaderCallbacks = NO_CALLBACKS,
    ) -> None:
        self.leadership = Leadership(clock, key)
        self._client = client
        self._clock = clock
        self._rng = rng
        self._key = key
        self._identity = identity
        self._terms = terms
        self._callbacks = callbacks
        self._waits_for = ""  # the leader that `waiting` was called with
        self._is_refused = False  # and that is logged
        self.taken_from = 0  # the version of the lease as its holder before left it; 0: none had it
        self._seen: Lease | None = None
        self._seen_at = 0.0  # when its version was new to us
        self._until = 0.0  # so long we may lead

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Call `lead` whenever the lease is ours, until it returns by itself or this is cancelled.

        When leadership is lost, `lead` is cancelled, has `lease - renew_deadline` seconds to come
        to rest (none when another leads already), and is called anew if the lease is ours again,
        but not before it is at rest. However this ends, a lease that is still ours is released,
        after `lead` has come to rest.
        """
        while True:
            await self._acquire()
            _log.info("leading", lease=self._key, identity=self._identity)
            is_lost = await self._lead(lead)
            _log.info("not leading any more", lease=self._key, identity=self._identity)
            if not is_lost:
                return

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Whether the lease was lost; if not, `lead` is done. Raises: what `lead` raises."""

        async def led() -> None:
            await lead()

        try:
            async with asyncio.TaskGroup() as tasks:
                keeping = tasks.create_task(self._keep())
                leading = tasks.create_task(led())
                watching = asyncio.create_task(self._watch_rest(leading, keeping))
                try:
                    await _until_at_rest(leading, keeping)
                finally:
                    watching.cancel()
        except ExceptionGroup as group:
            if len(group.exceptions) > 1:
                raise
            raise group.exceptions[0] from group  # callers choose the remedy by its class
        finally:
            self.leadership.end()
            await self._release()
        return not keeping.cancelled()

    async def _watch_rest(self, leading: asyncio.Task[None], keeping: asyncio.Task[None]) -> None:
        """Log when the work goes on after the leadership has ended."""
        await asyncio.wait({keeping})
        left = max(0.0, self.leadership.left)
        await self._clock.sleep(left)
        if not leading.done():
            _log.warning(
                "the work of a leader goes on after its time: its writes are refused",
                lease=self._key,
                identity=self._identity,
            )
            self._callbacks.overdue()

    # getting it

    async def _acquire(self) -> None:
        while True:
            try:
                async with within(self._clock, self._terms.renew_deadline):
                    if await self._claim():
                        return
            except (Forbidden, Unauthorized, NotFound) as error:  # not found: no such namespace
                self._tell_of_refusal(error)
            except (MooringError, TimeoutError) as error:
                _log.debug("no lease", lease=self._key, because=error)
            await self._clock.sleep(self._terms.retry * (1 + _JITTER * self._rng.random()))

    def _tell_of_refusal(self, error: ApiError) -> None:
        """Once, and loudly: it does not pass by itself, and a candidate that waits says nothing."""
        if not self._is_refused:
            self._is_refused = True
            _log.warning(
                "NO LEASE, AND NOTHING IS SERVED: the server refuses it",
                lease=self._key,
                because=error,
                remedy=REMEDY,
            )

    async def _claim(self) -> bool:
        """Take the lease if it is free, or ours still."""
        try:
            found = await self._client.get(Lease, self._key)
        except NotFound:
            return await self._write(None, self._spec_of_new_holder(0))
        self._observe(found)
        if found.spec.holder_identity == self._identity:
            return await self._write(found, self._spec_of_holder())
        if found.is_held and self._clock.monotonic() <= self._seen_at + self._duration(found):
            self._tell_of(found.spec.holder_identity or "")
            return False
        self.taken_from = int(found.metadata.resource_version)
        transitions = (found.spec.lease_transitions or 0) + 1
        return await self._write(found, self._spec_of_new_holder(transitions))

    def _tell_of(self, holder: str) -> None:
        if holder != self._waits_for:
            self._waits_for = holder
            _log.info("waiting for a lease", lease=self._key, holder=holder)
            self._callbacks.waiting(holder)

    def _observe(self, found: Lease) -> None:
        known = self._seen
        if known is None or known.metadata.resource_version != found.metadata.resource_version:
            self._seen, self._seen_at = found, self._clock.monotonic()

    def _duration(self, found: Lease) -> float:
        """What its holder counts on."""
        return found.spec.lease_duration_seconds or self._terms.lease

    # keeping it

    async def _keep(self) -> None:
        """Renew, until another has the lease or no renewal came through for too long."""
        pause = self._terms.renew or self._terms.retry
        while (left := self._until - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(pause, left))
            left = self._until - self._clock.monotonic()
            if left <= 0:
                return
            try:
                async with within(self._clock, left):
                    if not await self._renew():
                        return
                pause = self._terms.renew or self._terms.retry
            except TimeoutError:
                return
            except MooringError as error:
                pause = self._terms.retry
                _log.warning("lease not renewed", lease=self._key, because=error)

    async def _renew(self) -> bool:
        try:
            return await self._write(self._seen, self._spec_of_holder())
        except Conflict:
            found = await self._client.get(Lease, self._key)
        except NotFound:
            self.leadership.end()
            return False  # deleted by hand; anyone may have made a new one
        self._observe(found)
        if found.spec.holder_identity != self._identity:
            self.leadership.end()
            return False
        return await self._write(found, self._spec_of_holder())  # a renewal whose answer was lost

    async def _write(self, seen: Lease | None, spec: Doc) -> bool:
        """Write what makes us holder for another term; whether there is any of it left."""
        began = self._clock.monotonic()
        if seen is None:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            written = await self._client.create(Lease, {"metadata": metadata, "spec": spec})
        else:
            written = await self._client.patch(seen, {"spec": spec})
        self._observe(written)
        self._until = began + self._terms.renew_deadline
        self._waits_for = ""
        self.leadership.lasts_until(began + self._terms.lease)
        return self._clock.monotonic() < self._until

    def _spec_of_holder(self) -> Doc:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._terms.lease,
            "renewTime": to_micros(self._clock.now()),
        }

    def _spec_of_new_holder(self, transitions: int) -> Doc:
        renewed = self._spec_of_holder()
        return renewed | {"acquireTime": renewed["renewTime"], "leaseTransitions": transitions}

    # giving it back

    async def _release(self) -> None:
        """Let others have it at once. If that fails, they wait for the lease to run out."""
        now = to_micros(self._clock.now())
        nobody = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": now,
            "acquireTime": now,
        }
        try:
            async with within(self._clock, self._terms.retry):
                while self._seen is not None and self._seen.spec.holder_identity == self._identity:
                    try:
                        self._observe(await self._client.patch(self._seen, {"spec": nobody}))
                    except Conflict:  # a renewal was under way when we stopped
                        self._observe(await self._client.get(Lease, self._key))
        except (ApiError, ConnectionLost, TimeoutError) as error:
            _log.warning("lease not released", lease=self._key, because=error)


async def _until_at_rest(leading: asyncio.Task[None], keeping: asyncio.Task[None]) -> None:
    """Wait for the end of `leading`; it is cancelled when `keeping` ends, or when this is.

    While it comes to rest after this was cancelled, the lease is kept.
    """
    keeping.add_done_callback(lambda _: leading.cancel())
    try:
        await asyncio.wait({leading})
    except asyncio.CancelledError:
        leading.cancel()
        await asyncio.wait({leading})
        raise
    finally:
        keeping.cancel()
