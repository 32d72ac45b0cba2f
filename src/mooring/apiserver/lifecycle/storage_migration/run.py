"""Storage version migrations at work: every object of a resource is written anew, as by a patch
that changes nothing.

What changes nothing is written only if that brings the object to its storage version, or to today's
defaults. The server itself does so, because it alone knows in which version an object is stored.
Keys are resources, as `plural.group`.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import msgspec

from mooring import log
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.definition.definition import DEFINITION
from mooring.apiserver.kinds.storage_version_migration import STORAGE_VERSION_MIGRATION
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.lifecycle.storage_migration import decide
from mooring.apiserver.lifecycle.storage_migration.decide import (
    Begin,
    Count,
    Finish,
    Mark,
    Migrate,
    Step,
)
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.changing import is_outdated
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import (
    ApiError,
    Conflict,
    NotFound,
    ServerError,
    ServerTimeout,
    StoreError,
    TooManyRequests,
    Unavailable,
)
from mooring.model.document import Doc
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

AT_ONCE = 32  # objects that are being written
LOOK_AT_ONCE = 1000  # of which it is asked in which version they are stored
WORKERS = 2  # resources that are migrated at the same time
UNKNOWN_SECONDS = 60.0  # for which a migration waits for its resource to be defined
LOOK_SECONDS = 5.0
VERBS = ("update", "patch", "list")

_PASSING = (ServerError, ServerTimeout, StoreError, TooManyRequests, Unavailable)
_LOG = log.get("mooring.storage_migration")


class _Migrated(msgspec.Struct, frozen=True):
    count: Count
    passing: Exception | None = None  # the trouble of the first object that had any
    failed: Exception | None = None


class StorageMigrations:
    def __init__(self, backend: Backend, writer: InProcessWriter) -> None:
        self._backend = backend
        self._writer = writer
        self.queue: KeyedQueue[str] = KeyedQueue(backend.clock, AGAIN)
        self._turn = asyncio.Lock()
        self._names: dict[str, set[str]] = {}  # of migrations in the store, by key

    async def run(self) -> None:
        """Carry migrations out until cancelled."""
        with Follower(
            self._backend.store,
            self._backend.kinds,
            lambda _, entry: self._wake(entry),
            lambda _, event: self._wake(event.entry),
            lambda kind: kind.resource == STORAGE_VERSION_MIGRATION.resource,
        ):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(WORKERS):
                    tasks.create_task(serve(self.queue, self._reconcile))

    def _wake(self, entry: Entry) -> None:
        key = _key(decode(STORAGE_VERSION_MIGRATION, entry))
        self._names.setdefault(key, set()).add(entry.name)
        self.queue.add(key)

    async def _reconcile(self, key: str) -> Verdict:
        """Raises: MooringError, when it is to be tried again."""
        verdict: Verdict = Settled()
        for step in decide.decide(self._look(key)):
            told = await self._carry_out(key, step)
            verdict = told if isinstance(told, Again) else verdict
        return verdict

    def _look(self, key: str) -> list[Doc]:
        """The migrations of one resource as they are now; there may be very many of others."""
        found: list[Doc] = []
        for name in tuple(self._names.get(key, ())):
            entry = self._backend.store.get(STORAGE_VERSION_MIGRATION.store_table, name)
            migration = None if entry is None else decode(STORAGE_VERSION_MIGRATION, entry)
            if migration is not None and _key(migration) == key:
                found.append(migration)
            else:  # gone, or made anew for another resource
                self._names[key].discard(name)
        if not found:
            self._names.pop(key, None)
        return found

    async def _carry_out(self, key: str, step: Step) -> Verdict:
        now, name = self._backend.now(), step.migration["metadata"]["name"]
        match step:
            case Begin():
                await self._define(key, partial(decide.migrating, name=name, now=now))
                await self._tell(name, partial(decide.running, now=now))
            case Mark():
                return await self._mark(key, step)
            case Migrate():
                return await self._migrate(key, step)
            case Finish():
                told = partial(decide.migrated, name=name, now=now, succeeded=step.succeeded)
                await self._define(key, told)
                await self._tell(name, partial(decide.finished, now=now))
        return Settled()

    async def _mark(self, key: str, step: Mark) -> Verdict:
        """From which version on objects need not be written anew."""
        metadata, now = step.migration["metadata"], self._backend.now()
        kind = self._find_kind(key)
        if kind is None:
            since = datetime.fromisoformat(metadata["creationTimestamp"])
            if (self._backend.clock.now() - since).total_seconds() < UNKNOWN_SECONDS:
                return Again(LOOK_SECONDS)
            why = "resource does not exist in discovery"
            await self._tell(metadata["name"], partial(decide.failed, now=now, why=why))
        elif not set(VERBS).issubset(kind.verbs):
            shown = f"{kind.group}/{kind.version}, Resource={kind.plural}"
            why = f'resource "{shown}" does not support discovery operations: [{" ".join(VERBS)}]'
            await self._tell(metadata["name"], partial(decide.failed, now=now, why=why))
        else:
            await self._backend.store.catch_up()
            version = self._backend.store.revision
            await self._tell(metadata["name"], partial(decide.marked, version=version))
        return Settled()

    async def _migrate(self, key: str, step: Migrate) -> Verdict:
        """Raises: ApiError, StoreError, which are over some time."""
        name = step.migration["metadata"]["name"]
        kind = self._find_kind(key)
        if kind is None:
            why = "migration encountered unhandled error: unable to obtain GVR from discovery"
            await self._tell(name, partial(decide.failed, now=self._backend.now(), why=why))
            return Settled()
        done = await self._rewrite(kind, step.version)
        now = self._backend.now()  # it has taken its time
        if done.failed is not None:
            why = f"migration encountered unhandled error: {done.failed}"
            told = partial(decide.failed, now=now, why=why, count=done.count)
            await self._tell(name, told)
        elif done.passing is not None:
            trouble = str(done.passing)
            await self._tell(
                name, partial(decide.running, now=now, count=done.count, trouble=trouble)
            )
            raise done.passing
        elif done.count.left:  # others have written it, in another version, meanwhile
            return Again(LOOK_SECONDS)
        else:
            _LOG.info("storage version migrated", resource=key, objects=done.count.total)
            await self._tell(name, partial(decide.succeeded, now=now, count=done.count))
        return Settled()

    async def _rewrite(self, kind: Kind, version: int) -> _Migrated:
        """All objects that are no newer than that, and those that are stored in another version."""
        store = self._backend.store
        await store.catch_up()
        entries = store.range(kind.store_table).entries
        old = await self._find(kind, entries, version)
        left, passing = len(old), None
        for start in range(0, len(old), AT_ONCE):
            some = old[start : start + AT_ONCE]
            ends = await asyncio.gather(
                *(self._rewrite_one(kind, one) for one in some), return_exceptions=True
            )
            for end in ends:
                match end:
                    case None | Conflict() | NotFound():
                        left -= 1  # or somebody else has written it since, or taken it away
                    case ApiError() | StoreError() if isinstance(end, _PASSING):
                        passing = passing or end
                    case ApiError():
                        return _Migrated(Count(left, len(entries)), failed=end)
                    case _:
                        raise end
            if passing is not None:
                break
        if not left:
            left = len(await self._find(kind, store.range(kind.store_table).entries, 0))
        return _Migrated(Count(left, len(entries)), passing=passing)

    async def _find(self, kind: Kind, entries: Sequence[Entry], version: int) -> list[Entry]:
        """Those that are no newer than that, and those that are stored in another version."""
        found: list[Entry] = []
        working = self._backend.turns.slice()
        for start in range(0, len(entries), LOOK_AT_ONCE):
            if working.is_over:
                await working.pause()
            some = entries[start : start + LOOK_AT_ONCE]
            found += [one for one in some if one.revision <= version or is_outdated(kind, one)]
        return found

    async def _rewrite_one(self, kind: Kind, entry: Entry) -> None:
        async with self._turn:  # each may be large; who waits for a slice waits for one of them
            await self._backend.turns.next()
        namespace, _, name = entry.name.rpartition("/")
        await self._writer.merge(kind, namespace, name, str(entry.revision), [("", {})])

    async def _tell(self, name: str, edit: decide.Edit) -> None:
        await self._writer.replace(STORAGE_VERSION_MIGRATION, "", name, edit)

    async def _define(self, key: str, edit: decide.Edit) -> None:
        """Tell the definition of the resource, if it has one."""
        await self._writer.replace(DEFINITION, "", key, edit)

    def _find_kind(self, key: str) -> Kind | None:
        """The kind to write by: that of the storage version if it is served."""
        plural, _, group = key.partition(".")
        kinds = self._backend.kinds
        served = [one for one in kinds.all() if (one.group, one.plural) == (group, plural)]
        for kind in served:
            if kind.stored_as is not None and kind.stored_as.storage == kind.api_version:
                return kind
        known = (versions for versions in kinds.groups() if versions.name == group)
        order = next((versions.versions for versions in known), ())
        return min(served, key=lambda one: order.index(one.version), default=None)


def _key(migration: Doc) -> str:
    resource = migration["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}"
