"""GET of a collection with `watch`: every change, in order, none twice, none missed.

A watcher is a cursor into the store's log, so a slow one costs no memory: while the client does not
read, nothing is prepared for it, and when it falls behind the retained log it gets 410 and ends.
The lines of an event are encoded once and shared by all watchers that see it alike.
"""

import asyncio
from collections.abc import Iterator

import msgspec

from mooring.apiserver.documents.document import encode, facts
from mooring.apiserver.documents.objects import store_prefix
from mooring.apiserver.limits.budgets import MOST_WATCH_BYTES
from mooring.apiserver.limits.turns import FIRST, SLICE
from mooring.apiserver.request.message import Answer, Stream, Writer
from mooring.apiserver.request.options import ListOptions, list_options
from mooring.apiserver.store.contract import Entry, Event, Page, Watch
from mooring.apiserver.verbs.answering import WatchForm, watch_form
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.converted_watch import open_watch
from mooring.apiserver.verbs.owning import is_converted
from mooring.apiserver.verbs.reading import catch_up, version_flaw
from mooring.apiserver.verbs.selecting import Selection, selection_in_turn
from mooring.apiserver.verbs.watch_filter import event_type, watched_changes
from mooring.errors import ApiError, Compacted, Expired, ServerError, ServerTimeout
from mooring.model.selector import escape_field

SHORTEST, LONGEST = 1800, 3600  # seconds a watch lasts when the client does not say
BOOKMARK_EVERY = 60.0
BOOKMARK_BEFORE_END = 2.0
MOST_PER_TURN = 500  # events judged for one watcher at a time
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


async def watch(backend: Backend, call: Call) -> Answer:
    options = list_options(call.request.query)
    if call.name:  # the deprecated /watch/ path of a single object
        fields = f"metadata.name={escape_field(call.name)}"
        fields = f"{options.fields},{fields}" if options.fields else fields
        options = msgspec.structs.replace(options, fields=fields)
    if flaw := version_flaw(options.version):
        raise ServerError(flaw)
    chosen = await selection_in_turn(backend, call.kind, options)
    source = WatchSource(backend, call, options, chosen)
    try:
        await catch_up(backend, options.version if options.initial_events else "")
    except ServerTimeout as error:
        return Stream(RefusedSource(error))
    await source.convert_first()
    return Stream(source)


class RefusedSource:
    """A watch that ends with the error it begins with; an HTTP error clients would try again."""

    def __init__(self, error: ApiError) -> None:
        self._error = error

    def start(self, writer: Writer) -> None:
        writer.write(error_line(self._error))
        writer.end()

    def on_ready(self) -> None:
        """There is nothing more to send."""

    def on_closed(self) -> None:
        """There is nothing to release."""


