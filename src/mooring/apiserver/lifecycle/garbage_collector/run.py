"""Garbage collection by owner references: follows every table, decides, acts.

Keeps an index of dependents by owner uid, and nothing of the objects that have no owners, which is
nearly all of them: an object without the words `ownerReferences` in it is not even decoded.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from mooring import log
from mooring.apiserver.documents.document import metadata_of
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.garbage_collector.decide import (
    FOREGROUND,
    ORPHAN,
    Delete,
    Dependent,
    DropFinalizer,
    DropReferences,
    Reference,
    Step,
    StoreKey,
    decide_dependent,
    decide_owner,
    without_finalizer,
    without_references,
)
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.store.contract import Entry, Event
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import Conflict, NotFound
from mooring.model.document import Doc
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve

LOG = log.get("mooring.garbage")

OWNED = b'"ownerReferences":['
DELETING = b'"deletionTimestamp":'
HELD_AS_OWNER = (f'"{ORPHAN}"'.encode(), f'"{FOREGROUND}"'.encode())


class GarbageCollector:
    def __init__(self, backend: Backend, writer: InProcessWriter) -> None:
        self._backend = backend
        self._writer = writer
        self.queue: KeyedQueue[StoreKey] = KeyedQueue(backend.clock, AGAIN)
        self._owners: dict[StoreKey, frozenset[str]] = {}  # of each dependent
        self._dependents: defaultdict[str, set[StoreKey]] = defaultdict(set)  # by owner uid
        self._gone: set[str] = set()  # uids of owners whose end was seen: their kind may go, too

    async def run(self) -> None:
        """Collect until cancelled."""
        with Follower(self._backend.store, self._backend.kinds, self._see, self._change):
            await serve(self.queue, self._reconcile)

    # what has been seen

    def _see(self, _: Kind, entry: Entry) -> None:
        value = entry.value
        key = StoreKey(entry.table, entry.name)
        is_owned = value.find(OWNED) >= 0  # `in` would try whether it is a number first
        if is_owned or key in self._owners:
            owners = frozenset(_owner_uids(entry)) if is_owned else frozenset()
            self._index(key, owners)
            self.queue.add(key)
        elif value.find(HELD_AS_OWNER[0]) >= 0 or value.find(HELD_AS_OWNER[1]) >= 0:
            self.queue.add(key)

    def _change(self, kind: Kind, event: Event) -> None:
        if event.deleted:
            self._index(StoreKey(event.entry.table, event.entry.name), frozenset())
            if self._dependents and (uid := metadata_of(event.entry)["uid"]) in self._dependents:
                self._gone.add(uid)
                for dependent in self._dependents[uid]:
                    self.queue.add(dependent)
        else:
            self._see(kind, event.entry)
        if event.previous is not None and OWNED in event.previous.value:
            self._wake_owners(event.previous)

    def _index(self, key: StoreKey, owners: frozenset[str]) -> None:
        for uid in self._owners.pop(key, frozenset()) - owners:
            self._dependents[uid].discard(key)
            if not self._dependents[uid]:
                del self._dependents[uid]
                self._gone.discard(uid)
        if owners:
            self._owners[key] = owners
            for uid in owners:
                self._dependents[uid].add(key)

    def _wake_owners(self, entry: Entry) -> None:
        """It was perhaps what the deletion of an owner waited for, and is no more."""
        metadata = metadata_of(entry)
        for reference in metadata.get("ownerReferences", ()):
            key = self._owner_key(metadata, reference)
            owner = self._backend.store.get(key.table, key.name) if key else None
            if key and owner and DELETING in owner.value:
                self.queue.add(key)

    # reconciling

    async def _reconcile(self, key: StoreKey) -> Verdict:
        kind = self._backend.kinds.of_table(key.table)
        entry = self._backend.store.get(key.table, key.name)
        if entry is None or kind is None:
            return Settled()
        metadata = metadata_of(entry)
        steps: tuple[Step, ...] = decide_dependent(self._dependent(key, metadata))
        if "deletionTimestamp" in metadata:
            dependents = list(self._dependents_of(metadata["uid"]))
            steps += decide_owner(key, metadata["uid"], metadata.get("finalizers", ()), dependents)
        for step in steps:
            await self._act(step)
        return Settled()

    async def _act(self, step: Step) -> None:
        kind = self._backend.kinds.of_table(step.key.table)
        if kind is None:
            return  # its definition has gone, and all of its objects
        namespace, _, name = step.key.name.rpartition("/")
        match step:
            case Delete(_, uid, because):
                LOG.info("collected", table=step.key.table, name=step.key.name, because=because)
                policy = "Foreground" if step.foreground and self._must_wait(uid) else ""
                try:
                    options = DeleteOptions(uid=uid, policy=policy, is_collected=True)
                    await self._writer.delete(kind, namespace, name, options)
                except (NotFound, Conflict):
                    return  # gone, or another object of that name: both fine
            case DropReferences(_, owners, _):
                edit = partial(without_references, owners=owners)
                await self._writer.replace(kind, namespace, name, edit)
            case DropFinalizer(_, finalizer, _):
                drop = partial(without_finalizer, finalizer=finalizer)
                await self._writer.replace(kind, namespace, name, drop)

    def _must_wait(self, uid: str) -> bool:
        """Whether it has dependents to wait for, and none that waits for it: a circle would."""
        dependents = list(self._dependents_of(uid))
        return any(d.blocks(uid) for d in dependents) and not any(d.foreground for d in dependents)

    # the picture that is decided on

    def _dependents_of(self, uid: str) -> Iterator[Dependent]:
        for key in sorted(self._dependents.get(uid, ()), key=lambda p: (p.table, p.name)):
            kind = self._backend.kinds.of_table(key.table)
            entry = self._backend.store.get(key.table, key.name)
            if entry is not None and kind is not None:
                yield self._dependent(key, metadata_of(entry))

    def _dependent(self, key: StoreKey, metadata: Doc) -> Dependent:
        return Dependent(
            key,
            metadata["uid"],
            deleting="deletionTimestamp" in metadata,
            references=tuple(
                self._reference(metadata, r) for r in metadata.get("ownerReferences", ())
            ),
            foreground=_goes_after_dependents(metadata),
        )

    def _reference(self, metadata: Doc, reference: Doc) -> Reference:
        uid, blocks = reference["uid"], bool(reference.get("blockOwnerDeletion"))
        kind, key = self._owner_kind(reference), self._owner_key(metadata, reference)
        if kind is None:
            return Reference(uid, exists=uid not in self._gone)
        if key is None:
            return Reference(uid, exists=True)
        entry = self._backend.store.get(key.table, key.name)
        owner = metadata_of(entry) if entry is not None else {}
        if owner.get("uid") != uid:
            return Reference(uid, exists=False, blocks=blocks)
        return Reference(uid, exists=True, blocks=blocks, foreground=_goes_after_dependents(owner))

    def _owner_kind(self, reference: Doc) -> Kind | None:
        group, _, version = reference["apiVersion"].rpartition("/")
        return self._backend.kinds.by_kind(group, version, reference["kind"])

    def _owner_key(self, metadata: Doc, reference: Doc) -> StoreKey | None:
        """None when it cannot be looked up: its kind is not served, or it is a namespaced owner of
        a cluster-wide object."""
        kind = self._owner_kind(reference)
        namespace = metadata.get("namespace", "")
        if kind is None or (kind.namespaced and not namespace):
            return None
        return StoreKey(kind.store_table, store_name(kind, namespace, reference["name"]))


def _owner_uids(entry: Entry) -> Iterator[str]:
    for reference in metadata_of(entry).get("ownerReferences", ()):
        yield reference["uid"]


def _goes_after_dependents(metadata: Doc) -> bool:
    return "deletionTimestamp" in metadata and FOREGROUND in metadata.get("finalizers", ())
