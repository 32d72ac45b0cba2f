"""Objects in the version that somebody wants them in, brought there by their definition's webhook.

An object that is stored in the wanted version is as it is, and nobody is asked. Else its entry is
exchanged for one in the other version before anything is decoded: whoever reads entries does not
notice. What was converted is kept for the next reader until the object or its definition changes;
readers who want the same at the same time share one question. A webhook that hangs costs its own
readers their time, and nobody else's.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

import msgspec

from mooring.apiserver.documents.document import (
    are_stored_as,
    decode_as_stored,
    stored_version,
    to_put,
    written_by,
)
from mooring.apiserver.kinds.contract import ConversionWebhook, Kind, StoredAs
from mooring.apiserver.limits.budgets import (
    MOST_CONVERSIONS,
    MOST_CONVERTED_AT_ONCE,
    MOST_CONVERTED_BYTES,
)
from mooring.apiserver.limits.turns import Turns, round_trip
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.webhooks.asking import Asking, out_of_time
from mooring.apiserver.webhooks.conversion_review import (
    BadConversion,
    check_size,
    is_large,
    question,
    read_answer,
    read_object,
)
from mooring.apiserver.webhooks.reach import CallFailed
from mooring.errors import ApiError, ServerError
from mooring.host.blocking import in_thread
from mooring.model.document import Doc

SECONDS = 30.0  # for one question, as upstream has it
LOOK_AT_ONCE = 1000  # entries of which it is asked whether they are converted, in about 1 ms

_Key = tuple[Kind, str, int]  # name and revision of an entry, in the version of the kind
_Found = dict[_Key, Entry]
_Task = asyncio.Task[_Found]


class Conversions:
    """Those of one server. Without a conversion webhook, every method returns what it is given."""

    def __init__(self, asking: Asking, turns: Turns) -> None:
        self._asking = asking
        self._turns = turns
        self._kept: OrderedDict[_Key, Entry] = OrderedDict()  # the longest unused first
        self._bytes = 0
        self._under_way: dict[_Key, asyncio.Task[_Found]] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        # By table: who may ask its webhook. Held by those who wait or ask.
        self._lines: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # reading

    def known(self, kind: Kind, entries: Sequence[Entry]) -> Sequence[Entry] | None:
        """The entries as `kind` shows them, if nobody has to be asked for it."""
        if _needs_nobody(kind, entries):
            return entries
        stored = _stored(kind)
        out: list[Entry] = []
        for entry in entries:
            shown = self._find(kind, stored, entry)
            if shown is None:
                return None
            out.append(shown)
        return out

    async def readable(self, kind: Kind, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries as `kind` shows them; waits only if its webhook has to be asked, or if
        there are many.

        Raises: ServerError when it does not convert them all.
        """
        if _needs_nobody(kind, entries):
            return entries
        found = self.known(kind, entries) if len(entries) <= LOOK_AT_ONCE else None
        if found is not None:
            return found
        await round_trip()  # so that `at_once` sees that this takes a while
        return await self._convert_entries(kind, entries)

    async def readable_one(self, kind: Kind, entry: Entry) -> Entry:
        if kind.stored_as is None or kind.stored_as.webhook is None:
            return entry
        return (await self.readable(kind, (entry,)))[0]

    def _find(self, kind: Kind, stored: StoredAs, entry: Entry) -> Entry | None:
        if stored_version(stored, entry) == kind.api_version:
            return entry
        key = (kind, entry.name, entry.revision)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def _keep(self, key: _Key, entry: Entry) -> None:
        if key in self._kept:
            return
        self._kept[key] = entry
        self._bytes += len(entry.value)
        while self._bytes > MOST_CONVERTED_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.value)

    # writing

    async def to_storage(self, kind: Kind, doc: Doc) -> Doc:
        """A document in the version that it is to be stored in; the one given stays as it is."""
        stored = kind.stored_as
        if stored is None or doc["apiVersion"] == stored.storage:
            return doc
        if stored.webhook is None:
            return _rewritten(stored, doc)
        await round_trip()  # so that `at_once` sees that this takes a while
        return (await self._convert(kind, stored.webhook, [doc], stored.storage))[0]

    async def as_shown(self, kind: Kind, stored: Doc) -> Doc | None:
        """What readers of `kind` will see of a document that is about to be stored.

        None when that needs no webhook. It is asked before anything is written: a write whose
        result could not be shown does not happen.
        """
        known = kind.stored_as
        if known is None or known.webhook is None or stored["apiVersion"] == kind.api_version:
            return None
        await round_trip()  # so that `at_once` sees that this takes a while
        return (await self._convert(kind, known.webhook, [stored], kind.api_version))[0]

    def written(self, kind: Kind, entry: Entry, shown: Doc | None) -> None:
        """Keep what `as_shown` has found, now that it is stored."""
        if shown is not None:
            self._keep((kind, entry.name, entry.revision), _entry(kind, entry, shown))

    async def between(self, docs: Sequence[Doc], wanted: Kind) -> Sequence[Doc]:
        """Documents of one kind, in one version, brought to the version of `wanted`."""
        stored = wanted.stored_as
        if stored is None or stored.webhook is None:
            return [{**doc, "apiVersion": wanted.api_version} for doc in docs]
        if all(doc["apiVersion"] == wanted.api_version for doc in docs):
            return docs
        await round_trip()  # so that `at_once` sees that this takes a while
        return await self._convert(wanted, stored.webhook, docs, wanted.api_version)

    async def in_version(self, doc: Doc | None, written: Kind, wanted: Kind) -> Doc | None:
        """One document, brought to the version of `wanted`. What is no object of the kind, but a
        part of one, has no other version."""
        if doc is None or doc.get("apiVersion") != written.api_version:
            return doc
        return (await self.between((doc,), wanted))[0]

    # asking

    async def _convert_entries(self, kind: Kind, entries: Sequence[Entry]) -> Sequence[Entry]:
        found: _Found = {}
        missing = await self._take_known(kind, entries, found)
        for task in {self._under_way[key] for key in missing if key in self._under_way}:
            with suppress(ApiError):  # its own fault, perhaps: what is missing then is asked again
                found.update(await asyncio.shield(task))
        missing = await self._take_known(kind, missing.values(), found)
        for task in self._begin(kind, list(missing.values())):
            found.update(await asyncio.shield(task))
        shown: list[Entry] = []
        async for some in self._in_slices(entries):
            shown += [found[kind, entry.name, entry.revision] for entry in some]
        return shown

    async def _take_known(self, kind: Kind, entries: Iterable[Entry], found: _Found) -> _Found:
        """What is still to be converted; the rest is put into `found`."""
        stored = _stored(kind)
        missing: _Found = {}
        async for some in self._in_slices(list(entries)):
            for entry in some:
                key = (kind, entry.name, entry.revision)
                if key in found:
                    continue
                known = self._find(kind, stored, entry)
                if known is None:
                    missing[key] = entry
                else:
                    found[key] = known
        return missing

    async def _in_slices(self, entries: Sequence[Entry]) -> AsyncIterator[Sequence[Entry]]:
        working = self._turns.slice()
        for start in range(0, len(entries), LOOK_AT_ONCE):
            if working.is_over:
                await working.pause()
            yield entries[start : start + LOOK_AT_ONCE]

    def _begin(self, kind: Kind, entries: list[Entry]) -> list[_Task]:
        return [self._own(kind, batch) for batch in _batches(entries)]

    def _own(self, kind: Kind, batch: list[Entry]) -> _Task:
        """A task that goes on when who began it has gone: others may wait for it, too."""
        task = asyncio.get_running_loop().create_task(self._convert_batch(kind, batch))
        keys = [(kind, entry.name, entry.revision) for entry in batch]
        self._under_way.update(dict.fromkeys(keys, task))
        self._tasks.add(task)

        def ended(_: _Task) -> None:
            self._tasks.discard(task)
            for key in keys:
                if self._under_way.get(key) is task:
                    del self._under_way[key]
            if not task.cancelled():
                task.exception()  # whoever still waits for it is told

        task.add_done_callback(ended)
        return task

    async def _convert_batch(self, kind: Kind, batch: list[Entry]) -> _Found:
        stored = _stored(kind)
        webhook = stored.webhook
        assert webhook is not None  # noqa: S101  else every entry is as it is
        named = _named(stored_version(stored, batch[0]), kind)
        async with self._line(kind, webhook, named):
            working = self._turns.slice()
            docs: list[Doc] = []  # ten times as large as their entries: of few batches at a time
            for entry in batch:
                if working.is_over:
                    await working.pause()
                doc = decode_as_stored(kind, entry)
                _renew(stored, doc)
                docs.append(doc)
            converted = await self._ask(kind, webhook, docs, kind.api_version)
        found: _Found = {}
        working = self._turns.slice()
        for entry, doc in zip(batch, converted, strict=True):
            if working.is_over:
                await working.pause()
            key = (kind, entry.name, entry.revision)
            found[key] = _entry(kind, entry, doc)
            self._keep(key, found[key])
        return found

    async def _convert(
        self, kind: Kind, webhook: ConversionWebhook, docs: Sequence[Doc], wanted: str
    ) -> list[Doc]:
        """One question, when it is its turn. Raises: ServerError."""
        async with self._line(kind, webhook, _named(docs[0]["apiVersion"], kind)):
            return await self._ask(kind, webhook, docs, wanted)

    async def _ask(
        self, kind: Kind, webhook: ConversionWebhook, docs: Sequence[Doc], wanted: str
    ) -> list[Doc]:
        """Raises: ServerError."""
        uid = self._asking.new_uid()
        named = _named(docs[0]["apiVersion"], kind)
        try:
            body = question(webhook.review, uid, wanted, docs)
            answer = await self._asking.post(webhook.client, body, SECONDS)
            if is_large(answer):
                await in_thread(check_size, answer)
            raws = read_answer(answer, webhook.review, uid, len(docs))
            renew = _stored(kind).renews[wanted]
            working = self._turns.slice()
            out: list[Doc] = []
            for index, (raw, doc) in enumerate(zip(raws, docs, strict=True)):
                if working.is_over:
                    await working.pause()
                out.append(read_object(raw, doc, wanted, index))
                renew(out[-1])
            return out
        except CallFailed as error:
            raise ServerError(f"{named} failed: {error}") from error
        except BadConversion as error:
            raise ServerError(f"{named} {error}") from error

    @asynccontextmanager
    async def _line(
        self, kind: Kind, webhook: ConversionWebhook, named: str
    ) -> AsyncIterator[None]:
        """Within, its webhook may be asked; the time of a question includes the wait for it.

        Raises: ServerError.
        """
        line = self._lines.setdefault(kind.store_table, asyncio.Semaphore(MOST_CONVERSIONS))
        try:
            async with asyncio.timeout(SECONDS), line:
                yield
        except TimeoutError:
            told = out_of_time(webhook.client, SECONDS)
            raise ServerError(f"{named} failed: {told}") from None


