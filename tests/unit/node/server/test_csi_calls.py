"""The node's CSI calls, for those who may `nodes/proxy`."""

import asyncio
import json

import aiohttp

from mooring.csi.call_log import CALLS
from mooring.csi.call_query import PATH
from tests.unit.node.server.running import Node, client_of

DRIVER = "of-a-node.example.com"


async def test_calls_are_read_and_followed_through_the_node(
    node: Node, http: aiohttp.ClientSession
) -> None:
    call = CALLS.begin(DRIVER, "/csi.v1.Node/NodeStageVolume", node.clock.now(), 0.0)
    async with http.get(f"{PATH}?driver={DRIVER}") as answer:
        assert answer.status == 200, await answer.text()
        assert [one["inFlight"] for one in (await answer.json())["calls"]] == [True]
    async with http.get(f"{PATH}?driver={DRIVER}&watch=1") as answer, asyncio.timeout(30):
        assert json.loads(await answer.content.readline())["type"] == "STARTED"
        CALLS.end(call, "OK", 0.5)
        event = json.loads(await answer.content.readline())
    assert (event["type"], event["call"]["code"]) == ("FINISHED", "OK")
    async with http.get(f"{PATH}?since=soon") as answer:
        assert answer.status == 400


async def test_without_the_right_to_proxy_nothing_is_shown(node: Node) -> None:
    tls = node.tls("somebody", "people")
    async with client_of(node, tls) as stranger, stranger.get(PATH) as answer:
        assert answer.status == 403, await answer.text()
