"""WATCH: every change once and in order."""

import asyncio
import itertools
from typing import Any

import pytest

from mooring.apiserver.request.message import Stream
from tests.fakes.api import ApiUnderTest, Watching
from tests.fakes.clock import settle
from tests.fakes.loop_time import LoopTime
from tests.fakes.objects import (
    CONFIG_MAPS,
    NAMESPACES,
    VOLUMES,
    a_config_map,
    a_labelled,
    a_namespace,
    a_volume,
)

Doc = dict[str, Any]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
INITIAL = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


async def current(api: ApiUnderTest) -> str:
    return str((await api.get(VOLUMES)).doc["metadata"]["resourceVersion"])


def versions(watching: Watching) -> list[int]:
    return [int(event["object"]["metadata"]["resourceVersion"]) for event in watching.events]


async def test_a_life_is_told_as_it_happens(api: ApiUnderTest) -> None:
    version = await current(api)
    watching = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}")
    created = (await api.post(CONFIG_MAPS, a_config_map("c"))).doc
    patched = (await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"labels": {"a": "b"}}})).doc
    await api.delete(f"{CONFIG_MAPS}/c")
    assert watching.names == [("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c")]
    assert watching.events[0]["object"] == created
    assert watching.events[1]["object"] == patched
    assert watching.events[2]["object"]["metadata"]["labels"] == {"a": "b"}
    assert versions(watching) == sorted(set(versions(watching)))
    assert watching.events[0]["object"]["kind"] == "ConfigMap"
    assert watching.events[0]["object"]["apiVersion"] == "v1"
    assert not watching.ended


async def test_the_version_of_a_deletion_is_the_next_watch_s_beginning(
    api: ApiUnderTest,
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("c"))
    watching = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}")
    await api.delete(f"{CONFIG_MAPS}/c")
    await api.post(CONFIG_MAPS, a_config_map("d"))
    gone = versions(watching)[0]
    later = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={gone}")
    assert later.names == [("ADDED", "d")]


async def test_no_change_is_no_event(api: ApiUnderTest) -> None:
    made = (await api.post(CONFIG_MAPS, a_config_map("c"))).doc
    watching = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}")
    assert (await api.put(f"{CONFIG_MAPS}/c", made)).code == 200
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", a_config_map("d"))).code == 201
    assert watching.events == []


async def test_a_selector_turns_changes_into_comings_and_goings(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_labelled("c"))
    version = await current(api)
    watching = await api.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion={version}&labelSelector=a%3Db"
    )
    for labels in ({"a": "b"}, {"a": "b", "x": "y"}, {"a": "c"}, {"a": "d"}):
        changed = await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"labels": labels}})
        assert changed.code == 200
    await api.delete(f"{CONFIG_MAPS}/c")
    assert watching.types == ["ADDED", "MODIFIED", "DELETED"]
    gone = watching.events[-1]["object"]["metadata"]
    assert gone["labels"] == {"a": "b", "x": "y"}, "the last state that matched"
    assert versions(watching) == sorted(set(versions(watching)))


async def test_what_matched_when_it_was_deleted_is_told_deleted(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_labelled("c", a="b"))
    await api.post(CONFIG_MAPS, a_labelled("d", a="x"))
    watching = await api.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}&labelSelector=a%3Db"
    )
    await api.delete(f"{CONFIG_MAPS}/c")
    await api.delete(f"{CONFIG_MAPS}/d")
    assert watching.names == [("DELETED", "c")]


async def test_one_object_is_watched_by_its_name(api: ApiUnderTest) -> None:
    watching = await api.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}"
        "&fieldSelector=metadata.name%3Dc"
    )
    for name in ("b", "c", "cc"):
        await api.post(CONFIG_MAPS, a_config_map(name))
    assert watching.names == [("ADDED", "c")]


async def test_a_namespace_s_watch_sees_that_namespace_alone(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    await api.settle()
    watching = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}")
    everywhere = await api.watch(
        f"/api/v1/configmaps?watch=true&resourceVersion={await current(api)}"
    )
    await api.post("/api/v1/namespaces/team/configmaps", a_config_map("there"))
    await api.post(CONFIG_MAPS, a_config_map("here"))
    assert watching.names == [("ADDED", "here")]
    assert everywhere.names == [("ADDED", "there"), ("ADDED", "here")]


async def test_a_compacted_version_is_told_as_an_event_and_ends(api: ApiUnderTest) -> None:
    old = await current(api)
    await api.post(VOLUMES, a_volume())
    await api.parts.backend.store.compact(api.parts.backend.store.revision)
    watching = await api.watch(f"{VOLUMES}?watch=true&resourceVersion={old}")
    assert watching.types == ["ERROR"]
    assert watching.ended
    status = watching.events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    oldest = api.parts.backend.store.oldest
    assert status["message"] == f"too old resource version: {old} ({oldest})"


