"""The page of a role that runs alone: what it counts, and that it lives."""

import re
import socket
from collections.abc import Iterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from mooring.errors import UsageError
from mooring.stack.metrics_page import metrics_served


class Counted(Collector):
    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily("bindings", "So many.", value=7)


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(Counted())
    return registry


ADDRESSES = {"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
async def test_metrics_and_health_are_served_where_it_says(
    address: str, registry: CollectorRegistry
) -> None:
    told: list[str] = []
    async with (
        metrics_served(address, registry, told.append),
        aiohttp.ClientSession() as session,
    ):
        (line,) = told
        found = re.fullmatch(r"metrics are at (http://.+:\d+)/metrics", line)
        assert found is not None
        async with session.get(f"{found[1]}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert "bindings_total 7.0\n" in await answer.text()
        async with session.get(f"{found[1]}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get(f"{found[1]}/secrets") as answer:
            assert answer.status == 404


async def test_health_is_asked_for_by_name(registry: CollectorRegistry) -> None:
    async def ask(name: str) -> tuple[bool, str]:
        return name != "dead", f"{name or 'all'} of it"

    told: list[str] = []
    async with (
        metrics_served("127.0.0.1:0", registry, told.append, ask),
        aiohttp.ClientSession() as session,
    ):
        root = told[0].removeprefix("metrics are at ").removesuffix("/metrics")
        seen = {}
        for path in ("/healthz", "/healthz/alive", "/healthz/dead"):
            async with session.get(root + path) as answer:
                seen[path] = (answer.status, await answer.text())
    assert seen == {
        "/healthz": (200, "all of it"),
        "/healthz/alive": (200, "alive of it"),
        "/healthz/dead": (500, "dead of it"),
    }


NO_ADDRESSES = ("9100", ":9100", "localhost:", "localhost:http", "localhost:70000", "")


@pytest.mark.parametrize("address", NO_ADDRESSES)
async def test_what_is_no_address_is_refused(address: str, registry: CollectorRegistry) -> None:
    with pytest.raises(UsageError, match="--metrics-address"):
        async with metrics_served(address, registry, _unheard):
            pytest.fail("it was taken")


async def test_an_address_that_is_taken_is_refused(registry: CollectorRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"metrics cannot be served at {address}"):
            async with metrics_served(address, registry, _unheard):
                pytest.fail("it was taken twice")


def _unheard(_: str) -> None:
    """Told to nobody."""
