"""`kill -9` while clients write; what was acknowledged is there afterwards.

Rounds: MOORING_KILL_ROUNDS (5 unless told), beginning with seed MOORING_KILL_SEED (1).
"""

import asyncio
import os
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from tests.fakes.raw_http import Got, RawHttp, WatchLines
from tests.fakes.real_server import RealServer

Doc = dict[str, Any]

MAPS = "/api/v1/namespaces/default/configmaps"
ROUNDS = int(os.environ.get("MOORING_KILL_ROUNDS", "5"))
SEED = int(os.environ.get("MOORING_KILL_SEED", "1"))
WRITERS = 8
GONE = (ConnectionError, asyncio.IncompleteReadError, TimeoutError)


class Known(msgspec.Struct):
    """What a writer knows of one object. A text is its content, None says that it is not there."""

    acknowledged: str | None = None
    revision: int = 0  # of the last acknowledged write, or the newest that a watch told
    doubtful: list[str | None] = []  # the outcome of a write that nobody answered


class Ledger:
    """All that clients were told, and all that they tried without being told."""

    def __init__(self) -> None:
        self.objects: dict[str, Known] = {}
        self.newest = 0  # revision that anybody was told
        self.count = 0

    def tell(self, name: str, outcome: str | None, revision: int) -> None:
        known = self.objects[name]
        known.acknowledged, known.doubtful, known.revision = outcome, [], revision
        self.newest = max(self.newest, revision)
        self.count += 1


def a_body(name: str, text: str) -> Doc:
    """Says everything twice, so that half of it would be noticed."""
    return {
        "metadata": {"name": name, "annotations": {"sum": str(zlib.crc32(text.encode()))}},
        "data": {"text": text},
    }


def revision_of(got: Got) -> int:
    return int(got.doc["metadata"]["resourceVersion"])


class Writer:
    """Creates, changes and deletes objects of its own, one after the other."""

    def __init__(self, number: str, ledger: Ledger, rng: random.Random) -> None:
        self._number = number
        self._ledger = ledger
        self._rng = rng
        self._made = 0
        self._mine: list[str] = []

    async def run(self, server: RealServer) -> None:
        """Until the server is gone."""
        with suppress(*GONE):
            async with await RawHttp.connect(server) as client:
                while True:
                    await self._write(client)

    async def _write(self, client: RawHttp) -> None:
        text = self._rng.choice("abcdef") * self._rng.choice((10, 500, 20_000))
        text += str(self._ledger.count)
        match self._rng.choice(("create", "create", "change", "change", "delete")):
            case "change" if self._mine:
                name = self._rng.choice(self._mine)
                got = await self._try(client, "PUT", name, text)
            case "delete" if self._mine:
                name = self._mine.pop(self._rng.randrange(len(self._mine)))
                await self._delete(client, name)
                return
            case _:
                self._made += 1
                name = f"{self._number}-{self._made}"
                self._ledger.objects[name] = Known()
                got = await self._try(client, "POST", name, text)
                self._mine.append(name)
        self._ledger.tell(name, text, revision_of(got))

    async def _try(self, client: RawHttp, method: str, name: str, text: str) -> Got:
        self._ledger.objects[name].doubtful = [text]
        path = MAPS if method == "POST" else f"{MAPS}/{name}"
        got = await client.ask(method, path, a_body(name, text))
        assert got.code in {200, 201}, got.body
        return got

    async def _delete(self, client: RawHttp, name: str) -> None:
        known = self._ledger.objects[name]
        known.doubtful = [None]
        got = await client.ask("DELETE", f"{MAPS}/{name}")
        assert got.code == 200, got.body
        self._ledger.tell(name, None, known.revision + 1)


async def follow(server: RealServer, ledger: Ledger) -> None:
    """Watch, and note what was told: it may not be taken back either."""
    with suppress(*GONE):
        async with await RawHttp.connect(server) as client:
            listed = await client.ask("GET", MAPS)
            ledger.newest = max(ledger.newest, revision_of(listed))
            url = f"{MAPS}?watch=true&resourceVersion={revision_of(listed)}"
            await client.send(client.request("GET", url))
            await client.head()
            events = WatchLines(client)
            last = revision_of(listed)
            while event := await events.next():
                metadata = event["object"]["metadata"]
                assert int(metadata["resourceVersion"]) > last, "in order, none twice"
                last = int(metadata["resourceVersion"])
                ledger.newest = max(ledger.newest, last)


async def write_until_ended(
    server: RealServer,
    ledger: Ledger,
    name: str,
    rng: random.Random,
    end: Callable[[], object],
) -> None:
    """Clients write and watch; somewhere in the middle `end` is called, in a thread."""
    writes = ledger.count + rng.randint(1, 600)
    loop = asyncio.get_running_loop()
    moment = loop.create_future()

    async def end_it() -> None:
        while ledger.count < writes:
            done, _ = await asyncio.wait(
                clients, timeout=0.002, return_when=asyncio.FIRST_COMPLETED
            )
            assert not done, [client.exception() for client in done]
        loop.call_later(rng.random() / 50, moment.set_result, None)
        await moment
        await loop.run_in_executor(None, end)

    clients = {
        asyncio.create_task(Writer(f"{name}-{number}", ledger, rng).run(server))
        for number in range(WRITERS)
    }
    clients.add(asyncio.create_task(follow(server, ledger)))
    await end_it()
    await asyncio.gather(*clients)


