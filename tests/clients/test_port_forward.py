"""Talking to the ports of pods with kubectl: port-forward, over SPDY and over WebSockets."""

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import aiohttp
import pytest
from kubernetes import client, config
from kubernetes.stream import portforward

from tests.clients.kubectl import Going, Kubectl, kubectls
from tests.clients.manifests import Doc
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script
from tests.clients.test_kubectl_access import a_kubeconfig
from tests.fakes.waiting import until

PATIENCE = 20.0
SOME_MB = 8_000_000

ECHO = """
import socketserver, sys
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        heard = 0
        while piece := self.request.recv(65536):
            heard += len(piece)
            self.request.sendall(piece)
        self.request.sendall(b" and %d in all" % heard)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 100
Server(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
"""


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    """Of kubectl 1.20 SPDY is to be expected, of 1.31 and later WebSockets."""
    return Pods(kubectl)


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def serving(name: str, port: int, program: str = ECHO) -> Doc:
    """A pod that listens on a port; it is ready once it does."""
    command = ["python3", "-c", program, str(port)]
    ready = {"tcpSocket": {"port": port, "host": "127.0.0.1"}, "periodSeconds": 1}
    container = {"command": command, "readinessProbe": ready}
    return a_script(name, container=container)


@contextmanager
def forwarded(pods: Pods, target: str, *ports: str) -> Iterator[tuple[Going, list[int]]]:
    """A kubectl that forwards, and the ports that it listens on."""
    with pods.kubectl.running("port-forward", target, *ports) as going:
        lines = [going.line("Forwarding from 127.0.0.1") for _ in ports]
        found = [re.search(r":(\d+) ->", line) for line in lines]
        yield going, [int(each[1]) for each in found if each]


def talk(port: int, content: bytes) -> bytes:
    """Say it, end that direction, and listen until the other one ends."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:

        def say() -> None:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)

        saying = threading.Thread(target=say)
        saying.start()
        heard = bytearray()
        while piece := connection.recv(65536):
            heard += piece
        saying.join()
    return bytes(heard)


@kubectls()
def test_a_port_of_a_pod_is_reached_from_here(pods: Pods) -> None:
    port = a_free_port()
    pods.ready(serving("web", port))
    with forwarded(pods, "pod/web", f":{port}") as (_, (local,)):
        assert talk(local, b"hello") == b"hello and 5 in all"
        assert talk(local, b"") == b" and 0 in all"
        content = bytes(range(256)) * (SOME_MB // 256)
        assert talk(local, content) == content + b" and %d in all" % len(content)
    pods.kubectl("delete", "pod", "web", WITHIN)


@kubectls()
def test_several_ports_and_many_connections_at_once(pods: Pods) -> None:
    one, two = a_free_port(), a_free_port()
    pods.ready(serving("one", one), serving("two", two))
    with forwarded(pods, "pod/one", f":{one}", f":{two}") as (_, locals_), ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", local), PATIENCE))
            for local in locals_
            for _ in range(15)
        ]
        for index, connection in enumerate(connections):
            connection.sendall(b"%06d" % index)
        for index, connection in reversed(list(enumerate(connections))):
            assert connection.recv(6, socket.MSG_WAITALL) == b"%06d" % index
    pods.kubectl("delete", "pod", "one", "two", WITHIN)


@kubectls()
def test_a_port_on_which_nobody_listens_is_said(pods: Pods) -> None:
    port = a_free_port()
    pods.ready(a_script("web"))
    with forwarded(pods, "pod/web", f":{port}") as (going, (local,)):
        with socket.create_connection(("127.0.0.1", local), PATIENCE) as connection:
            assert connection.recv(1) == b""
        line = going.line("an error occurred forwarding")
    assert f"{port}: error forwarding port {port} to pod web" in line
    assert f"dial 127.0.0.1 port {port}: connection refused" in line


async def test_nothing_is_left_of_a_forward_that_was_killed(
    pods: Pods, server: ServerWithNode
) -> None:
    port = a_free_port()
    pods.ready(serving("web", port))
    before = server.open_files()
    with forwarded(pods, "pod/web", f":{port}") as (_, (local,)):
        connections = [socket.create_connection(("127.0.0.1", local), PATIENCE) for _ in range(5)]
        for connection in connections:
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
    for connection in connections:
        connection.close()
    await until(lambda: server.open_files() <= before)


def test_the_python_client_forwards_ports_by_channels(pods: Pods, server: ServerWithNode) -> None:
    port = a_free_port()
    pods.ready(serving("web", port))
    made = config.new_client_from_config(str(server.kubeconfig))  # type: ignore[no-untyped-call]
    api = client.CoreV1Api(made)
    forward = portforward(
        api.connect_get_namespaced_pod_portforward,
        "web",
        pods.kubectl.namespace,
        ports=str(port),
    )
    connection = forward.socket(port)
    connection.settimeout(PATIENCE)
    connection.sendall(b"hello")
    assert connection.recv(5) == b"hello"
    forward.close()


async def test_a_websocket_carries_spdy_through_the_api_server(
    pods: Pods, server: ServerWithNode
) -> None:
    """kubectl would fall back to SPDY by itself, and not say so."""
    pods.ready(a_script("web"))
    before = server.open_files()
    path = f"/api/v1/namespaces/{pods.kubectl.namespace}/pods/web/portforward"
    headers = {"Authorization": f"Bearer {server.token()}"}
    protocol = "SPDY/3.1+portforward.k8s.io"
    ping = struct.pack(">III", 0x80030006, 4, 7)
    async with aiohttp.ClientSession(server.url, headers=headers) as session:
        asked = session.ws_connect(path, protocols=(protocol,), ssl=server.tls())
        async with asked as websocket:
            assert websocket.protocol == protocol
            await websocket.send_bytes(ping)
            assert await websocket.receive_bytes(timeout=PATIENCE) == ping
    await until(lambda: server.open_files() <= before)


def test_who_may_only_read_cannot_forward(
    pods: Pods, server: ServerWithNode, tmp_path: Path
) -> None:
    pods.ready(a_script("web"))
    reader = pods.kubectl.as_user(a_kubeconfig(server, "read-only", tmp_path))
    said = reader.refused("port-forward", "pod/web", ":80")
    assert 'cannot create resource "pods/portforward"' in said or "Forbidden" in said
