"""Which changes a watcher is sent, and as which event type: by namespace, labels and fields.

An object that begins or ceases to match the selectors appears or disappears: ADDED, DELETED.
"""

from collections.abc import Iterable, Iterator

from mooring.apiserver.documents.document import facts
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.store.contract import Entry, Event
from mooring.apiserver.verbs.selecting import Selection


def watched_changes(
    kind: Kind, prefix: str, chosen: Selection, events: Iterable[Event]
) -> Iterator[tuple[str, Entry]]:
    """The event types and objects to send, of `events` whose names begin with `prefix`."""
    for event in events:
        entry, previous = event.entry, event.previous
        if prefix and not entry.name.startswith(prefix):
            continue
        if chosen.is_all:
            yield event_type(event), entry
            continue
        was = previous is not None and chosen.picks(facts(kind, previous))
        now = not event.deleted and chosen.picks(facts(kind, entry))
        if now:
            yield "MODIFIED" if was else "ADDED", entry
        elif was and previous is not None:
            yield "DELETED", entry if event.deleted else _restamped(previous, event.revision)


def event_type(event: Event) -> str:
    """The type of a change for a watcher without a selector."""
    if event.deleted:
        return "DELETED"
    return "ADDED" if event.previous is None else "MODIFIED"


def _restamped(entry: Entry, revision: int) -> Entry:
    """The last matching state, with the revision of the change that ended the match."""
    head, _, tail = entry.value.partition(b"%d" % entry.revision)
    return Entry(entry.table, entry.name, b"%b%d%b" % (head, revision, tail), revision)