class WatchSource:
    """Feeds one watcher."""

    def __init__(
        self, backend: Backend, call: Call, options: ListOptions, chosen: Selection
    ) -> None:
        self._backend = backend
        self._kind = call.kind
        self._prefix = store_prefix(call.kind, call.namespace)
        self._selection = chosen
        self._form: WatchForm = watch_form(backend, call)
        self._options = options
        self._is_plain = self._selection.is_all and self._form.is_shared
        self._opening: Page | None = None  # what there is, if a webhook converts it
        self._initial: Iterator[Entry] = iter(())
        self._initial_revision = 0
        self._is_listing = False
        self._watch: Watch | None = None
        self._writer: Writer | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._has_turn = False  # it waits in line, to go on then
        self._is_ending = False  # its kind is served otherwise by now: clients watch anew
        self._forget = _nothing

    async def convert_first(self) -> None:
        """Have what the watch begins with in the version that is watched. Raises: ServerError."""
        if self._lists_first() and is_converted(self._kind):
            page = self._backend.store.range(self._kind.store_table, self._prefix)
            shown = await self._backend.conversions.readable(self._kind, page.entries)
            self._opening = msgspec.structs.replace(page, entries=list(shown))

    # StreamSource

    def start(self, writer: Writer) -> None:
        self._writer = writer
        try:
            self._open()
        except Compacted as error:
            self._fail(Expired(str(error)))
            return
        self._set_timers()
        if self._kind.structure is not None:
            self._forget = self._backend.kinds.when_replaced(self._kind, self._end_soon)
        self.on_ready()

    def on_ready(self) -> None:
        if self._has_turn:
            return
        if self._selection.is_costly:
            self._go_on_later()
        else:
            self._proceed()

    def _proceed(self, seconds: float = FIRST) -> None:
        writer = self._writer
        if writer is None or not writer.ready:
            return
        try:
            if self._is_listing:
                self._send_initial(writer, seconds)
            if not self._is_listing:
                self._send_changes(writer, seconds)
        except Compacted as error:
            self._fail(Expired(str(error)))
        except ApiError as error:  # an object cannot be converted
            self._fail(error)

    def on_closed(self) -> None:
        self._writer = None
        self._forget()
        if self._watch is not None:
            self._watch.close()
        for timer in self._timers:
            timer.cancel()

    # starting

    def _open(self) -> None:
        store = self._backend.store
        after = int(self._options.version or 0)
        if self._lists_first():
            page = self._opening or store.range(self._kind.store_table, self._prefix)
            self._opening = None
            self._initial = iter(page.entries)
            self._initial_revision = after = page.revision
            self._is_listing = True
        elif after == 0:
            after = store.revision
        self._watch = open_watch(
            self._backend,
            self._kind,
            self._prefix,
            after,
            self.on_ready,
            with_previous=not self._selection.is_all,
        )

    def _lists_first(self) -> bool:
        asked = self._options.initial_events
        return bool(asked or (asked is None and not int(self._options.version or 0)))

    def _set_timers(self) -> None:
        loop = asyncio.get_running_loop()
        lasts = self._options.timeout
        if not lasts or lasts < 0:
            lasts = self._backend.rng.randint(SHORTEST, LONGEST)
        self._timers.append(loop.call_later(lasts, self._finish))
        if self._options.bookmarks:
            soon = max(lasts - BOOKMARK_BEFORE_END, lasts / 2)
            self._timers.append(loop.call_later(soon, self._bookmark))
            self._timers.append(loop.call_later(BOOKMARK_EVERY, self._bookmark_again))

    # sending

    def _send_initial(self, writer: Writer, seconds: float) -> None:
        """Synthetic ADDED events for what exists, as fast as the client reads them."""
        working = self._backend.turns.slice(seconds)
        lines: list[bytes] = []
        size = 0
        for entry in self._initial:
            if self._selection.picks(facts(self._kind, entry)):
                lines.append(self._form.line("ADDED", entry))
                size += len(lines[-1])
            if size >= MOST_WATCH_BYTES or working.is_over:
                self._send(writer, lines)
                self._go_on_later()
                return
        self._send(writer, lines)
        self._is_listing = False
        if self._options.initial_events:
            annotations = {INITIAL_EVENTS_END: "true"}
            writer.write(self._form.bookmark(self._initial_revision, annotations))

    def _send_changes(self, writer: Writer, seconds: float) -> None:
        watch = self._watch
        working = self._backend.turns.slice(seconds)
        while watch is not None and writer.ready:
            events = watch.poll(MOST_PER_TURN, MOST_WATCH_BYTES)
            if not events:
                if self._is_ending:
                    writer.end()
                return
            if self._is_plain:
                framed = self._backend.frames.of(self._kind, self._prefix, events, self._line)
                if framed.events:
                    writer.write_framed(framed.chunk)
                    self._backend.watch_events(self._kind, framed.events)
            else:
                line = self._form.line
                seen = watched_changes(self._kind, self._prefix, self._selection, events)
                self._send(writer, [line(kind, entry) for kind, entry in seen])
            if working.is_over:
                self._go_on_later()
                return

    def _go_on_later(self) -> None:
        """There is more, and others have their turn before it."""
        if not self._has_turn:
            self._has_turn = True
            self._backend.turns.call(self._go_on)

    def _go_on(self) -> None:
        self._has_turn = False
        self._proceed(SLICE)

    def _send(self, writer: Writer, lines: list[bytes]) -> None:
        if lines:
            writer.write(b"".join(lines))
            self._backend.watch_events(self._kind, len(lines))

    def _line(self, event: Event) -> bytes:
        return self._form.line(event_type(event), event.entry)

    def _end_soon(self) -> None:
        """End when all that has happened so far is sent; a client goes on from there."""
        self._is_ending = True
        self._go_on_later()

    # timers and ends

    def _bookmark(self) -> None:
        if self._writer is not None and self._writer.ready and self._watch and not self._is_listing:
            self._writer.write(self._form.bookmark(self._watch.revision, {}))

    def _bookmark_again(self) -> None:
        self._bookmark()
        loop = asyncio.get_running_loop()
        self._timers[-1] = loop.call_later(BOOKMARK_EVERY, self._bookmark_again)

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.end()

    def _fail(self, error: ApiError) -> None:
        if self._writer is not None:
            self._writer.write(error_line(error))
            self._writer.end()


def _nothing() -> None:
    """Of a watch that nothing has to be called off for."""


def error_line(error: ApiError) -> bytes:
    return b'{"type":"ERROR","object":%b}\n' % encode(error.status())
