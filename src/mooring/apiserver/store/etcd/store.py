"""The engine on etcd: several API servers share one history.

Reads and watches are served from memory, which one watch feeds. A write is decided on the version
in memory and made only if that is still the newest in etcd, else decided again on the one that was
found there; a refusal counts only when the version it is based on is the newest. Whoever must see
what other servers have written calls `catch_up` first.
"""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from mooring import log as logs
from mooring.apiserver.store.contract import Change, Decide, Entry, Event, Put, Remove
from mooring.apiserver.store.etcd.attempt import Attempt, Seen
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.compaction import INTERVAL, Compaction, compact
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.kine import REFUSED, is_kine
from mooring.apiserver.store.etcd.layout import Layout, UnreadableValue
from mooring.apiserver.store.etcd.leases import Leases
from mooring.apiserver.store.etcd.loading import load
from mooring.apiserver.store.etcd.newest_revision import NewestRevision, read_newest
from mooring.apiserver.store.etcd.proto.etcd_pb2 import Event as WireEvent
from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    KeyValue,
    LeaseGrantRequest,
    ResponseHeader,
)
from mooring.apiserver.store.etcd.restored import Witness
from mooring.apiserver.store.etcd.turns import Key, KeyTurns
from mooring.apiserver.store.etcd.watching import Watching
from mooring.apiserver.store.etcd.wire import (
    COMPACTED,
    LEASE_GRANT,
    NO_LEASE,
    RANGE,
    delete_if_unchanged,
    found_instead,
    put_if_unchanged,
    read_key,
)
from mooring.apiserver.store.history import DEFAULT_LIMITS, Limits
from mooring.apiserver.store.timeline import Timeline
from mooring.clock import Clock
from mooring.errors import EtcdError, StoreError
from mooring.reconcile.worker import lasting

_log = logs.get("mooring.etcd")

HISTORY = 1000  # revisions that a new server knows: watches of one that died can go on here
PROBE_SECONDS = 5.0  # between looks whether etcd answers
PROGRESS_SECONDS = 0.1  # between questions how far the watch is, while somebody waits for it
SILENT_SECONDS = 3.0  # then another member is watched
BEHIND_SECONDS = 7.0  # and then who waits is refused
_MOST_TRIES = 3  # of one write whose answers are lost