async def test_a_watch_closes_after_timeout_seconds(api: ApiUnderTest, loop_time: LoopTime) -> None:
    watching = await api.watch(f"{VOLUMES}?watch=true&timeoutSeconds=1")
    await loop_time.passes(0.9)
    assert not watching.ended
    await loop_time.passes(0.2)
    assert watching.ended
    assert watching.events == []


async def test_a_watch_without_timeout_lasts_30_to_60_minutes(
    api: ApiUnderTest, loop_time: LoopTime
) -> None:
    watching = await api.watch(f"{VOLUMES}?watch=true")
    await loop_time.passes(1799)
    assert not watching.ended
    await loop_time.passes(1802)
    assert watching.ended


REFUSED = {
    "a version that is no number": ("watch=true&resourceVersion=abc", 500, "abc"),
    "a negative version": ("watch=true&resourceVersion=-1", 500, "-1"),
    "digits of another script": ("watch=true&resourceVersion=%D9%A3", 500, "invalid syntax"),
    "a version that fits no counter": (
        f"watch=true&resourceVersion={'9' * 5000}",
        500,
        "value out of range",
    ),
    "initial events without NotOlderThan": (
        "watch=true&sendInitialEvents=true",
        422,
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ),
    "initial events with Exact": (
        "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=3",
        422,
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ),
    "a match without initial events": (
        "watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=3",
        422,
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    ),
    "a field that the kind does not offer": (
        "watch=true&fieldSelector=spec.foo%3Dx",
        400,
        '"spec.foo" is not a known field selector',
    ),
    "labels that cannot be read": ("watch=true&labelSelector=a%20b", 400, "found 'b'"),
    "timeoutSeconds that are no number": ("watch=true&timeoutSeconds=x", 400, "x"),
    "a form that is not served": ("watch=true", 406, ""),
}


@pytest.mark.parametrize(("query", "code", "message"), REFUSED.values(), ids=REFUSED)
async def test_refused_watches(api: ApiUnderTest, query: str, code: int, message: str) -> None:
    accept = "text/html" if code == 406 else "application/json"
    answer = await api.get(f"{VOLUMES}?{query}", accept=accept)
    assert answer.code == code, answer.text
    assert answer.doc["status"] == "Failure"
    assert message in answer.doc["message"]


WATCHES = {
    "watch=true": "watch=true",
    "watch=1": "watch=1",
    "an empty watch is true": "watch=",
    "garbage is true": "watch=banana",
    "a timeout is ignored": "watch=true&timeout=1s",
}


@pytest.mark.parametrize("query", WATCHES.values(), ids=WATCHES)
async def test_without_a_version_what_exists_is_told_first(api: ApiUnderTest, query: str) -> None:
    await api.post(VOLUMES, a_volume("old"))
    watching = await api.watch(f"{VOLUMES}?{query}")
    await api.post(VOLUMES, a_volume("new"))
    assert watching.names == [("ADDED", "old"), ("ADDED", "new")]


async def test_version_0_begins_with_what_exists(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("old"))
    watching = await api.watch(f"{VOLUMES}?watch=true&resourceVersion=0")
    assert watching.names == [("ADDED", "old")]


async def test_watch_on_one_object_s_path_is_a_get(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("v"))
    answer = await api.get(f"{VOLUMES}/v?watch=true")
    assert answer.doc["kind"] == "PersistentVolume"


async def test_the_old_watch_prefix_watches(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("v"))
    watching = await api.watch("/api/v1/watch/persistentvolumes")
    assert watching.names == [("ADDED", "v")]


async def test_the_old_watch_prefix_watches_one_object(api: ApiUnderTest) -> None:
    for name in ("a", "b", "c"):
        await api.post(CONFIG_MAPS, a_labelled(name, x=name))
    old = "/api/v1/watch/namespaces/default/configmaps"
    assert (await api.watch(f"{old}/b")).names == [("ADDED", "b")]
    assert (await api.watch(f"{old}/b?labelSelector=x%3Da")).names == []
    assert (await api.watch(f"{old}/b?fieldSelector=metadata.name%3Da")).names == []
    assert (await api.watch(f"{old}/b,metadata.name=b")).names == []
    assert (await api.get(f"{old}/b/status")).code == 404


async def test_a_version_of_the_future_is_silence_until_then(api: ApiUnderTest) -> None:
    version = int(await current(api)) + 2
    watching = await api.watch(f"{VOLUMES}?watch=true&resourceVersion={version}")
    for name in ("a", "b", "c"):
        await api.post(VOLUMES, a_volume(name))
    assert watching.names == [("ADDED", "c")]


