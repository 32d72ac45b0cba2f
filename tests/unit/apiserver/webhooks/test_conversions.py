"""Conversions: what they cost, what is kept, and when a webhook is given up."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from mooring.apiserver.custom.kinds_of import kinds_of
from mooring.apiserver.documents.document import decode, decode_as_stored, to_put
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.limits.budgets import MOST_CONVERSIONS
from mooring.apiserver.limits.turns import Turns, round_trip
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.at_once import WouldWait, at_once
from mooring.apiserver.webhooks import conversions as module
from mooring.apiserver.webhooks.asking import Asking
from mooring.apiserver.webhooks.conversions import Conversions
from mooring.errors import ServerError
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.definitions import Doc, a_definition, a_version
from tests.fakes.loop_time import LoopTime

CLIENT = {"url": "https://example.com/convert"}
Post = Callable[[Doc], Awaitable[Doc]]


class PlayedWebhook(Asking):
    """Answers as `respond` does, given the request of a review."""

    def __init__(self, respond: Post) -> None:
        nothing: Any = None
        super().__init__(nothing, random.Random(1))  # noqa: S311  uids are no secrets
        self.respond = respond
        self.asked: list[Doc] = []

    async def post(self, client: Doc, body: bytes, seconds: float) -> bytes:
        assert (client, seconds) == (CLIENT, 30.0)
        review = json.loads(body)
        self.asked.append(review["request"])
        response = await self.respond(review["request"])
        return json.dumps({**review, "response": response}).encode()


async def renaming(request: Doc) -> Doc:
    objects = [{**doc, "apiVersion": request["desiredAPIVersion"]} for doc in request["objects"]]
    success = {"status": "Success"}
    return {"uid": request["uid"], "convertedObjects": objects, "result": success}


async def hanging(_: Doc) -> Doc:
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


def kinds() -> dict[str, Kind]:
    definition = a_definition(versions=[a_version("v1"), a_version("v2", storage=False)])
    webhook = {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    names = definition["spec"]["names"]
    definition["status"] = {"acceptedNames": names, "storedVersions": ["v1"]}
    found = kinds_of(definition, msgspec.json.encode(definition), "digest")
    return {kind.version: kind for kind in found.served}


def an_entry(name: str = "w", revision: int = 7, word: str = "") -> Entry:
    doc = {
        "apiVersion": "example.com/v1",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"size": 1, "word": word},
    }
    value = to_put(doc, is_marked=True).stamp(revision)
    return Entry("example.com/widgets", f"default/{name}", value, revision)


def built(respond: Post = renaming) -> tuple[PlayedWebhook, Conversions]:
    webhook = PlayedWebhook(respond)
    return webhook, Conversions(webhook, Turns(VirtualClock()))


async def test_a_converted_entry_is_read_as_if_it_were_stored_so() -> None:
    webhook, conversions = built()
    kind = kinds()["v2"]
    shown = await conversions.readable_one(kind, an_entry())
    assert (shown.name, shown.revision) == ("default/w", 7)
    doc = decode(kind, shown)
    assert doc["apiVersion"] == "example.com/v2"
    assert doc["metadata"]["resourceVersion"] == "7"
    assert await conversions.readable_one(kind, an_entry()) is shown
    assert len(webhook.asked) == 1
    assert await conversions.readable_one(kind, an_entry(revision=8)) is not shown
    assert len(webhook.asked) == 2


async def test_what_needs_no_webhook_does_not_wait() -> None:
    _, conversions = built()
    versions = kinds()
    entry = an_entry()
    assert at_once(conversions.readable_one(versions["v1"], entry)) is entry
    with pytest.raises(WouldWait):
        at_once(conversions.readable_one(versions["v2"], entry))
    shown = await conversions.readable_one(versions["v2"], entry)
    assert at_once(conversions.readable_one(versions["v2"], entry)) is shown


async def test_a_definition_that_changed_converts_anew() -> None:
    webhook, conversions = built()
    for _ in range(2):
        await conversions.readable_one(kinds()["v2"], an_entry())
    assert len(webhook.asked) == 2


async def test_the_longest_unused_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _, conversions = built()
    kind = kinds()["v2"]
    monkeypatch.setattr(module, "MOST_CONVERTED_BYTES", 2_500)
    entries = [an_entry(name, word="x" * 1000) for name in "abc"]
    await conversions.readable_one(kind, entries[0])
    await conversions.readable_one(kind, entries[1])
    await conversions.readable_one(kind, entries[0])
    await conversions.readable_one(kind, entries[2])
    assert conversions.known(kind, entries[:1]) is not None
    assert conversions.known(kind, entries[1:2]) is None
    whole = await conversions.readable(kind, entries)  # more than is kept, and complete
    assert [entry.name for entry in whole] == ["default/a", "default/b", "default/c"]


async def test_one_that_hangs_is_given_up_after_thirty_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = LoopTime(asyncio.get_running_loop(), monkeypatch)
    webhook, conversions = built(hanging)
    kind = kinds()["v2"]
    begun = time.now()
    several = asyncio.gather(
        *(conversions.readable_one(kind, an_entry(str(n))) for n in range(20)),
        return_exceptions=True,
    )
    await time.passes(29)
    assert len(webhook.asked) == 8  # the others are in line
    ends = await several
    assert time.now() - begun >= 30
    told = 'Kind=Widget failed: Post "https://example.com/convert?timeout=30s": context deadline'
    assert all(isinstance(end, ServerError) and told in str(end) for end in ends), ends
    webhook.respond = renaming
    await conversions.readable_one(kind, an_entry())


async def test_a_long_list_is_decoded_a_few_batches_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_CONVERTED_AT_ONCE", 1)
    decoded: list[str] = []

    def decode_and_note(kind: Kind, entry: Entry) -> Doc:
        decoded.append(entry.name)
        return decode_as_stored(kind, entry)

    monkeypatch.setattr(module, "decode_as_stored", decode_and_note)
    go_on = asyncio.Event()

    async def slow(request: Doc) -> Doc:
        await go_on.wait()
        return await renaming(request)

    _, conversions = built(slow)
    entries = [an_entry(f"w-{number:02}") for number in range(50)]
    listing = asyncio.ensure_future(conversions.readable(kinds()["v2"], entries))
    await settle()
    assert len(decoded) == MOST_CONVERSIONS
    go_on.set()
    assert [entry.name for entry in await listing] == [entry.name for entry in entries]


async def test_whoever_leaves_takes_nobodys_answer_along() -> None:
    released = asyncio.Event()

    async def respond(request: Doc) -> Doc:
        await released.wait()
        return await renaming(request)

    webhook, conversions = built(respond)
    kind = kinds()["v2"]
    first = asyncio.ensure_future(conversions.readable_one(kind, an_entry()))
    second = asyncio.ensure_future(conversions.readable_one(kind, an_entry()))
    while not webhook.asked:
        await asyncio.wait([first], timeout=0)
    first.cancel()
    released.set()
    assert (await second).name == "default/w"
    assert len(webhook.asked) == 1


async def test_an_object_of_a_version_that_is_no_more_is_told() -> None:
    _, conversions = built()
    entry = an_entry()
    old = Entry(entry.table, entry.name, entry.value.replace(b"com/v1", b"com/v0"), 7)
    with pytest.raises(ServerError, match=r"from an invalid group/version: example\.com/v0"):
        await conversions.readable_one(kinds()["v2"], old)


async def test_closing_ends_what_is_under_way() -> None:
    webhook, conversions = built(hanging)
    waiting = asyncio.ensure_future(conversions.readable_one(kinds()["v2"], an_entry()))
    while not webhook.asked:
        await asyncio.wait([waiting], timeout=0)
    await conversions.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


class HastyClock(VirtualClock):
    """On which every look takes a second: each slice is over when it is asked."""

    def monotonic(self) -> float:
        self._looks = getattr(self, "_looks", 0) + 1
        return super().monotonic() + self._looks


@pytest.mark.parametrize("is_kept", [False, True], ids=["asked for", "kept"])
async def test_of_a_long_list_others_wait_for_a_part(
    monkeypatch: pytest.MonkeyPatch, *, is_kept: bool
) -> None:
    monkeypatch.setattr(module, "LOOK_AT_ONCE", 10)
    conversions = Conversions(PlayedWebhook(renaming), Turns(HastyClock()))
    kind, entries = kinds()["v2"], [an_entry(f"w{number:02}") for number in range(100)]
    if is_kept:
        await conversions.readable(kind, entries)
    reading, rounds = asyncio.create_task(conversions.readable(kind, entries)), 0
    while not reading.done():
        await round_trip()
        rounds += 1
    assert [shown.name for shown in reading.result()] == [entry.name for entry in entries]
    assert rounds > (20 if is_kept else 500)  # also for each object, before and after it is made
