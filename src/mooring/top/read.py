"""Asks every node for its summary, through the API server and with the caller's rights."""

import asyncio
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote

import msgspec

from mooring.client.contract import EVERYTHING, Listing, Scope, T
from mooring.errors import ApiError, ConnectionLost, Forbidden, NotFound
from mooring.model.node import Node
from mooring.top.summary import Summary, decode

NODES_AT_ONCE = 16
PATIENCE = 10.0  # seconds for one node: one that hangs hides no other


class SummaryReader(Protocol):
    """`client.http.HttpClient`."""

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]: ...

    async def read(self, path: str, query: Mapping[str, str]) -> bytes: ...


class Measured(msgspec.Struct, frozen=True):
    summaries: Mapping[str, Summary]  # by node
    unseen: Mapping[str, str] = {}  # nodes that could not be asked, and why


async def read_summaries(reader: SummaryReader) -> Measured:
    """Raises: ApiError, ConnectionLost when the nodes cannot be listed."""
    nodes = sorted(node.name for node in (await reader.list(Node)).readable)
    slots = asyncio.Semaphore(NODES_AT_ONCE)

    async def ask(node: str) -> Summary | str:
        async with slots:
            return await _ask(reader, node)

    answers = await asyncio.gather(*map(ask, nodes))
    by_node = dict(zip(nodes, answers, strict=True))
    return Measured(
        {node: answer for node, answer in by_node.items() if isinstance(answer, Summary)},
        {node: answer for node, answer in by_node.items() if isinstance(answer, str)},
    )


async def _ask(reader: SummaryReader, node: str) -> Summary | str:
    """The summary, or why there is none."""
    path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/stats/summary"
    try:
        async with asyncio.timeout(PATIENCE):
            return decode(await reader.read(path, {}))
    except Forbidden as error:
        return f"{error}; this needs the right to get nodes/proxy"
    except NotFound:
        return "its kubelet serves no summary of volumes"
    except TimeoutError:
        return f"its kubelet did not answer within {PATIENCE:g} s"
    except (ApiError, ConnectionLost) as error:
        return str(error)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return f"its summary cannot be read: {error}"
