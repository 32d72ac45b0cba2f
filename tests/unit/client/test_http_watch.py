"""Watches over HTTP, as they may arrive: in bits, cut off, with errors in them."""

import asyncio

import pytest

from mooring.apiserver.verbs.watch import BOOKMARK_EVERY
from mooring.client import http, http_watch
from mooring.client.contract import Change, ChangeType, Scope
from mooring.client.http import HttpClient
from mooring.errors import ConnectionLost, Expired, MooringError, ServerError
from mooring.model.claim import Claim
from tests.unit.client.scripted_server import Script, a_stored


def line(kind: str, name: str = "data", version: str = "6") -> bytes:
    stored = str(a_stored(name, version)).replace("'", '"')
    return f'{{"type":"{kind}","object":{stored}}}\n'.encode()


async def changes_of(client: HttpClient) -> list[Change[Claim]]:
    async with client.watch(Claim, "5", Scope("default")) as changes:
        return [change async for change in changes]


async def test_a_watch_asks_for_bookmarks_and_an_end(script: Script, client: HttpClient) -> None:
    script.stream()
    assert await changes_of(client) == []
    query = script.asked[0].query
    assert 300 <= int(query.pop("timeoutSeconds")) <= 600
    assert query == {"watch": "true", "resourceVersion": "5", "allowWatchBookmarks": "true"}


PIECES = {
    "line by line": (line("ADDED", "a"), line("ADDED", "b")),
    "all at once": (line("ADDED", "a") + line("ADDED", "b"),),
    "in bits": tuple(bytes([b]) for b in line("ADDED", "a") + line("ADDED", "b")),
    "with empty lines in between": (b"\n", line("ADDED", "a") + b"\n", line("ADDED", "b")),
    "half a line first": (line("ADDED", "a")[:20], line("ADDED", "a")[20:] + line("ADDED", "b")),
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
async def test_changes_arrive(
    script: Script, client: HttpClient, pieces: tuple[bytes, ...]
) -> None:
    script.stream(*pieces)
    assert [change.object.name for change in await changes_of(client)] == ["a", "b"]


async def test_a_large_object_arrives_whole(script: Script, client: HttpClient) -> None:
    note = "x" * 2_000_000
    metadata = f'{{"resourceVersion":"6","annotations":{{"a":"{note}"}}}}'
    script.stream(f'{{"type":"ADDED","object":{{"metadata":{metadata}}}}}\n'.encode())
    (change,) = await changes_of(client)
    assert change.object.metadata.annotations == {"a": note}


async def test_bookmarks_are_delivered(script: Script, client: HttpClient) -> None:
    mark = '{"type":"BOOKMARK","object":{"kind":"PersistentVolumeClaim","apiVersion":"v1",'
    script.stream(f'{mark}"metadata":{{"resourceVersion":"12"}}}}}}\n'.encode())
    (change,) = await changes_of(client)
    assert change.type is ChangeType.BOOKMARK
    assert change.object.metadata.resource_version == "12"


async def test_of_a_bookmark_only_the_version_is_read(script: Script, client: HttpClient) -> None:
    mark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"},'
    script.stream(f'{mark}"spec":{{"accessModes":null}},"status":7}}}}\n'.encode())
    (change,) = await changes_of(client)
    assert (change.type, change.object.metadata.resource_version) == (ChangeType.BOOKMARK, "12")


GONE = b'{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}'
BAD_ENDS: dict[str, tuple[bytes, type[MooringError], str]] = {
    "an error": (b'{"type":"ERROR","object":%b}\n' % GONE, Expired, "too old"),
    "half a line": (line("ADDED")[:30], ConnectionLost, "in the middle of a change"),
    "what is no JSON": (b"<html>\n", ServerError, "cannot be read"),
    "what is not Unicode": (b'{"type":"\xff","object":{}}\n', ServerError, "cannot be read"),
    "an object that is not Unicode": (
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n',
        ServerError,
        "cannot be read",
    ),
    "what is nested without end": (
        b'{"type":"ADDED","object":{"spec":' + b"[" * 100_000 + b"\n",
        ServerError,
        "cannot be read",
    ),
    "no version": (line("ADDED", version=""), ServerError, "without a version"),
    "a version that is no number": (line("ADDED", version="six"), ServerError, "whole number"),
    "a version that is too long to be one": (
        line("ADDED", version="6" * 5000),
        ServerError,
        "whole number",
    ),
    "a change of an unknown type": (line("RENAMED"), ServerError, "'RENAMED'"),
}


@pytest.mark.parametrize(("data", "error", "words"), BAD_ENDS.values(), ids=BAD_ENDS)
async def test_a_watch_ends_badly_with(
    script: Script, client: HttpClient, data: bytes, error: type[MooringError], words: str
) -> None:
    script.stream(data)
    with pytest.raises(error, match=words):
        await changes_of(client)


async def test_a_watch_without_a_word_ends_so_that_another_begins(
    script: Script, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WATCH_IDLE_SECONDS", 0.2)
    script.stream(line("ADDED"), is_open=True)
    assert [change.object.name for change in await changes_of(client)] == ["data"]
    async with asyncio.timeout(5):
        await script.hung_up.wait()


async def test_a_watch_that_falls_silent_in_a_change_is_a_lost_connection(
    script: Script, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WATCH_IDLE_SECONDS", 0.2)
    script.stream(line("ADDED")[:30], is_open=True)
    with pytest.raises(ConnectionLost, match="did not answer in time"):
        await changes_of(client)


async def test_a_watch_that_does_not_even_begin_is_a_lost_connection(
    script: Script, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ANSWER_SECONDS", 0.2)
    script.say_nothing()
    with pytest.raises(ConnectionLost, match="did not answer in time"):
        await changes_of(client)


async def test_a_change_without_end_is_refused(
    script: Script, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_watch, "MOST_LINE_BYTES", 1000)
    script.stream(*[b"x" * 100] * 20, is_open=True)
    with pytest.raises(ServerError, match="more than 1000 bytes"):
        await changes_of(client)


async def test_silence_is_longer_than_two_bookmarks_and_shorter_than_a_watch() -> None:
    assert 2 * BOOKMARK_EVERY < http.WATCH_IDLE_SECONDS < http.SHORTEST_WATCH


async def test_a_watch_that_is_cut_off_is_a_lost_connection(
    script: Script, client: HttpClient
) -> None:
    script.stream(line("ADDED"), is_cut=True)
    with pytest.raises(ConnectionLost, match="broke"):
        await changes_of(client)


async def test_a_watch_refused_at_once_has_expired(script: Script, client: HttpClient) -> None:
    script.refuse(410, "Gone")
    with pytest.raises(Expired):
        await changes_of(client)


async def test_leaving_a_watch_ends_its_connection(script: Script, client: HttpClient) -> None:
    script.stream(line("ADDED"), is_open=True)
    async with client.watch(Claim, "5") as changes:
        assert (await anext(changes)).object.name == "data"
    async with asyncio.timeout(5):
        await script.hung_up.wait()
