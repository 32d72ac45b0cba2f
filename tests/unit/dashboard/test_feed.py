"""The one stream of a page: lists, then changes, and what happens when a kind cannot be read."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from mooring.dashboard.feed import BEAT, WITHOUT_RIGHT, Feed
from mooring.errors import ConnectionLost, Expired, Forbidden
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from tests.fakes.clock import settle
from tests.fakes.objects import a_claim, a_pod
from tests.unit.dashboard.world import World

Line = dict[str, Any]


class Reader:
    """What a page has received."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stream: AsyncGenerator[bytes, None] = Feed(world.client, world.clock).lines()

    async def until(self, **wanted: Any) -> list[Line]:
        """All lines up to one that has these fields."""
        found: list[Line] = []
        async for chunk in self.stream:
            found += map(json.loads, chunk.splitlines())
            if any(wanted.items() <= line.items() for line in found):
                return found
        raise AssertionError("the feed ended")


def put(world: World, name: str) -> None:
    document = a_claim(name)
    document["metadata"]["namespace"] = "team"
    world.server.create(Claim, document)


async def test_claims_are_listed_first_then_the_rest_then_every_change() -> None:
    world = World()
    put(world, "data")
    reader = Reader(world)
    lines = await reader.until(k="drivers", trouble="")
    assert [line["id"] for line in lines[0]["list"]] == ["team/data"]
    assert lines[0]["k"] == "claims"
    listed = {line["k"] for line in lines if "list" in line}
    kinds = {"claims", "volumes", "pods", "attachments", "nodes", "classes", "drivers"}
    assert listed == kinds
    await settle()
    put(world, "more")
    changed = await reader.until(k="claims")
    assert changed[0]["put"]["id"] == "team/more"
    world.server.delete(world.server.get(Claim, Key("team", "more")))
    assert {"k": "claims", "gone": "team/more"} in await reader.until(k="claims", gone="team/more")
    await reader.stream.aclose()
    assert world.client.streams == []


async def test_a_pod_without_claims_is_not_sent() -> None:
    world = World()
    for name, claim in (("plain", ""), ("db", "data")):
        document = a_pod(name, claim=claim)
        document["metadata"]["namespace"] = "team"
        world.server.create(Pod, document)
    reader = Reader(world)
    lines = await reader.until(k="pods", trouble="")
    (pods,) = (line["list"] for line in lines if line["k"] == "pods" and "list" in line)
    assert [pod["id"] for pod in pods] == ["team/db"]
    assert pods[0]["claims"] == ["team/data"]
    await reader.stream.aclose()


async def test_a_kind_that_may_not_be_read_is_said_and_hides_no_other() -> None:
    world = World()
    world.client.fail("list", Forbidden("claims are forbidden"))
    reader = Reader(world)
    lines = await reader.until(k="drivers", trouble="")
    assert {"k": "claims", "trouble": "claims are forbidden"} in lines
    await world.clock.advance(WITHOUT_RIGHT + 1)
    again = await reader.until(k="claims", trouble="")
    assert {"k": "claims", "list": []} in again
    await reader.stream.aclose()


async def test_a_watch_that_fell_behind_lists_again() -> None:
    world = World()
    reader = Reader(world)
    await reader.until(k="drivers", trouble="")
    await settle()
    world.client.fail("watch", Expired("too old"))
    world.client.end_streams()
    lines = await reader.until(k="claims", trouble="")
    assert {"k": "claims", "list": []} in lines
    await reader.stream.aclose()


async def test_a_connection_that_broke_is_made_again() -> None:
    world = World()
    world.client.fail("list", ConnectionLost("no route"))
    reader = Reader(world)
    assert {"k": "claims", "trouble": "no route"} in await reader.until(k="claims")
    await world.clock.advance(1)
    await reader.until(k="claims", trouble="")
    await reader.stream.aclose()


async def test_a_quiet_feed_beats() -> None:
    world = World()
    reader = Reader(world)
    await reader.until(k="drivers", trouble="")
    await world.clock.advance(BEAT + 1)
    assert {"k": "beat"} in await reader.until(k="beat")
    await reader.stream.aclose()