class EtcdStore(Timeline):
    def __init__(
        self,
        cluster: Cluster,
        layout: Layout,
        clock: Clock,
        witness: Witness,
        limits: Limits,
    ) -> None:
        super().__init__(clock, limits)
        self._cluster = cluster
        self._layout = layout
        self._witness = witness
        self._turns = KeyTurns()
        self._leases = Leases(self._grant, clock)
        self._newest = NewestRevision(self._read_revision)
        self._watching = Watching(cluster, layout.prefix, self, clock)
        self._hurry = asyncio.Event()
        self._attempts: dict[Key, Attempt] = {}
        self._rng = random.Random()  # noqa: S311  tells writes apart, and is no secret
        self._behind = 0  # how many wait for what other servers wrote
        self._unread: dict[Key, str] = {}  # why a value cannot be read
        self._probed: str | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(
        cls,
        cluster: Cluster,
        layout: Layout,
        clock: Clock,
        mark: Path | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        compaction_interval: float = INTERVAL,
    ) -> Self:
        """Read everything, and follow it until closed. The store owns the cluster's connections.

        `mark` is a file that remembers how far etcd had come. A `compaction_interval` of 0 leaves
        compaction to others. Raises: EtcdError, UnreadableValue, UsageError.
        """
        try:
            loaded = await load(cluster, layout, HISTORY, is_followed=True)
            witness = Witness.open(mark, loaded.header)
        except BaseException:
            await cluster.close()
            raise
        witness.written = loaded.newest
        store = cls(cluster, layout, clock, witness, limits)
        store.load(loaded.tables, loaded.revision)
        store._start(compaction_interval)
        try:
            await store._reach(loaded.header.revision)
        except BaseException:
            await store.close()
            raise
        _log.info("etcd read", revision=store.revision, history_from=store.oldest)
        return store

    @property
    def trouble(self) -> str | None:
        unread = next(iter(self._unread.values()), None)
        return super().trouble or self._witness.flaw or self._probed or unread

    @property
    def is_shared(self) -> bool:
        return True

    async def write(self, table: str, name: str, decide: Decide) -> Entry | None:
        self.check_open()
        self._check_same()
        async with self._turns.turn((table, name)):
            seen = Seen(self.get(table, name), self.revision)
            while True:
                refusal: Exception | None = None
                change: Change = None
                try:
                    change = decide(seen.entry)
                except Exception as error:  # noqa: BLE001  raised below, if it is true
                    refusal = error
                if change is None or (seen.entry is None and isinstance(change, Remove)):
                    newest = await self._read((table, name))
                    if newest.guard == seen.guard:
                        await self._visible(newest.guard)
                        if refusal is not None:
                            raise refusal
                        return seen.entry
                    seen = newest
                    continue
                outcome = await self._commit((table, name), seen, change)
                if isinstance(outcome, Entry):
                    return await self._shown(outcome, change)
                seen = outcome

    async def catch_up(self) -> None:
        self.check_open()
        await self._reach(await self._newest.ask())

    async def wait_for(self, revision: int) -> None:
        if self._revision >= revision:
            return
        self._behind += 1
        self._watching.ask_progress()
        self._hurry.set()
        try:
            await super().wait_for(revision)
        finally:
            self._behind -= 1

    async def compact(self, revision: int) -> None:
        await super().compact(revision)
        try:
            await compact(self._cluster, revision)
        except Failed as failed:
            raise failed.as_error() from None

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        await self._turns.all_done()
        self._newest.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().close()
        await self._witness.close()
        await self._cluster.close()

    # What the watch feeds.

    def take_changes(self, events: Sequence[WireEvent]) -> None:
        """The changes of one answer, in the order of their revisions."""
        taken: list[Event] = []
        newer: dict[Key, Entry | None] = {}
        for told in events:
            revision = told.kv.mod_revision
            is_ours = told.kv.key.startswith(self._layout.prefix)
            place = self._layout.find_place(told.kv.key) if is_ours else None
            if place is None or revision <= self._revision:
                continue
            if attempt := self._attempts.get(place):
                attempt.hear(told, revision)
            previous = newer[place] if place in newer else self.get(*place)
            self._unread.pop(place, None)
            if told.type == WireEvent.DELETE:
                self._witness.removed = told.kv
                if previous is None:
                    continue  # one that could not be read
                entry = self._layout.restamped(previous, revision)
                newer[place] = None
            else:
                found = self._find_entry(place, told.kv)
                if found is None:
                    continue
                entry = newer[place] = found
                self._witness.written = told.kv
            taken.append(Event(revision, entry, previous, told.type == WireEvent.DELETE))
        if taken:
            self.apply(taken)
            self._witness.note(self._revision)
        self.advance(events[-1].kv.mod_revision)

    def check_header(self, header: ResponseHeader, known: int) -> bool:
        return self._witness.check(header, known)

    async def check_past(self) -> None:
        for seen in (self._witness.written, self._witness.removed):
            if seen is None:
                continue
            try:
                answer = await self._cluster.read(RANGE, read_key(seen.key, seen.mod_revision))
            except Failed as failed:
                if failed.text == COMPACTED:  # the changes since may be, too: then all is read anew
                    continue
                raise
            self._witness.compare(seen, answer.kvs[0] if answer.kvs else None)

    async def reload(self) -> None:
        loaded = await load(self._cluster, self._layout, is_followed=True)
        for attempt in self._attempts.values():
            attempt.is_unwatched = True
        self._witness.begin(loaded.header)
        self._witness.written = loaded.newest
        self._unread.clear()
        self.restart(loaded.tables, loaded.revision)

    # Writing.

    async def _commit(self, key: Key, seen: Seen, change: Put | Remove) -> Entry | Seen:
        """The version that was written, or the newest one when another was faster.

        A write whose answer is lost may still happen. Made again, only one of the two can, because
        no revision comes twice; not so for what was absent, which may have come and gone.
        Raises: EtcdError when it was refused, or nobody can say what became of it.
        """
        attempt = self._attempts[key] = await self._attempt(key, seen, change)
        try:
            for _ in range(_MOST_TRIES):
                outcome = await self._try(key, seen, attempt)
                if isinstance(outcome, int):
                    return self._stamped(key, change, outcome)
                if outcome is not None:
                    return outcome
                if not seen.guard:
                    break
        finally:
            del self._attempts[key]
        raise _unknown(attempt.lost)

    async def _attempt(self, key: Key, seen: Seen, change: Put | Remove) -> Attempt:
        at = self._layout.key(*key)
        if isinstance(change, Remove):
            return Attempt(delete_if_unchanged(at, seen.guard), None)
        lease = await self._leases.find(self._layout.seconds_to_live(key[0]))
        value = self._layout.value(key[0], change, self._rng.getrandbits(32))
        return Attempt(put_if_unchanged(at, seen.guard, value, lease), value)

    async def _try(self, key: Key, seen: Seen, attempt: Attempt) -> int | Seen | None:
        """The revision that was written, or another's version; None: nothing has happened yet."""
        known = self._revision
        try:
            response = await self._cluster.transact(attempt.request)
        except Failed as failed:
            if not attempt.lost and failed.text == NO_LEASE:
                self._leases.forget()
                return seen
            if not attempt.lost and failed.is_certain:
                raise failed.as_error() from None
            attempt.lost = attempt.lost or failed.text
            _log.info("asks what became of a write", object=key, because=failed.text)
        else:
            if is_kine(response.header):
                if response.succeeded:
                    return response.header.revision
                attempt.lost = attempt.lost or REFUSED
            else:
                self._witness.check(response.header, known)
                if response.succeeded:
                    return response.header.revision
                if not attempt.lost:
                    return self._seen(key, found_instead(response), response.header.revision)
        try:
            newest = await self._read(key)
            await self._reach(await self._newest.ask())
        except EtcdError as error:
            raise _unknown(str(error)) from error
        if attempt.revision:
            return attempt.revision
        if attempt.is_unwatched:
            raise _unknown(attempt.lost)
        return None if newest.guard == seen.guard else newest

    async def _shown(self, entry: Entry, change: Put | Remove) -> Entry:
        """What the writer gets: the entry in memory where that is it."""
        await self._visible(entry.revision)
        current = self.get(entry.table, entry.name)
        is_it = isinstance(change, Put) and current and current.revision == entry.revision
        return current if current and is_it else entry

    async def _visible(self, revision: int) -> None:
        """Return when readers see it; what is durable is acknowledged even if they do not yet."""
        if self._revision >= revision:
            return
        try:
            async with asyncio.timeout(BEHIND_SECONDS):
                await super().wait_for(revision)
        except (TimeoutError, StoreError) as error:
            _log.warning("written, but not seen by the watch yet", revision=revision, why=error)

    # Reading.

    async def _read(self, key: Key) -> Seen:
        try:
            answer = await self._cluster.read(RANGE, read_key(self._layout.key(*key)))
        except Failed as failed:
            raise failed.as_error() from None
        kv = answer.kvs[0] if answer.kvs else None
        return self._seen(key, kv, answer.header.revision)

    def _seen(self, key: Key, kv: KeyValue | None, revision: int) -> Seen:
        if kv is None:
            return Seen(None, revision)
        known = self.get(*key)
        if known is not None and known.revision == kv.mod_revision:
            return Seen(known, revision)
        return Seen(self._layout.entry(*key, kv.value, kv.mod_revision), revision)

    async def _read_revision(self) -> int:
        known = self._revision
        try:
            newest = await read_newest(self._cluster)
        except Failed as failed:
            raise failed.as_error() from None
        self._witness.check(newest, known)
        self._check_same()
        return newest.revision

    def _find_entry(self, place: Key, kv: KeyValue) -> Entry | None:
        try:
            return self._layout.entry(*place, kv.value, kv.mod_revision)
        except UnreadableValue as error:
            self._unread[place] = str(error)
            _log.warning("a value cannot be read", because=error)
            return None

    def _stamped(self, key: Key, change: Change, revision: int) -> Entry:
        put = change.last if isinstance(change, Remove) else change
        assert put is not None  # noqa: S101  only changes are written
        return Entry(*key, put.stamp(revision), revision)

    def _check_same(self) -> None:
        if self._witness.flaw:
            raise EtcdError(self._witness.flaw)

    async def _grant(self, seconds: int) -> int:
        request = LeaseGrantRequest(TTL=seconds)
        try:
            return (await self._cluster.read(LEASE_GRANT, request)).ID
        except Failed as failed:
            raise failed.as_error() from None

    # Running.

    def _start(self, compaction_interval: float) -> None:
        loops = {
            "watch": self._watching.run,
            "progress": self._ask_progress,
            "probe": self._probe,
            "mark": self._witness.keep,
        }
        if compaction_interval:
            compaction = Compaction(self._cluster, self._clock, compaction_interval)
            loops["compaction"] = compaction.run
        self._tasks = [
            asyncio.create_task(lasting(f"etcd {name}", self._clock, run))
            for name, run in loops.items()
        ]

    async def _ask_progress(self) -> None:
        while True:
            await self._hurry.wait()
            while self._behind:
                await self._clock.sleep(PROGRESS_SECONDS)
                self._watching.ask_progress()
            self._hurry.clear()

    async def _probe(self) -> None:
        while True:
            await self._clock.sleep(PROBE_SECONDS)
            try:
                await self.catch_up()
            except StoreError as error:
                self._probed = str(error)
            else:
                self._probed = None

    async def _reach(self, revision: int) -> None:
        """Wait for a revision that etcd has. Raises: EtcdError when the watch is stuck."""
        for seconds in (SILENT_SECONDS, BEHIND_SECONDS):
            if self._revision >= revision or await self._comes_within(revision, seconds):
                return
            self._watching.begin_anew()
        raise EtcdError(f"the watch on etcd is behind: it has not reached revision {revision}")

    async def _comes_within(self, revision: int, seconds: float) -> bool:
        waiting = asyncio.ensure_future(self.wait_for(revision))
        alarm = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((waiting, alarm), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                await waiting  # raises when the store was closed
            return waiting.done()
        finally:
            waiting.cancel()
            alarm.cancel()


def _unknown(lost: str) -> EtcdError:
    return EtcdError(f"{lost}: whether the write has happened is not known")
