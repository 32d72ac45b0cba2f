from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.reference import ObjectReference
from mooring.reconcile.event_correlator import MOST_REMEMBERED, EventCorrelator, Occurrence

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CLAIM = ObjectReference(kind="PersistentVolumeClaim", namespace="default", name="data", uid="u1")
OTHER = ObjectReference(kind="PersistentVolumeClaim", namespace="default", name="logs", uid="u2")


def an_event(
    message: str = "no room",
    about: ObjectReference = CLAIM,
    type: str = "Warning",
    reason: str = "ProvisioningFailed",
) -> Occurrence:
    return Occurrence(about, type, reason, message, AT)


Tellings = list[tuple[int, str] | None]
Happened = list[tuple[float, Occurrence]]


def judged(happened: Happened) -> Tellings:
    repeats = EventCorrelator()
    tellings = (repeats.judge(event, now) for now, event in happened)
    return [None if told is None else (told.count, told.message) for told in tellings]


def numbered(first: int, last: int, now: float = 0.0) -> Happened:
    return [(now, an_event(f"m{number}")) for number in range(first, last + 1)]


CASES: dict[str, tuple[Happened, Tellings]] = {
    "the same again is counted": (
        [(0, an_event()), (1, an_event()), (2, an_event())],
        [(1, "no room"), (2, "no room"), (3, "no room")],
    ),
    "another message is another event": (
        [(0, an_event("a")), (0, an_event("b"))],
        [(1, "a"), (1, "b")],
    ),
    "another type, reason or object is another event": (
        [
            (0, an_event()),
            (0, an_event(type="Normal")),
            (0, an_event(reason="Other")),
            (0, an_event(about=OTHER)),
        ],
        [(1, "no room")] * 4,
    ),
    "an object made anew starts anew": (
        [(0, an_event()), (0, an_event(about=ObjectReference(name="data", uid="u9")))],
        [(1, "no room"), (1, "no room")],
    ),
    "the tenth message on one topic combines it with what follows": (
        numbered(1, 12),
        [
            *((1, f"m{number}") for number in range(1, 10)),
            (1, "(combined from similar events): m10"),
            (2, "(combined from similar events): m11"),
            (3, "(combined from similar events): m12"),
        ],
    ),
    "messages known from before are still told by themselves": (
        [*numbered(1, 10), (0, an_event("m3"))],
        [
            *((1, f"m{number}") for number in range(1, 10)),
            (1, "(combined from similar events): m10"),
            (2, "m3"),
        ],
    ),
    "nothing similar for more than ten minutes: not a crowd any more": (
        [*numbered(1, 9), (600.5, an_event("m10"))],
        [(1, f"m{number}") for number in range(1, 11)],
    ),
    "exactly ten minutes are not more than ten minutes": (
        [*numbered(1, 9), (600, an_event("m10"))],
        [
            *((1, f"m{number}") for number in range(1, 10)),
            (1, "(combined from similar events): m10"),
        ],
    ),
    "another reason is another topic": (
        [*numbered(1, 9), (0, an_event("m10", reason="Other"))],
        [(1, f"m{number}") for number in range(1, 11)],
    ),
    "after 25 about one object there is silence": (
        [(0, an_event())] * 27,
        [*((count, "no room") for count in range(1, 26)), None, None],
    ),
    "what was left out still counts": (
        [*[(0, an_event())] * 27, (300, an_event())],
        [*((count, "no room") for count in range(1, 26)), None, None, (28, "no room")],
    ),
    "one more every five minutes": (
        [*[(0, an_event())] * 25, (299, an_event()), (300, an_event()), (301, an_event())],
        [*((count, "no room") for count in range(1, 26)), None, (27, "no room"), None],
    ),
    "the budget of warnings is not that of good news": (
        [*[(0, an_event())] * 26, (0, an_event(type="Normal"))],
        [*((count, "no room") for count in range(1, 26)), None, (1, "no room")],
    ),
    "nor that of another object": (
        [*[(0, an_event())] * 26, (0, an_event(about=OTHER))],
        [*((count, "no room") for count in range(1, 26)), None, (1, "no room")],
    ),
}


@pytest.mark.parametrize(("happened", "told"), CASES.values(), ids=CASES)
def test_judge(happened: Happened, told: Tellings) -> None:
    assert judged(happened) == told


def test_what_was_long_ago_is_forgotten_in_favour_of_what_is_new() -> None:
    repeats = EventCorrelator()
    repeats.judge(an_event(), 0)
    for number in range(MOST_REMEMBERED):
        other = ObjectReference(kind="PersistentVolumeClaim", name=f"c{number}")
        repeats.judge(an_event(about=other), 0)
    telling = repeats.judge(an_event(), 0)
    assert telling is not None
    assert telling.count == 1


def test_what_keeps_happening_is_remembered() -> None:
    repeats = EventCorrelator()
    for number in range(2 * MOST_REMEMBERED):
        other = ObjectReference(kind="PersistentVolumeClaim", name=f"c{number}")
        repeats.judge(an_event(about=other), 0)
        repeats.judge(an_event(), number)
    telling = repeats.judge(an_event(), 1e9)
    assert telling is not None
    assert telling.count == 2 * MOST_REMEMBERED + 1


@given(pauses=st.lists(st.floats(0, 400), max_size=80))
def test_never_more_than_the_budget_allows(pauses: list[float]) -> None:
    repeats = EventCorrelator()
    now, told = 0.0, 0
    for pause in pauses:
        now += pause
        told += repeats.judge(an_event(), now) is not None
    assert told <= 25 + now / 300
    assert told >= min(len(pauses), 25)