async def test_bookmarks_come_each_minute_and_before_the_end(
    api: ApiUnderTest, loop_time: LoopTime
) -> None:
    watching = await api.watch(
        f"{VOLUMES}?watch=true&resourceVersion={await current(api)}"
        "&allowWatchBookmarks=true&timeoutSeconds=90"
    )
    await api.post(VOLUMES, a_volume("v"))
    await loop_time.passes(61)
    assert watching.types == ["ADDED", "BOOKMARK"]
    await api.post(CONFIG_MAPS, a_config_map("c"))  # elsewhere: no event, but a newer version
    await loop_time.passes(28)
    assert watching.types == ["ADDED", "BOOKMARK", "BOOKMARK"]
    await loop_time.passes(2)
    assert watching.ended
    assert watching.types == ["ADDED", "BOOKMARK", "BOOKMARK"]
    added, *bookmarks = versions(watching)
    assert bookmarks == [added, int(await current(api))]
    bookmark = watching.events[-1]["object"]
    assert bookmark.keys() == {"kind", "apiVersion", "metadata", "spec", "status"}
    assert bookmark["metadata"].keys() == {"resourceVersion"}
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("PersistentVolume", "v1")
    assert {k for k, v in bookmark["metadata"].items() if v} == {"resourceVersion"}


async def test_nobody_is_sent_bookmarks_who_did_not_ask(
    api: ApiUnderTest, loop_time: LoopTime
) -> None:
    watching = await api.watch(f"{VOLUMES}?watch=true&timeoutSeconds=90")
    await loop_time.passes(91)
    assert watching.ended
    assert watching.events == []


async def test_a_bookmark_covers_all_that_was_sent(api: ApiUnderTest, loop_time: LoopTime) -> None:
    """A client that does not read is behind, so it must not be told that it is not."""
    watching = await api.watch(
        f"{VOLUMES}?watch=true&resourceVersion={await current(api)}&allowWatchBookmarks=true"
    )
    watching.pause()
    await api.post(VOLUMES, a_volume("v"))
    await loop_time.passes(61)
    assert watching.events == []
    watching.resume()
    await loop_time.passes(60)
    assert watching.types == ["ADDED", "BOOKMARK"]


async def test_a_streaming_list_tells_what_exists_then_its_end_then_news(
    api: ApiUnderTest,
) -> None:
    for name in ("a", "b"):
        await api.post(VOLUMES, a_volume(name))
    version = await current(api)
    watching = await api.watch(f"{VOLUMES}?{INITIAL}&allowWatchBookmarks=true")
    await api.post(VOLUMES, a_volume("c"))
    assert watching.names == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", ""), ("ADDED", "c")]
    end = watching.events[2]["object"]
    assert (end["kind"], end["apiVersion"]) == ("PersistentVolume", "v1")
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert end["metadata"]["resourceVersion"] == version


async def test_a_streaming_list_during_writes_is_the_state_at_its_end_then_every_change(
    api: ApiUnderTest,
) -> None:
    async def write() -> None:
        for number in range(40):
            await api.post(CONFIG_MAPS, a_config_map(f"m{number % 7}"))
            if number % 3 == 2:
                await api.delete(f"{CONFIG_MAPS}/m{number % 5}")

    writing = asyncio.create_task(write())
    told = []
    for _ in range(5):
        await settle(20)
        told.append(await api.watch(f"{CONFIG_MAPS}?{INITIAL}&allowWatchBookmarks=true"))
    await writing
    newest = (await api.get(CONFIG_MAPS)).doc["items"]
    for watching in told:
        end = watching.types.index("BOOKMARK")
        at = watching.events[end]["object"]["metadata"]["resourceVersion"]
        exact = f"{CONFIG_MAPS}?resourceVersion={at}&resourceVersionMatch=Exact"
        initial = [event["object"]["metadata"]["name"] for event in watching.events[:end]]
        found = (await api.get(exact)).doc["items"]
        assert initial == [item["metadata"]["name"] for item in found]
        state = set(initial)
        for what, name in watching.names[end + 1 :]:
            (state.discard if what == "DELETED" else state.add)(name)
        assert state == {item["metadata"]["name"] for item in newest}
        later = versions(watching)[end + 1 :]
        assert later == sorted(set(later))
        assert all(version > int(at) for version in later)


async def test_a_streaming_list_of_nothing_is_its_end(api: ApiUnderTest) -> None:
    watching = await api.watch(f"{VOLUMES}?{INITIAL}&allowWatchBookmarks=true")
    assert watching.types == ["BOOKMARK"]


async def test_a_streaming_list_with_a_selector_tells_what_it_picks(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_labelled("a", pick="yes"))
    await api.post(CONFIG_MAPS, a_labelled("b"))
    watching = await api.watch(
        f"{CONFIG_MAPS}?{INITIAL}&allowWatchBookmarks=true&labelSelector=pick%3Dyes"
    )
    assert watching.names == [("ADDED", "a"), ("BOOKMARK", "")]


