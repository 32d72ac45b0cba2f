"""Which changes a watcher is sent, and as which event type."""

import pytest

from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.request.options import ListOptions
from mooring.apiserver.store.contract import Entry, Event
from mooring.apiserver.verbs.selecting import Selection, selection
from mooring.apiserver.verbs.watch_filter import watched_changes

ALL, RED = selection(CONFIG_MAP, ListOptions()), selection(CONFIG_MAP, ListOptions(labels="c=red"))


def entry(revision: int, color: str, name: str = "team/a") -> Entry:
    value = '{"metadata":{"resourceVersion":"%d","name":"a","labels":{"c":"%s"}}}'
    return Entry("configmaps", name, (value % (revision, color)).encode(), revision)


BLUE_1, RED_2 = entry(1, "blue"), entry(2, "red")
CREATED = Event(2, RED_2, None)
TURNED_RED = Event(2, RED_2, BLUE_1)
STAYED_RED = Event(3, entry(3, "red"), RED_2)
TURNED_BLUE = Event(3, entry(3, "blue"), RED_2)
RED_DELETED = Event(3, entry(3, "red"), RED_2, deleted=True)
BLUE_DELETED = Event(3, entry(3, "blue"), BLUE_1, deleted=True)

SENT = {
    "everything: created": (ALL, CREATED, ("ADDED", RED_2)),
    "everything: changed": (ALL, TURNED_RED, ("MODIFIED", RED_2)),
    "everything: deleted": (ALL, BLUE_DELETED, ("DELETED", entry(3, "blue"))),
    "selected: created": (RED, CREATED, ("ADDED", RED_2)),
    "selected: begins to match": (RED, TURNED_RED, ("ADDED", RED_2)),
    "selected: still matches": (RED, STAYED_RED, ("MODIFIED", entry(3, "red"))),
    "selected: ceases to match, shown as it was": (RED, TURNED_BLUE, ("DELETED", entry(3, "red"))),
    "selected: deleted": (RED, RED_DELETED, ("DELETED", entry(3, "red"))),
    "selected: another is deleted": (RED, BLUE_DELETED, None),
}


@pytest.mark.parametrize(("chosen", "event", "sent"), SENT.values(), ids=SENT)
def test_what_is_sent(chosen: Selection, event: Event, sent: tuple[str, Entry] | None) -> None:
    found = list(watched_changes(CONFIG_MAP, "team/", chosen, [event]))
    assert [(kind, e.name, e.value, e.revision) for kind, e in found] == (
        [(sent[0], sent[1].name, sent[1].value, sent[1].revision)] if sent else []
    )


def test_other_namespaces_are_left_out() -> None:
    elsewhere = Event(2, entry(2, "red", "other/a"), None)
    assert not list(watched_changes(CONFIG_MAP, "team/", ALL, [elsewhere]))
