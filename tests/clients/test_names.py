"""Services found by name from pods that really run, and names outside of the cluster."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import Pods, a_script
from tests.fakes.dns_upstream import OUTSIDE, OUTSIDE_IP, running_upstream

DNS_PORT = 53
START_SECONDS = 30
FIND = "getent ahostsv4"


@contextmanager
def outside_world() -> Iterator[str]:
    """A DNS server at a loopback address of its own, which plays the host's."""
    number = os.getpid()
    address = f"127.54.{number // 250 % 250}.{number % 250 + 1}"
    loop, started, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with running_upstream(address, DNS_PORT):
            started.set()
            await ended.wait()

    serving = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    serving.start()
    try:
        assert started.wait(START_SECONDS), "the fake DNS server does not start"
        yield address
    finally:
        loop.call_soon_threadsafe(ended.set)
        serving.join()
        loop.close()


@pytest.fixture
def server(needs_runtime: None, tmp_path: Path) -> Iterator[ServerWithNode]:
    with outside_world() as address:
        resolv_conf = tmp_path / "resolv.conf"
        resolv_conf.write_text(f"nameserver {address}\n")
        flags = ("--resolv-conf", str(resolv_conf))
        with server_with_node(tmp_path / "data", *flags) as running:
            yield running


def test_pods_find_services_each_other_and_the_world_by_name(kubectl: Kubectl) -> None:
    pods = Pods(kubectl)
    headless: Doc = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "db"},
        "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 5432}]},
    }
    member = a_script("db-0", hostname="db-0", subdomain="db")
    member["metadata"]["labels"] = {"app": "db"}
    pods.ready(headless, member, a_script("client"))
    where = kubectl.field(".status.podIP", "pod", "db-0")
    pods.sh("client", f"for i in $(seq 100); do {FIND} db-0.db && break; sleep 0.1; done")
    names = ("db-0.db", "db", "kubernetes.default.svc", OUTSIDE, "nobody")

    found = pods.sh("client", f"for name in {' '.join(names)}; do {FIND} $name; echo .; done")

    assert [part.split()[:1] for part in found.split("\n.")[: len(names)]] == [
        [where],
        [where],
        ["127.0.0.1"],
        [OUTSIDE_IP],
        [],
    ], found
    shown = kubectl("get", "endpointslices")
    assert f"IPv4 5432 {where}" in " ".join(shown.split()), shown
