"""A timeline as a table, as JSON and as a picture that shows hostile names as text."""

import json
from xml.etree import ElementTree

import msgspec
import pytest

from mooring.timeline.decide import decide_timeline
from mooring.timeline.moments import Moment, not_before, of_event
from mooring.timeline.show import document, lines, rows, seconds_text
from mooring.timeline.svg import waterfall
from tests.unit.timeline.pictures import a_picture, a_pod, an_event, at

HOSTILE = '</text><script>alert("x")</script>&\x1b[2J\u202e'


def test_a_table_has_a_row_for_each_step() -> None:
    table = rows(decide_timeline(a_picture()))
    assert table[0][0] == "STEP"
    staged = next(row for row in table if row[0] == "staged")
    assert staged == ("staged", "pv/pv-1", "done", "12:00:03.500", "3.50s", "500ms", staged[-1])
    assert staged[-1] == "call NodeStageVolume"
    bound = next(row for row in table if row[0] == "bound")
    assert bound[3:6] == ("12:00:01", "~1s", "~1s")


def test_the_json_is_plain_and_says_where_each_moment_is_from() -> None:
    shown = json.loads(json.dumps(document(decide_timeline(a_picture()))))
    assert shown["object"] == "pod/web"
    assert shown["seconds"] == 5.125
    first = shown["steps"][0]
    assert first["began"] == {
        "at": "2026-01-01T12:00:00Z",
        "exact": False,
        "source": "claim creationTimestamp",
    }


@pytest.mark.parametrize("name", ["web", HOSTILE, "x" * 500])
def test_the_picture_is_xml_without_scripts_whatever_things_are_called(name: str) -> None:
    pod = a_pod()
    meta = msgspec.structs.replace(pod.metadata, name=name)
    picture = a_picture(pod=msgspec.structs.replace(pod, metadata=meta))
    drawn = waterfall(decide_timeline(picture))
    root = ElementTree.fromstring(drawn)  # noqa: S314  our own
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "style", "rect", "text", "line", "g", "title"}
    assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "\x1b" not in drawn


def test_no_name_moves_the_cursor_or_turns_the_text_round() -> None:
    pod = a_pod()
    meta = msgspec.structs.replace(pod.metadata, name=f"web\n\r\x9b{HOSTILE}")
    named = msgspec.structs.replace(pod, metadata=meta)
    shown = lines(decide_timeline(a_picture(pod=named)))
    assert all(line.isprintable() for line in shown), shown
    assert any(r"web\u000a\u000d\u009b</text>" in line for line in shown), shown
    assert any(r"\u001b[2J\u202e" in line for line in shown), shown


def test_a_picture_of_what_goes_on_says_so() -> None:
    drawn = waterfall(decide_timeline(a_picture(pod=a_pod(ready=None))))
    assert "so far" in drawn
    assert 'class="running"' in drawn


def test_nothing_at_all_can_be_shown() -> None:
    empty = decide_timeline(a_picture(claims=(), pod=None, events=(), calls=()))
    assert empty.start is None
    assert len(rows(empty)) == 1
    ElementTree.fromstring(waterfall(empty))  # noqa: S314  our own


@pytest.mark.parametrize(
    ("seconds", "is_exact", "said"),
    [(0.0301, True, "30ms"), (2.5, True, "2.50s"), (2.0, False, "~2s")],
)
def test_durations_say_how_exact_they_are(seconds: float, said: str, *, is_exact: bool) -> None:
    assert seconds_text(seconds, is_exact=is_exact) == said


def test_an_event_whose_name_is_no_time_counts_to_the_second() -> None:
    event = an_event("Started", 5.125)
    exact = of_event(event)
    assert exact is not None
    assert (exact.at, exact.is_exact) == (at(5.125), True)
    for name in ("web.0000000000000001", "web", "web.zzzzzzzzzzzzzzzz", "web.18e9"):
        meta = msgspec.structs.replace(event.metadata, name=name)
        found = of_event(msgspec.structs.replace(event, metadata=meta))
        assert found is not None
        assert (found.at, found.is_exact) == (at(5), False), name


def test_a_moment_of_a_second_moves_behind_an_exact_one_of_the_same_second_only() -> None:
    rough = Moment(at(5), "object", is_exact=False)
    moved = not_before(rough, Moment(at(5.5), "call"))
    assert moved is not None
    assert moved.at == at(5.5)
    assert not_before(rough, Moment(at(6.5), "call")) == rough
    assert not_before(rough, Moment(at(4.5), "call")) == rough


def test_what_lies_before_the_pod_is_called_so_and_not_measured_in_seconds() -> None:
    young = a_pod(created=601, scheduled=602, started=604, ready=604)
    timeline = decide_timeline(a_picture(now=at(660), pod=young, events=(), calls=()))
    bound = next(row for row in rows(timeline) if row[0] == "bound")
    assert bound[2:5] == ("done", "12:00:01", "before")
    assert lines(timeline)[-1] == "pod/web: 3.00s"
    assert [one["before"] for one in document(timeline)["steps"]][:3] == [True, True, True]
    assert waterfall(timeline).count(">before</text>") == 4


def test_a_moment_of_another_day_has_its_date() -> None:
    young = a_pod(created=86401, scheduled=86402, started=86404, ready=86404)
    timeline = decide_timeline(a_picture(now=at(86460), pod=young, events=(), calls=()))
    when = {row[0]: row[3] for row in rows(timeline)}
    assert (when["bound"], when["scheduled"]) == ("2026-01-01 12:00:01", "12:00:02")
