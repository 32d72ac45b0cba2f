"""LIST: pages, snapshots, how new an answer must be."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.loop_time import LoopTime
from tests.fakes.objects import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PODS,
    SNAPSHOTS,
    VOLUMES,
    a_config_map,
    a_labelled,
    a_namespace,
    a_node,
    a_pod,
    a_snapshot,
    a_volume,
)

Doc = dict[str, Any]


async def create_volumes(api: ApiUnderTest, *names: str) -> None:
    for name in names:
        assert (await api.post(VOLUMES, a_volume(name))).code == 201


async def version_of(api: ApiUnderTest, collection: str = VOLUMES) -> str:
    return str((await api.get(collection)).doc["metadata"]["resourceVersion"])


def names(listed: Doc) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_pages_show_one_snapshot_while_objects_come_and_go(api: ApiUnderTest) -> None:
    await create_volumes(api, "a", "b", "c", "d", "e")
    first = (await api.get(f"{VOLUMES}?limit=2")).doc
    await create_volumes(api, "bb", "dd")
    await api.patch(f"{VOLUMES}/d", {"metadata": {"labels": {"new": "yes"}}})
    pages = [first]
    while token := pages[-1]["metadata"].get("continue"):
        pages.append((await api.get(f"{VOLUMES}?limit=2&continue={quote(token)}")).doc)
    assert [names(page) for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
    assert {page["metadata"]["resourceVersion"] for page in pages} == {
        first["metadata"]["resourceVersion"]
    }
    assert "labels" not in pages[1]["items"][1]["metadata"]


async def test_an_object_deleted_between_pages_still_appears(api: ApiUnderTest) -> None:
    for name in ("a", "b", "c"):
        await api.post(CONFIG_MAPS, a_config_map(name))
    first = (await api.get(f"{CONFIG_MAPS}?limit=1")).doc
    await api.delete(f"{CONFIG_MAPS}/b")
    rest = (await api.get(f"{CONFIG_MAPS}?continue={quote(first['metadata']['continue'])}")).doc
    assert names(first) + names(rest) == ["a", "b", "c", "kube-root-ca.crt"]


async def test_pages_with_a_selector_do_not_tell_how_many_remain(api: ApiUnderTest) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await api.post(CONFIG_MAPS, a_labelled(name, odd="yes" if name in "ace" else "no"))
    first = (await api.get(f"{CONFIG_MAPS}?limit=2&labelSelector=odd=yes")).doc
    assert names(first) == ["a", "c"]
    assert "remainingItemCount" not in first["metadata"]
    token = quote(first["metadata"]["continue"])
    rest = (await api.get(f"{CONFIG_MAPS}?limit=2&labelSelector=odd=yes&continue={token}")).doc
    assert names(rest) == ["e"]
    assert "continue" not in rest["metadata"]


async def test_a_token_from_before_a_compaction_is_410(api: ApiUnderTest) -> None:
    await create_volumes(api, "a", "b")
    token = quote((await api.get(f"{VOLUMES}?limit=1")).doc["metadata"]["continue"])
    await create_volumes(api, "c")
    await api.parts.backend.store.compact(api.parts.backend.store.revision)
    answer = await api.get(f"{VOLUMES}?limit=1&continue={token}")
    assert (answer.code, answer.doc["reason"]) == (410, "Expired")
    other = quote(answer.doc["metadata"]["continue"])  # goes on with what is there now
    rest = (await api.get(f"{VOLUMES}?limit=9&continue={other}")).doc
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]


LIMITS = {
    "limit=0 is no limit": ("limit=0", ["a", "b", "c"]),
    "a negative limit is no limit": ("limit=-3", ["a", "b", "c"]),
    "a limit beyond the end is no limit": ("limit=500", ["a", "b", "c"]),
    "an empty limit is no limit": ("limit=", ["a", "b", "c"]),
    "unknown parameters are ignored": ("colour=blue", ["a", "b", "c"]),
    "resourceVersion=0 takes what there is": ("resourceVersion=0", ["a", "b", "c"]),
    "NotOlderThan an old version takes what there is": (
        "resourceVersion=1&resourceVersionMatch=NotOlderThan",
        ["a", "b", "c"],
    ),
    "an old version without match takes what there is": ("resourceVersion=2", ["a", "b", "c"]),
    "watch=false is a list": ("watch=false", ["a", "b", "c"]),
    "watch=0 is a list": ("watch=0", ["a", "b", "c"]),
    "watch=FALSE is a list": ("watch=FALSE", ["a", "b", "c"]),
    "a timeout as kubectl sends it": ("timeout=32s", ["a", "b", "c"]),
}


@pytest.mark.parametrize(("query", "found"), LIMITS.values(), ids=LIMITS)
async def test_lists(api: ApiUnderTest, query: str, found: list[str]) -> None:
    await create_volumes(api, "a", "b", "c")
    answer = await api.get(f"{VOLUMES}?{query}")
    assert answer.code == 200
    assert names(answer.doc) == found
    assert "continue" not in answer.doc["metadata"]


REFUSED = {
    "a token that is none": ("continue=zzz", 400, "invalid continue token: "),
    "a token of another make": ("continue=WzEsMl0%3D", 400, "invalid continue token: "),
    "a token that is not text": ("continue=%FF%FE", 400, "invalid continue token: "),
    "a token and a version": (
        "continue=WyJhIiwzXQ%3D%3D&resourceVersion=3",
        400,
        "specifying resource version is not allowed when using continue",
    ),
    "Exact without a version": (
        "resourceVersionMatch=Exact",
        422,
        "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
        "resourceVersion is provided",
    ),
    "NotOlderThan without a version": (
        "resourceVersionMatch=NotOlderThan",
        422,
        "resourceVersionMatch: Forbidden: ",
    ),
    "Exact of version 0": (
        "resourceVersionMatch=Exact&resourceVersion=0",
        422,
        'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ),
    "a match that is none": (
        "resourceVersionMatch=Fuzzy&resourceVersion=3",
        422,
        'resourceVersionMatch: Unsupported value: "Fuzzy"',
    ),
    "initial events on a list": (
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=3",
        422,
        "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
    ),
    "a limit that is no number": ("limit=many", 400, 'parsing "many": invalid syntax'),
    "timeoutSeconds that are no number": ("timeoutSeconds=x", 400, 'parsing "x": invalid syntax'),
    "a timeout that is no duration": (
        "timeout=soon",
        400,
        "invalid timeout specified in the request URL - ",
    ),
    "a version that is no number": ("resourceVersion=abc", 400, "abc"),
    "a negative version": ("resourceVersion=-1", 400, "-1"),
    "a version in digits of another script": ("resourceVersion=%D9%A3", 400, "invalid syntax"),
    "a version that fits no counter": (f"resourceVersion={'9' * 5000}", 400, "out of range"),
    "a limit that fits no counter": (f"limit={'9' * 5000}", 400, "out of range"),
}


@pytest.mark.parametrize(("query", "code", "message"), REFUSED.values(), ids=REFUSED)
async def test_refused_lists(api: ApiUnderTest, query: str, code: int, message: str) -> None:
    answer = await api.get(f"{VOLUMES}?{query}")
    assert answer.code == code, answer.text
    assert message in answer.doc["message"]
    if code == 422:
        assert answer.doc["message"].startswith("ListOptions.meta.k8s.io ")


TOO_NEW = {
    "a list": VOLUMES,
    "an object": f"{NAMESPACES}/default",
}


@pytest.mark.parametrize("path", TOO_NEW.values(), ids=TOO_NEW)
async def test_a_version_of_the_future_is_waited_for_then_504(
    api: ApiUnderTest, loop_time: LoopTime, path: str
) -> None:
    began = loop_time.now()
    answer = await api.get(f"{path}?resourceVersion=99999999")
    assert 3 <= loop_time.now() - began < 4
    current = api.parts.backend.store.revision
    assert answer.code == 504
    assert answer.header("Retry-After") == "1"
    assert answer.doc["reason"] == "Timeout"
    assert (
        answer.doc["message"]
        == f"Timeout: Too large resource version: 99999999, current: {current}"
    )
    assert answer.doc["details"]["retryAfterSeconds"] == 1
    assert [cause["reason"] for cause in answer.doc["details"]["causes"]] == [
        "ResourceVersionTooLarge"
    ]


async def test_exact_shows_the_state_as_it_was(api: ApiUnderTest) -> None:
    await create_volumes(api, "a", "b")
    then = await version_of(api)
    await api.patch(f"{VOLUMES}/a", {"metadata": {"labels": {"new": "yes"}}})
    await create_volumes(api, "c")
    answer = await api.get(f"{VOLUMES}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert names(answer.doc) == ["a", "b"]
    assert answer.doc["metadata"]["resourceVersion"] == then
    assert "labels" not in answer.doc["items"][0]["metadata"]


async def test_exact_of_a_compacted_version_is_410(api: ApiUnderTest) -> None:
    then = await version_of(api)
    await create_volumes(api, "a")
    await api.parts.backend.store.compact(api.parts.backend.store.revision)
    answer = await api.get(f"{VOLUMES}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert (answer.code, answer.doc["reason"]) == (410, "Expired")
    assert answer.doc["message"].startswith(f"too old resource version: {then} (")


async def test_a_namespace_that_does_not_exist_lists_empty(api: ApiUnderTest) -> None:
    answer = await api.get("/api/v1/namespaces/nowhere/configmaps")
    assert answer.code == 200
    assert answer.doc["items"] == []
    assert int(answer.doc["metadata"]["resourceVersion"]) > 0


async def test_items_of_built_in_kinds_do_not_repeat_their_kind(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod())
    listed = (await api.get(PODS)).doc
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    assert not {"kind", "apiVersion"} & listed["items"][0].keys()
    assert "continue" not in listed["metadata"]


async def test_items_of_snapshot_kinds_carry_their_kind(api: ApiUnderTest) -> None:
    await api.post(SNAPSHOTS, a_snapshot())
    listed = (await api.get(SNAPSHOTS)).doc
    assert listed["kind"] == "VolumeSnapshotList"
    assert listed["items"][0]["kind"] == "VolumeSnapshot"
    assert listed["items"][0]["apiVersion"] == "snapshot.storage.k8s.io/v1"
    assert listed["metadata"]["continue"] == ""


async def test_all_namespaces_are_listed_by_the_bytes_of_namespace_and_name(
    api: ApiUnderTest,
) -> None:
    for namespace in ("b", "a", "a-b"):
        await api.post(NAMESPACES, a_namespace(namespace))
        for name in ("z", "y"):
            created = await api.post(
                f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": name}}
            )
            assert created.code == 201
    listed = (await api.get("/api/v1/secrets")).doc
    found = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listed["items"]]
    # "a-b/y" before "a/y", as where the keys of etcd are sorted
    assert found == [("a-b", "y"), ("a-b", "z"), ("a", "y"), ("a", "z"), ("b", "y"), ("b", "z")]


async def test_a_namespace_is_not_listed_with_those_it_begins_like(api: ApiUnderTest) -> None:
    for namespace in ("team", "team-b", "team0"):
        await api.post(NAMESPACES, a_namespace(namespace))
        await api.post(f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "s"}})
    listed = (await api.get("/api/v1/namespaces/team/secrets")).doc
    assert [item["metadata"]["namespace"] for item in listed["items"]] == ["team"]


async def test_a_list_starts_a_watch_that_misses_nothing(api: ApiUnderTest) -> None:
    await api.post(NODES, a_node("before"))
    version = await version_of(api, NODES)
    await api.post(NODES, a_node("after"))
    watching = await api.watch(f"{NODES}?watch=true&resourceVersion={version}")
    assert watching.names == [("ADDED", "after")]


async def test_many_items_arrive_whole(api: ApiUnderTest) -> None:
    wanted = [f"v{number:04}" for number in range(600)]
    await create_volumes(api, *wanted)
    assert names((await api.get(VOLUMES)).doc) == wanted
