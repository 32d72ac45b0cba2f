"""Definitions: their names are judged, their kinds served, and their objects deleted with them.

What is served follows from the stored definitions alone, in the commit that changes one: kind,
discovery and condition are seen in one step. The queue holds the names of definitions to look at.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from mooring import log
from mooring.apiserver.custom.kinds_of import kinds_of
from mooring.apiserver.documents.document import decode, metadata_of
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.definition.conditions import ESTABLISHED, is_true
from mooring.apiserver.kinds.definition.definition import DEFINITION, FINALIZER
from mooring.apiserver.lifecycle.definitions.decide import (
    accepted_names,
    decide_status,
    deletion_begun,
    deletion_done,
    deletion_held,
    is_settled,
)
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.store.contract import Entry, Event, Watch
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import Compacted, Conflict, NotFound
from mooring.model.document import Doc
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve

LOG = log.get("mooring.definitions")

AT_ONCE = 32  # objects deleted before others have their turn
_COMPLETED = ("InstanceDeletionCompleted", "removed all instances")
_NEVER = ("NeverEstablished", "resource was never established")
_OVERLAPPING = (
    "OverlappingBuiltInResource",
    "instances overlap with built-in resources in storage",
)


class _Served(NamedTuple):
    """What the kinds of a definition follow from."""

    digest: str
    is_going: bool
    oldest: tuple[str, ...]  # the version of objects that do not say in which they are stored


class Definitions:
    """`start` before the first request: it serves what is defined already."""

    def __init__(self, backend: Backend, writer: InProcessWriter) -> None:
        self._backend = backend
        self._writer = writer
        self.queue: KeyedQueue[str] = KeyedQueue(backend.clock, AGAIN)
        self._names: defaultdict[str, dict[str, Doc]] = defaultdict(dict)  # accepted ones, by group
        self._served: dict[str, _Served] = {}  # by definition
        self._emptied: dict[str, Watch] = {}  # by definition that is being deleted: its objects
        self._follower = Follower(
            backend.store,
            backend.kinds,
            self._see,
            self._change,
            lambda kind: kind.resource == DEFINITION.resource,
        )

    def start(self) -> None:
        self._follower.start()

    async def run(self) -> None:
        """Look after definitions until cancelled."""
        try:
            await serve(self.queue, self._reconcile)
        finally:
            self._follower.stop()
            for watch in self._emptied.values():
                watch.close()

    # what is served

    def _see(self, _: Kind, entry: Entry) -> None:
        definition = decode(DEFINITION, entry)
        self._names[_group_in(entry.name)][entry.name] = accepted_names(definition)
        self._serve(entry, definition)
        if not is_settled(definition):
            self.queue.add(entry.name)

    def _change(self, kind: Kind, event: Event) -> None:
        if not event.deleted:
            self._see(kind, event.entry)
            return
        name = event.entry.name
        if self._served.pop(name, None) is not None:
            self._backend.kinds.withdraw(name)
        self._stop_waiting(name)
        others = self._names[_group_in(name)]
        others.pop(name, None)
        for other in others:
            self.queue.add(other)  # names are free again

    def _serve(self, entry: Entry, definition: Doc) -> None:
        if not is_true(definition, ESTABLISHED) or self._overlaps(definition):
            return
        digest = _digest(definition)
        stored = tuple(definition["status"].get("storedVersions") or ())
        served = _Served(digest, "deletionTimestamp" in definition["metadata"], stored[:1])
        if self._served.get(entry.name) == served:
            return
        defined = kinds_of(definition, entry.value, digest)
        self._backend.kinds.serve(entry.name, defined.served, defined.stored)
        self._served[entry.name] = served

    def _overlaps(self, definition: Doc) -> bool:
        spec = definition["spec"]
        return self._backend.kinds.is_builtin(spec["group"], spec["names"]["plural"])

    # reconciling

    async def _reconcile(self, name: str) -> Verdict:
        entry = self._backend.store.get(DEFINITION.store_table, name)
        if entry is None:
            return Settled()
        definition = decode(DEFINITION, entry)
        metadata = definition["metadata"]
        if "deletionTimestamp" not in metadata:
            await self._accept(name)
        elif FINALIZER in metadata.get("finalizers", ()):
            await self._delete(name, definition)
        return Settled()

    async def _accept(self, name: str) -> None:
        now = self._backend.now()

        def edit(newest: Doc) -> Doc:
            group = self._names[_group_in(name)]
            others = [names for other, names in group.items() if other != name]
            others += self._names_of_builtin(name)
            return {**newest, "status": decide_status(newest, others, now)}

        await self._writer.replace(DEFINITION, "", name, edit)

    def _names_of_builtin(self, name: str) -> Iterator[Doc]:
        """Of the built-in kinds of its group, but for the one that it defines once more."""
        group, plural = _group_in(name), _plural_in(name)
        kinds = self._backend.kinds
        for kind in kinds.all():
            if kind.group == group and kind.plural != plural and kind.structure is None:
                yield {
                    "plural": kind.plural,
                    "singular": kind.singular,
                    "shortNames": list(kind.short_names),
                    "kind": kind.kind,
                    "listKind": kind.list_kind,
                }

    # deletion

    async def _delete(self, name: str, definition: Doc) -> None:
        kind = self._backend.kinds.of_table(f"{definition['spec']['group']}/{_plural_in(name)}")
        if self._overlaps(definition):
            await self._let_go(name, *_OVERLAPPING)
        elif not is_true(definition, ESTABLISHED) or kind is None:
            await self._let_go(name, *_NEVER)
        else:
            await self._empty(name, kind)

    async def _let_go(self, name: str, reason: str, message: str) -> None:
        LOG.info("definition deleted", name=name, because=message)
        edit = partial(deletion_done, reason=reason, message=message, now=self._backend.now())
        await self._writer.replace(DEFINITION, "", name, edit)

    async def _empty(self, name: str, kind: Kind) -> None:
        store, now = self._backend.store, self._backend.now()
        if name not in self._emptied:
            await self._writer.replace(DEFINITION, "", name, partial(deletion_begun, now=now))
        self._wait_for_objects(name, kind)
        entries = store.range(kind.store_table).entries
        for start in range(0, len(entries), AT_ONCE):
            some = entries[start : start + AT_ONCE]
            await asyncio.gather(*(self._delete_object(kind, entry) for entry in some))
            await self._backend.turns.next()
        left = store.count(kind.store_table)
        if not left:
            self._stop_waiting(name)
            await self._let_go(name, *_COMPLETED)
            return
        held = partial(deletion_held, left=left, now=now)
        await self._writer.replace(DEFINITION, "", name, held)

    async def _delete_object(self, kind: Kind, entry: Entry) -> None:
        metadata = metadata_of(entry)
        if "deletionTimestamp" in metadata:
            return
        options = DeleteOptions(uid=metadata["uid"], policy="Background")
        try:
            namespace = metadata.get("namespace", "")
            await self._writer.delete(kind, namespace, metadata["name"], options)
        except (NotFound, Conflict):
            return  # gone, or another object of that name, which the next look finds

    def _wait_for_objects(self, name: str, kind: Kind) -> None:
        """Look again when an object goes."""
        if name in self._emptied:
            return
        store = self._backend.store

        def changed() -> None:
            watch = self._emptied.get(name)
            try:
                while watch is not None and (events := watch.poll(AT_ONCE)):
                    if any(event.deleted for event in events):
                        self.queue.add(name)
            except Compacted:
                self._stop_waiting(name)
                self.queue.add(name)

        self._emptied[name] = store.watch(kind.store_table, store.revision, changed)

    def _stop_waiting(self, name: str) -> None:
        if watch := self._emptied.pop(name, None):
            watch.close()


def _digest(definition: Doc) -> str:
    """Of all that the documents of its kinds follow from: labels and conditions do not count."""
    told = (definition["spec"], definition["status"]["acceptedNames"])
    return blake2b(msgspec.json.encode(told), digest_size=16).hexdigest()


def _plural_in(name: str) -> str:
    return name.partition(".")[0]


def _group_in(name: str) -> str:
    return name.partition(".")[2]
