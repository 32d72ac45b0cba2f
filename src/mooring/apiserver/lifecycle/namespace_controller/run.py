"""Namespaces: given their default objects when they appear, emptied when they are deleted."""

import asyncio
from collections import Counter
from contextlib import suppress

from mooring.apiserver.documents.document import metadata_of
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.lifecycle.namespace_controller.decide import (
    default_objects,
    emptied,
    with_progress,
)
from mooring.apiserver.store.contract import Entry, Event
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import AlreadyExists, Conflict, Forbidden, NotFound
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve

FIRST = ("default", "kube-system", "kube-public", "kube-node-lease")
MOST_AT_ONCE = 200
MOST_TOLD = 5  # objects that could not be deleted, in a condition


class Namespaces:
    """`authority` is the PEM of the CA that signs the server's certificate."""

    def __init__(self, backend: Backend, writer: InProcessWriter, authority: str) -> None:
        self._backend = backend
        self._writer = writer
        self._default_objects = default_objects(authority)
        self.queue: KeyedQueue[str] = KeyedQueue(backend.clock, AGAIN)
        self._going: set[str] = set()

    async def run(self) -> None:
        """Look after namespaces until cancelled."""
        with Follower(
            self._backend.store, self._backend.kinds, self._see, self._change, _concerns_namespaces
        ):
            await serve(self.queue, self._reconcile)

    async def create_first(self) -> None:
        """The namespaces that are always there, with what is in them."""
        kind = self._kind("namespaces")
        for name in FIRST:
            if self._backend.store.get(kind.store_table, name) is None:
                with suppress(AlreadyExists):  # by another server that starts
                    await self._writer.create(kind, "", {"metadata": {"name": name}})
            await self._create_defaults(name)

    def _see(self, kind: Kind, entry: Entry) -> None:
        if kind.resource == "namespaces":
            self.queue.add(entry.name)

    def _change(self, kind: Kind, event: Event) -> None:
        if kind.resource == "namespaces":
            self.queue.add(event.entry.name)
        elif event.deleted and kind.namespaced:
            namespace = event.entry.name.partition("/")[0]
            if namespace in self._going or kind.resource in ("serviceaccounts", "configmaps"):
                self.queue.add(namespace)

    async def _reconcile(self, name: str) -> Verdict:
        kind = self._kind("namespaces")
        entry = self._backend.store.get(kind.store_table, name)
        if entry is None:
            self._going.discard(name)
        elif "deletionTimestamp" in metadata_of(entry):
            self._going.add(name)
            await self._empty(name)
        else:
            await self._create_defaults(name)
        return Settled()

    async def _create_defaults(self, name: str) -> None:
        for plural, doc in self._default_objects:
            kind = self._kind(plural)
            if self._backend.store.get(kind.store_table, f"{name}/{doc['metadata']['name']}"):
                continue
            try:
                await self._writer.create(kind, name, {**doc, "metadata": dict(doc["metadata"])})
            except (AlreadyExists, NotFound, Forbidden):
                continue  # written by another client, or the namespace is gone

    async def _empty(self, name: str) -> None:
        """Pods go first: what they use stays until they have ended."""
        kinds = [k for k in self._backend.kinds.stored() if k.namespaced and "delete" in k.verbs]
        pods = self._kind("pods")
        troubles = await self._delete_all(pods, name)
        if not self._backend.store.range(pods.store_table, f"{name}/", limit=1).entries:
            for kind in kinds:
                troubles += await self._delete_all(kind, name)
        await self._backend.store.catch_up()  # others may have written what is to be counted
        remaining: Counter[str] = Counter()
        held: Counter[str] = Counter()
        for kind in kinds:
            for entry in self._backend.store.range(kind.store_table, f"{name}/").entries:
                remaining[f"{kind.plural}.{kind.group}"] += 1
                held.update(metadata_of(entry).get("finalizers", ()))
        now = self._backend.now()
        namespaces = self._kind("namespaces")
        told = [str(trouble) for trouble in troubles[:MOST_TOLD]]
        await self._writer.replace(
            namespaces, "", name, lambda doc: with_progress(doc, remaining, held, now, told)
        )
        if not remaining:
            await self._writer.replace(namespaces, "", name, emptied)
        if troubles:
            raise troubles[0]

    async def _delete_all(self, kind: Kind, namespace: str) -> list[BaseException]:
        """What was in the way; one object that cannot be deleted keeps no other."""
        entries = self._backend.store.range(kind.store_table, f"{namespace}/").entries
        ends: list[BaseException | None] = []
        for start in range(0, len(entries), MOST_AT_ONCE):
            some = entries[start : start + MOST_AT_ONCE]
            deletions = (self._delete(kind, namespace, entry) for entry in some)
            ends += await asyncio.gather(*deletions, return_exceptions=True)
        return [end for end in ends if end is not None]

    async def _delete(self, kind: Kind, namespace: str, entry: Entry) -> None:
        metadata = metadata_of(entry)
        if "deletionTimestamp" in metadata and metadata.get("finalizers"):
            return
        try:
            options = DeleteOptions(uid=metadata["uid"], policy="Background")
            await self._writer.delete(kind, namespace, metadata["name"], options)
        except (NotFound, Conflict):
            return

    def _kind(self, plural: str) -> Kind:
        found = self._backend.kinds.find("", "v1", plural)
        if found is None:
            raise LookupError(f"no kind {plural}")
        return found


def _concerns_namespaces(kind: Kind) -> bool:
    return kind.namespaced or kind.resource == "namespaces"
