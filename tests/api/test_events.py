"""Events: one stored object, two views of it."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    EVENTS,
    NAMESPACES,
    NEW_EVENTS,
    a_namespace,
    a_new_event,
    an_event,
)

Doc = dict[str, Any]


async def test_a_core_event_is_seen_in_both_views(api: ApiUnderTest) -> None:
    created = await api.post(EVENTS, an_event("e"))
    assert created.code == 201, created.text
    new = (await api.get(f"{NEW_EVENTS}/e")).doc
    assert (new["kind"], new["apiVersion"]) == ("Event", "events.k8s.io/v1")
    assert new["metadata"] == created.doc["metadata"]
    assert new["regarding"] == an_event()["involvedObject"]
    assert new["note"] == "no room"
    assert new["reason"] == "ProvisioningFailed"
    assert new["type"] == "Warning"
    assert new["deprecatedSource"] == {"component": "binder", "host": "n1"}
    assert new["deprecatedFirstTimestamp"] == "2026-01-02T03:00:05Z"
    assert new["deprecatedLastTimestamp"] == "2026-01-02T03:03:05Z"
    assert new["deprecatedCount"] == 3
    assert not {"involvedObject", "message", "source", "count", "firstTimestamp"} & new.keys()


async def test_a_new_event_is_seen_in_both_views(api: ApiUnderTest) -> None:
    created = await api.post(NEW_EVENTS, a_new_event("e"))
    assert created.code == 201, created.text
    assert created.doc["apiVersion"] == "events.k8s.io/v1"
    core = (await api.get(f"{EVENTS}/e")).doc
    assert (core["kind"], core["apiVersion"]) == ("Event", "v1")
    assert core["metadata"] == created.doc["metadata"]
    assert core["involvedObject"] == a_new_event()["regarding"]
    assert core["message"] == "it fits"
    assert core["reportingComponent"] == "example.com/binder"
    assert core["reportingInstance"] == "binder-0"
    assert core["eventTime"] == "2026-01-02T03:04:00.000000Z"
    assert core["action"] == "Binding"
    assert not {"regarding", "note", "reportingController"} & core.keys()


async def test_a_list_of_either_view_shows_all_events(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("old"))
    await api.post(NEW_EVENTS, a_new_event("new"))
    for collection in (EVENTS, NEW_EVENTS):
        listed = (await api.get(collection)).doc
        assert listed["kind"] == "EventList"
        assert [item["metadata"]["name"] for item in listed["items"]] == ["new", "old"]
        assert not any({"kind", "apiVersion"} & item.keys() for item in listed["items"])
        word = "involvedObject" if collection == EVENTS else "regarding"
        assert all(item[word]["name"] == "data" for item in listed["items"])


async def test_both_views_are_watched(api: ApiUnderTest) -> None:
    core = await api.watch(f"{EVENTS}?watch=true")
    new = await api.watch(f"{NEW_EVENTS}?watch=true")
    everywhere = await api.watch("/apis/events.k8s.io/v1/events?watch=true")
    await api.post(EVENTS, an_event("a"))
    await api.post(NEW_EVENTS, a_new_event("b"))
    await api.delete(f"{NEW_EVENTS}/a")
    told = [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert core.names == new.names == everywhere.names == told
    assert {event["object"]["apiVersion"] for event in core.events} == {"v1"}
    assert {event["object"]["apiVersion"] for event in new.events} == {"events.k8s.io/v1"}
    assert "note" in new.events[0]["object"]
    assert "message" in core.events[1]["object"]


async def test_what_is_not_known_is_shown_as_null(api: ApiUnderTest) -> None:
    bare = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Node", "name": "n1"},
        "reason": "Starting",
    }
    await api.post(EVENTS, bare)
    event = (await api.get(f"{EVENTS}/e")).doc
    for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
        assert event[field] is None
    assert event["source"] == {}
    assert event["reportingComponent"] == ""
    assert event["reportingInstance"] == ""


NAMESPACE_RULES = {
    "its object's namespace": ("default", "default", 201),
    "a cluster's object, told in default": ("default", "", 201),
    "another namespace": ("default", "other", 422),
    "a cluster's object, told elsewhere": ("team", "", 422),
}


@pytest.mark.parametrize(
    ("namespace", "involved", "code"), NAMESPACE_RULES.values(), ids=NAMESPACE_RULES
)
async def test_an_event_lives_where_its_object_does(
    api: ApiUnderTest, namespace: str, involved: str, code: int
) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    about = {"kind": "Thing", "name": "t", "namespace": involved}
    answer = await api.post(
        f"/api/v1/namespaces/{namespace}/events", an_event("e", involvedObject=about)
    )
    assert answer.code == code, answer.text
    if code == 422:
        assert answer.doc["message"] == (
            f'Event "e" is invalid: involvedObject.namespace: Invalid value: "{involved}": '
            "does not match event.namespace"
        )


NEEDED = {
    "eventTime": "eventTime: Required value",
    "reportingController": "reportingController: Required value",
    "reportingInstance": "reportingInstance: Required value",
    "action": "action: Required value",
    "reason": "reason: Required value",
    "type": "type: Invalid value",
}


@pytest.mark.parametrize(("field", "message"), NEEDED.items(), ids=NEEDED)
async def test_what_new_events_must_say(api: ApiUnderTest, field: str, message: str) -> None:
    event = a_new_event()
    del event[field]
    answer = await api.post(NEW_EVENTS, event)
    assert answer.code == 422, answer.text
    assert message in answer.doc["message"]


async def test_the_type_of_a_core_event_is_free(api: ApiUnderTest) -> None:
    assert (await api.post(EVENTS, an_event(type="Curious"))).code == 201
    assert (await api.post(NEW_EVENTS, a_new_event(type="Curious"))).code == 422


async def test_a_recorder_counts_by_strategic_patch(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("e"))
    again = {"count": 4, "lastTimestamp": "2026-01-02T03:04:05Z", "message": "still no room"}
    answer = await api.patch(f"{EVENTS}/e", again, "strategic-merge-patch+json")
    assert answer.code == 200, answer.text
    assert answer.doc["count"] == 4
    assert (await api.get(f"{NEW_EVENTS}/e")).doc["note"] == "still no room"
    missing = await api.patch(f"{EVENTS}/gone", again, "strategic-merge-patch+json")
    assert missing.code == 404


async def test_a_new_recorder_counts_in_a_series(api: ApiUnderTest) -> None:
    await api.post(NEW_EVENTS, a_new_event("e"))
    series = {"count": 2, "lastObservedTime": "2026-01-02T03:05:00.000000Z"}
    answer = await api.patch(f"{NEW_EVENTS}/e", {"series": series}, "strategic-merge-patch+json")
    assert answer.code == 200, answer.text
    assert (await api.get(f"{EVENTS}/e")).doc["series"] == series


async def test_a_new_event_s_words_are_fixed(api: ApiUnderTest) -> None:
    await api.post(NEW_EVENTS, a_new_event("e"))
    answer = await api.patch(f"{NEW_EVENTS}/e", {"note": "other words"})
    assert answer.code == 422


async def test_a_put_of_a_missing_event_creates_it(api: ApiUnderTest) -> None:
    assert (await api.put(f"{EVENTS}/e", an_event("e"))).code == 201
    assert (await api.put(f"{NEW_EVENTS}/f", a_new_event("f"))).code == 201


async def test_what_was_read_and_is_written_back_changes_nothing(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("old"))
    await api.post(NEW_EVENTS, a_new_event("new"))
    for path in (f"{EVENTS}/old", f"{EVENTS}/new", f"{NEW_EVENTS}/new"):
        event = (await api.get(path)).doc
        answer = await api.put(path, event)
        assert answer.code == 200, answer.text
        assert answer.doc == event


async def test_events_are_forgotten_after_an_hour(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("first"))
    await api.clock.advance(1800)
    await api.post(EVENTS, an_event("second"))
    await api.clock.advance(1900)
    names = [e["metadata"]["name"] for e in (await api.get(EVENTS)).doc["items"]]
    assert names == ["second"]
    await api.clock.advance(1800)
    assert (await api.get(EVENTS)).doc["items"] == []


NAMES = {
    "as recorders make them": ("data.17a5bc8f2d3e4f60", 201),
    "of upper case": ("Data.17A5", 201),
    "with a slash": ("a/b", 422),
    "with a percent sign": ("a%b", 422),
    "dots alone": ("..", 422),
}


@pytest.mark.parametrize(("name", "code"), NAMES.values(), ids=NAMES)
async def test_names_of_events(api: ApiUnderTest, name: str, code: int) -> None:
    assert (await api.post(EVENTS, an_event(name))).code == code


async def test_times_of_events_are_read_kindly(api: ApiUnderTest) -> None:
    event = an_event("e", lastTimestamp="2026-01-02T03:03:05.9+00:00")
    assert (await api.post(EVENTS, event)).code == 201
    assert (await api.get(f"{EVENTS}/e")).doc["lastTimestamp"] == "2026-01-02T03:03:05Z"
    event = a_new_event("f", eventTime="2026-01-02T03:04:00+00:00")
    assert (await api.post(NEW_EVENTS, event)).code == 201
    assert (await api.get(f"{EVENTS}/f")).doc["eventTime"] == "2026-01-02T03:04:00.000000Z"