async def read_all(client: RawHttp) -> tuple[dict[str, Doc], int]:
    """Every object by name, page by page, and the revision of the list."""
    found: dict[str, Doc] = {}
    token = ""
    while True:
        page = (await client.ask("GET", f"{MAPS}?limit=500&continue={token}")).doc
        found |= {item["metadata"]["name"]: item for item in page["items"]}
        token = page["metadata"].get("continue", "")
        if not token:
            return found, int(page["metadata"]["resourceVersion"])


def check(ledger: Ledger, found: dict[str, Doc], revision: int) -> None:
    assert revision >= ledger.newest, "the counter went back"
    for name, doc in found.items():
        if name == "kube-root-ca.crt":
            continue
        assert name in ledger.objects, f"{name} was never written"
        text = doc["data"]["text"]
        sum_told = doc["metadata"]["annotations"]["sum"]
        assert sum_told == str(zlib.crc32(text.encode())), f"half of {name}"
        assert int(doc["metadata"]["resourceVersion"]) <= revision
    for name, known in ledger.objects.items():
        here = found[name]["data"]["text"] if name in found else None
        assert here in (known.acknowledged, *known.doubtful), (
            f"{name}: {here!r:.40} instead of {known.acknowledged!r:.40}"
        )
        if here == known.acknowledged and here is not None and not known.doubtful:
            assert int(found[name]["metadata"]["resourceVersion"]) == known.revision
        known.acknowledged, known.doubtful = here, []
        known.revision = int(found[name]["metadata"]["resourceVersion"]) if name in found else 0


async def check_old_watches(server: RealServer, ledger: Ledger, rng: random.Random) -> None:
    """From any revision that was ever told: every later event, or 410."""
    since: dict[int, str] = {}  # what was written since the start, by revision
    for asked in (1, rng.randint(1, ledger.newest), ledger.newest):
        async with await RawHttp.connect(server) as client:
            current = revision_of(await client.ask("GET", MAPS))
            await client.send(client.request("GET", f"{MAPS}?watch=true&resourceVersion={asked}"))
            assert (await client.head()).code == 200
            name = f"after-{current}"
            ledger.objects[name] = Known()
            async with await RawHttp.connect(server) as writer:
                made = await writer.ask("POST", MAPS, a_body(name, "x"))
            assert revision_of(made) == current + 1, "a revision was left out or given twice"
            ledger.tell(name, "x", revision_of(made))
            since[revision_of(made)] = name
            events = WatchLines(client)
            for wanted in [name for revision, name in since.items() if revision > asked]:
                event = await events.next()
                assert event is not None
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410
                    assert asked < min(since) - 1, "nothing happened in between"
                    break
                assert event["object"]["metadata"]["name"] == wanted


@pytest.mark.timeout(60 + 20 * ROUNDS)
async def test_what_was_acknowledged_survives_kill_9(
    own_api_server: RealServer, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger()
    for seed in range(SEED, SEED + ROUNDS):
        rng = random.Random(seed)  # noqa: S311  the same moments every time
        await write_until_ended(own_api_server, ledger, f"w{seed}", rng, own_api_server.kill)
        own_api_server.start()
        async with await RawHttp.connect(own_api_server) as client:
            found, revision = await read_all(client)
        check(ledger, found, revision)
        await check_old_watches(own_api_server, ledger, rng)
    assert own_api_server.stop() == 0
    own_api_server.start()
    async with await RawHttp.connect(own_api_server) as client:
        found, revision = await read_all(client)
    check(ledger, found, revision)
    with capsys.disabled():
        print(  # noqa: T201  a figure to compare with the next time
            f"\n{ROUNDS} kills, {ledger.count} acknowledged writes, {len(found)} objects, none lost"
        )


async def test_a_stop_under_load_is_clean_and_loses_nothing(own_server: RealServer) -> None:
    ledger = Ledger()
    codes: list[int] = []
    for seed in range(3):
        rng = random.Random(seed)  # noqa: S311  the same moments every time
        await write_until_ended(
            own_server, ledger, f"s{seed}", rng, lambda: codes.append(own_server.stop())
        )
        assert not any(codes)
        assert own_server.log.read_text() == ""
        own_server.start()
        async with await RawHttp.connect(own_server) as client:
            found, revision = await read_all(client)
        check(ledger, found, revision)


async def test_a_server_killed_while_it_starts_starts_again(own_server: RealServer) -> None:
    """Nothing that a start does may stand in the way of the next one."""
    kept = own_server.ask("POST", MAPS, a_body("kept", "x"))
    assert kept.code == 201
    rng = random.Random(SEED)  # noqa: S311  the same moments every time
    own_server.kill()
    loop = asyncio.get_running_loop()
    for _ in range(6):
        own_server.launch()
        moment = loop.create_future()
        loop.call_later(rng.random() * 0.8, moment.set_result, None)
        await moment
        own_server.kill()
    own_server.start()
    again = own_server.ask("GET", f"{MAPS}/kept")
    assert again.doc == kept.doc