async def test_without_initial_events_a_watch_begins_now(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("old"))
    query = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    watching = await api.watch(f"{VOLUMES}?{query}&allowWatchBookmarks=true")
    await api.post(VOLUMES, a_volume("new"))
    assert watching.names == [("ADDED", "new")]


async def test_a_streaming_list_of_the_future_is_not_answered_from_the_past(
    api: ApiUnderTest, loop_time: LoopTime
) -> None:
    url = f"{VOLUMES}?{INITIAL}&allowWatchBookmarks=true&resourceVersion=99999999"
    began = loop_time.now()
    watching = await api.watch(url)
    assert 3 <= loop_time.now() - began < 4
    assert watching.types == ["ERROR"]
    assert watching.ended
    status = watching.events[0]["object"]
    assert status["code"] == 504
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_a_slow_watcher_holds_back_nobody_and_loses_nothing(api: ApiUnderTest) -> None:
    version = await current(api)
    url = f"{VOLUMES}?watch=true&resourceVersion={version}"
    watchers = [await api.watch(url) for _ in range(50)]
    slow = watchers[17]
    slow.pause()
    wanted = [f"v{number:03}" for number in range(120)]
    for name in wanted:
        await api.post(VOLUMES, a_volume(name))
    for watching in watchers:
        assert [name for _, name in watching.names] == ([] if watching is slow else wanted)
    slow.resume()
    assert [name for _, name in slow.names] == wanted
    await api.post(VOLUMES, a_volume("w"))
    assert [name for _, name in slow.names] == [*wanted, "w"]


async def test_a_watcher_that_fell_behind_history_is_told_so(api: ApiUnderTest) -> None:
    slow = await api.watch(f"{VOLUMES}?watch=true&resourceVersion={await current(api)}")
    slow.pause()
    await api.post(VOLUMES, a_volume("missed"))
    await api.parts.backend.store.compact(api.parts.backend.store.revision)
    slow.resume()
    assert slow.types == ["ERROR"]
    assert slow.events[0]["object"]["code"] == 410
    assert slow.ended


async def test_a_slow_watcher_s_initial_events_wait_for_it(api: ApiUnderTest) -> None:
    for number in range(1200):
        await api.post(CONFIG_MAPS, a_config_map(f"c{number:04}"))
    answer = await api.send("GET", f"{CONFIG_MAPS}?{INITIAL}&allowWatchBookmarks=true")
    assert isinstance(answer, Stream)
    watching = Watching(answer)
    watching.pause()
    watching.start()
    assert watching.events == []
    watching.resume()
    assert 0 < len(watching.events) < 1201, "others have their turn"
    await api.settle()
    assert watching.types == ["ADDED"] * 1201 + ["BOOKMARK"]


async def test_table_watches_send_columns_once(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("a"))
    watching = await api.watch(f"{VOLUMES}?watch=true", accept=TABLE)
    await api.post(VOLUMES, a_volume("b"))
    first, second = (event["object"] for event in watching.events)
    assert first["kind"] == second["kind"] == "Table"
    assert first["columnDefinitions"][0]["name"] == "Name"
    assert second["columnDefinitions"] is None
    assert [len(table["rows"]) for table in (first, second)] == [1, 1]
    assert second["rows"][0]["cells"][0] == "b"
    assert second["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_table_bookmarks_are_a_row_that_carries_the_version(
    api: ApiUnderTest, loop_time: LoopTime
) -> None:
    watching = await api.watch(
        f"{VOLUMES}?watch=true&allowWatchBookmarks=true&timeoutSeconds=10", accept=TABLE
    )
    await loop_time.passes(10)
    assert watching.types == ["BOOKMARK"]
    (row,) = watching.events[0]["object"]["rows"]
    metadata = row["object"]["metadata"]
    assert {k for k, v in metadata.items() if v} == {"resourceVersion"}


async def test_metadata_watches_send_metadata(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("a"))
    watching = await api.watch(f"{VOLUMES}?watch=true", accept=PARTIAL)
    shown = watching.events[0]["object"]
    assert (shown["kind"], shown["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert "spec" not in shown


async def test_versions_rise_over_all_kinds_together(api: ApiUnderTest) -> None:
    volumes = await api.watch(f"{VOLUMES}?watch=true")
    maps = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={await current(api)}")
    for name in ("a", "b"):
        await api.post(VOLUMES, a_volume(name))
        await api.post(CONFIG_MAPS, a_config_map(name))
    pairs = zip(versions(volumes), versions(maps), strict=True)
    together = list(itertools.chain.from_iterable(pairs))
    assert together == sorted(set(together))
