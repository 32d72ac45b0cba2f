"""`mooring top` on Kubernetes: the summary of a kubelet, fetched by kube-apiserver's node proxy.

The kubelet is played: it serves a summary as Kubernetes' kubelet writes one, over TLS with a
certificate that it made itself, at an address of this machine that is no loopback address, since
kube-apiserver passes nothing on to those.
"""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.conformance import obtain
from tests.conformance.dashboard.cluster import CORE, Cluster, KubernetesServer
from tests.conformance.obtain import Say
from tests.conformance.peers import Find, kubernetes
from tests.fakes.node_server import self_signed
from tests.fakes.real_server import command

pytestmark = pytest.mark.conformance

SECONDS = 60
GIB = 1 << 30
SUMMARY = {
    "node": {
        "nodeName": "n1",
        "startTime": "2026-11-18T19:00:00Z",
        "cpu": {"time": "2026-11-18T20:00:00Z", "usageNanoCores": 251},
        "fs": {"time": "2026-11-18T20:00:00Z", "availableBytes": GIB, "capacityBytes": 4 * GIB},
        "rlimit": {"maxpid": 4194304, "curproc": 312},
    },
    "pods": [
        {
            "podRef": {"name": "db", "namespace": "team", "uid": "1"},
            "startTime": "2026-11-18T19:30:00Z",
            "containers": [{"name": "main", "logs": {"usedBytes": 4096}}],
            "volume": [
                {
                    "time": "2026-11-18T20:00:00Z",
                    "availableBytes": GIB,
                    "capacityBytes": 4 * GIB,
                    "usedBytes": 3 * GIB,
                    "inodesFree": 900,
                    "inodes": 1000,
                    "inodesUsed": 100,
                    "name": "data",
                    "pvcRef": {"name": "disk", "namespace": "team"},
                    "volumeHealthStats": {"abnormal": False},
                },
                {"name": "kube-api-access-x", "usedBytes": 12288, "capacityBytes": GIB},
            ],
        },
        {"podRef": {"name": "new", "namespace": "team", "uid": "2"}, "containers": []},
    ],
}


class _Kubelet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(SUMMARY).encode() if self.path == "/stats/summary" else b"no such page"
        self.send_response(200 if self.path == "/stats/summary" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def own_address() -> str:
    """Of the way out of this machine. No packet is sent. Raises: OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        way_out.connect(("192.0.2.1", 9))
        return str(way_out.getsockname()[0])


@contextmanager
def kubelet(address: str, directory: Path) -> Iterator[int]:
    """Its port."""
    server = ThreadingHTTPServer((address, 0), _Kubelet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(directory)[0])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, find: Find, say: Say
) -> Iterator[KubernetesServer]:
    """Node `n1` has a kubelet; that of `n2` is not there."""
    directory = tmp_path_factory.mktemp("top")
    with ExitStack() as running:
        try:
            address = own_address()
            api = running.enter_context(kubernetes(directory, find))
        except (obtain.Missing, OSError) as reason:
            say(f"top is not tried on Kubernetes: {reason}")
            pytest.skip(f"top is not tried on Kubernetes: {reason}")
        port = running.enter_context(kubelet(address, directory))
        server = KubernetesServer(api)
        made = Cluster(server)
        made.post(f"{CORE}/nodes", {"metadata": {"name": "n2"}})
        for name, at in (("n1", port), ("n2", 1)):
            reached = {
                "addresses": [{"type": "InternalIP", "address": address}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": at}},
            }
            made.status(f"{CORE}/nodes/{name}", reached)
        yield server


def top(cluster: KubernetesServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = command("top", *arguments, "--kubeconfig", str(cluster.kubeconfig))
    return subprocess.run(  # noqa: S603  our own program
        line, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.parametrize(("subject", "row"), [("pvc", "disk"), ("pod", "db"), ("node", "n1")])
def test_the_use_that_a_kubelet_measures_is_shown(
    cluster: KubernetesServer, subject: str, row: str
) -> None:
    ran = top(cluster, subject)
    assert ran.returncode == 0, ran.stderr
    shown = next(line for line in ran.stdout.splitlines() if row in line.split())
    assert "75%" in shown, ran.stdout


def test_a_kubelet_that_cannot_be_asked_is_named(cluster: KubernetesServer) -> None:
    ran = top(cluster, "pvc")
    assert "n2" in ran.stderr + ran.stdout, ran
