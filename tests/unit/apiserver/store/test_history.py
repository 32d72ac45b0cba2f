import pytest

from mooring.apiserver.store.contract import Entry, Event
from mooring.apiserver.store.history import Changes, Limits, Retention


def changes(*revisions: int) -> Changes:
    made = Changes()
    for revision in revisions:
        made.append(Event(revision, Entry("t", "x", b"", revision), None))
    return made


FORGET = {
    "nothing that old": (1, 0, [2, 5, 9]),
    "up to a revision in between": (4, 1, [5, 9]),
    "up to and with a revision": (5, 2, [9]),
    "everything": (20, 3, []),
}


@pytest.mark.parametrize(("revision", "first", "left"), FORGET.values(), ids=FORGET)
def test_forgetting_moves_the_first_position_and_no_other(
    revision: int, first: int, left: list[int]
) -> None:
    made = changes(2, 5, 9)
    made.forget(revision)
    assert (made.first, made.end) == (first, 3)
    assert [event.revision for event in made.slice(first, 10)] == left
    assert made.position_after(9) == 3


def test_positions_count_from_the_beginning_of_the_table() -> None:
    made = changes(2, 5, 9)
    assert [made.position_after(revision) for revision in (0, 2, 3, 5, 9)] == [0, 1, 1, 2, 3]
    assert [event.revision for event in made.slice(1, 1)] == [5]
    assert [event.revision for event in made.after(2)] == [5, 9]


LIMITS = Limits(seconds=320, events=3200, size=3200)

# What is added each second; then how many seconds of history there are at least and at most.
KEPT = {
    "a small history is kept for its seconds, and at most one block more": (1, 0, 320, 330),
    "many events are kept up to the limit, less one block at most": (100, 0, 31, 32),
    "large values are kept up to the limit, less one block at most": (1, 400, 7, 8),
}


@pytest.mark.parametrize(("events", "size", "least", "most"), KEPT.values(), ids=KEPT)
def test_retention(events: int, size: int, least: int, most: int) -> None:
    retention, horizon, kept = Retention(LIMITS), 0, []
    for now in range(1, 1001):
        retention.add(now, events, size, float(now))
        horizon = retention.horizon(float(now)) or horizon
        kept.append(now - horizon)
    assert kept[:least] == list(range(1, least + 1))
    assert least <= min(kept[least:]) <= max(kept[least:]) <= most


def test_time_alone_makes_history_due() -> None:
    retention = Retention(LIMITS)
    retention.add(7, 1, 1, 0.0)
    assert retention.horizon(319.0) == 0
    assert retention.horizon(320.0) == 7
    assert retention.horizon(321.0) == 0


def test_what_was_forgotten_on_demand_counts_no_longer() -> None:
    retention = Retention(LIMITS)
    for now in range(20):
        retention.add(now, 150, 0, float(now))
    retention.forget(10)
    for now in range(20, 30):
        retention.add(now, 150, 0, float(now))
    assert retention.horizon(30.0) == 0
    retention.add(30, 2000, 0, 30.0)
    assert retention.horizon(30.0) > 10