def _needs_nobody(kind: Kind, entries: Sequence[Entry]) -> bool:
    stored = kind.stored_as
    return stored is None or stored.webhook is None or are_stored_as(kind, entries)


def _named(api_version: str, kind: Kind) -> str:
    return f"conversion webhook for {api_version}, Kind={kind.kind}"


def _stored(kind: Kind) -> StoredAs:
    assert kind.stored_as is not None  # noqa: S101  of a kind whose objects are converted
    return kind.stored_as


def _renew(stored: StoredAs, doc: Doc) -> None:
    renew = stored.renews.get(doc["apiVersion"])
    if renew is None:
        raise ServerError(
            f"request to convert CR from an invalid group/version: {doc['apiVersion']}: the "
            "definition no longer has the version that the object is stored in"
        )
    renew(doc)


def _rewritten(stored: StoredAs, doc: Doc) -> Doc:
    """Strategy None: the same fields, as far as the schema of the storage version has them."""
    new: Doc = msgspec.json.decode(msgspec.json.encode(doc))
    new["apiVersion"] = stored.storage
    stored.renews[stored.storage](new)
    return new


def _entry(kind: Kind, stored: Entry, doc: Doc) -> Entry:
    """A stored object as it would be, were it stored in the version of `kind`."""
    put = to_put(doc, is_marked=True)
    shown = Entry(stored.table, stored.name, put.stamp(stored.revision), stored.revision)
    written_by(kind, shown)
    return shown


def _batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Questions of a bounded size; the objects of nearly every list fit one."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and size + len(entry.value) > MOST_CONVERTED_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += len(entry.value)
    if batch:
        yield batch
