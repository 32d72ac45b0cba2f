"""A node's server for each test, with one container that runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.unit.node.server.running import Node, client_of


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    node = Node(tmp_path)
    async with node.running():
        await node.run_container()
        yield node


@pytest.fixture
async def http(node: Node) -> AsyncIterator[aiohttp.ClientSession]:
    async with client_of(node) as session:
        yield session
