"""HTTP to pods and nodes through the API server: `pods/proxy`, `nodes/proxy`, `kubectl proxy`."""

import asyncio
import io
import json
import re
import urllib.request

import aiohttp
import pytest

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import Pods, a_script
from tests.clients.test_port_forward import a_free_port, serving
from tests.fakes.waiting import until

PATIENCE = 20.0
BIG = 20_000_000

PROGRAM = r"""
import base64, hashlib, http.server, json, ssl, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.path == "/redirect":
            return self.reply(302, b"", Location="/elsewhere?x=1")
        if self.path == "/away":
            return self.reply(302, b"", Location="https://example.com/there")
        if self.path == "/big":
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", "20000000")
            self.end_headers()
            for _ in range(200): self.wfile.write(b"x" * 100000)
            return
        if self.path == "/ticks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for n in range(1000):
                self.wfile.write(b"5\r\ntick\n\r\n")
                self.wfile.flush()
                time.sleep(0.05)
            return
        if self.path == "/broken":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
            return
        if self.path == "/hang":
            threading.Event().wait()
        if self.headers.get("Upgrade") == "websocket":
            return self.websocket()
        told = {"method": self.command, "path": self.path, "body": body.decode(),
                "headers": {k.lower(): v for k, v in self.headers.items()}}
        self.reply(418 if self.path == "/teapot" else 200, json.dumps(told).encode())
    def reply(self, code, body, **headers):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Keep-Alive", "timeout=5")
        self.send_header("Set-Cookie", "a=1")
        self.send_header("Set-Cookie", "b=2")
        for name, value in headers.items(): self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)
    def websocket(self):
        guid = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        key = self.headers["Sec-WebSocket-Key"].encode() + guid
        accept = base64.b64encode(hashlib.sha1(key).digest()).decode()
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "websocket")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        self.wfile.write(b"\x81\x05hello")
        self.wfile.flush()
        self.rfile.read(2)
        self.close_connection = True
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


class Web:
    """A pod with an HTTP server, and the way to it."""

    def __init__(self, server: ServerWithNode, pods: Pods, port: int, scheme: str = "") -> None:
        self.server, self.kubectl = server, pods.kubectl
        namespace = pods.kubectl.namespace
        name = f"{scheme}:web:{port}" if scheme else f"web:{port}"
        self.root = f"/api/v1/namespaces/{namespace}/pods/{name}/proxy"

    def raw(self, path: str) -> Doc:
        return dict(json.loads(self.kubectl("get", "--raw", f"{self.root}{path}")))

    def session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.server.token()}"}
        connector = aiohttp.TCPConnector(ssl=self.server.tls())
        return aiohttp.ClientSession(self.server.url, headers=headers, connector=connector)


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


@pytest.fixture
def web(server: ServerWithNode, pods: Pods) -> Web:
    port = a_free_port()
    pods.ready(serving("web", port, PROGRAM))
    return Web(server, pods, port)


@kubectls()
def test_a_page_of_a_pod_is_read_with_kubectl(web: Web, server: ServerWithNode) -> None:
    told = web.raw("/some/path/with%20more/?a=1&b=%2F")
    assert (told["method"], told["path"]) == ("GET", "/some/path/with%20more/?a=1&b=%2F")
    assert server.token() not in json.dumps(told)
    assert "authorization" not in told["headers"]
    assert told["headers"]["x-forwarded-uri"] == f"{web.root}/some/path/with%20more/"
    said = web.kubectl.refused("get", "--raw", f"{web.root}/teapot")
    assert "418" in said or "unable to decode" in said or "I'm a teapot" in said


async def test_every_method_status_header_and_body_passes(web: Web) -> None:
    async with web.session() as session:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            sent = {"X-Mine": "1", "Keep-Alive": "5", "Connection": "x-hop", "X-Hop": "2"}
            asked = session.request(method, f"{web.root}/x", data=b"body", headers=sent)
            async with asked as answer:
                told = await answer.json()
                assert answer.headers.getall("Set-Cookie") == ["a=1", "b=2"]
                assert "Keep-Alive" not in answer.headers
            assert (told["method"], told["path"], told["body"]) == (method, "/x", "body")
            assert told["headers"]["x-mine"] == "1"
            assert not {"keep-alive", "x-hop", "authorization"} & told["headers"].keys()
        async with session.head(f"{web.root}/x") as answer:
            assert (answer.status, await answer.read()) == (200, b"")
            assert int(answer.headers["Content-Length"]) > 0
        async with session.get(f"{web.root}/teapot") as answer:
            assert answer.status == 418
        large = io.BytesIO(bytes(4 << 20))
        async with session.post(f"{web.root}/x", data=large) as answer:
            assert answer.status == 413


async def test_redirects_stay_below_the_proxy(web: Web) -> None:
    async with web.session() as session:
        for path, code, place in (
            ("", 301, f"{web.root}/"),
            ("?a=1", 301, f"{web.root}/?a=1"),
            ("/redirect", 302, f"{web.root}/elsewhere?x=1"),
            ("/away", 302, "https://example.com/there"),
        ):
            async with session.get(f"{web.root}{path}", allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (code, place)


async def test_long_bodies_and_streams_come_as_they_are_made(web: Web) -> None:
    before = web.server.open_files()
    async with web.session() as session:
        async with session.get(f"{web.root}/big") as answer:
            assert len(await answer.read()) == BIG
        async with session.get(f"{web.root}/ticks") as answer:
            for _ in range(3):
                assert await asyncio.wait_for(answer.content.readline(), PATIENCE) == b"tick\n"
        with pytest.raises(aiohttp.ClientPayloadError):
            async with session.get(f"{web.root}/broken") as answer:
                await answer.read()
    await until(lambda: web.server.open_files() <= before)


async def test_a_websocket_passes(web: Web) -> None:
    before = web.server.open_files()
    async with web.session() as session, session.ws_connect(f"{web.root}/") as socket:
        assert await socket.receive_str(timeout=PATIENCE) == "hello"
    await until(lambda: web.server.open_files() <= before)


async def test_a_pod_that_speaks_tls_is_asked_for_by_its_scheme(
    server: ServerWithNode, pods: Pods
) -> None:
    port = a_free_port()
    directory = "/usr/lib"
    make = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout /usr/k.pem -out /usr/c.pem -subj /CN=x"
    )
    script = f"{make} 2>/dev/null; cat /usr/k.pem /usr/c.pem >{directory}/both.pem; exec python3 -c"
    command = ["sh", "-c", f'{script} "$0" "$@"', PROGRAM, str(port), f"{directory}/both.pem"]
    pod = serving("web", port)
    pod["spec"]["containers"][0]["command"] = command
    pods.ready(pod)
    web = Web(server, pods, port, "https")
    assert web.raw("/x")["path"] == "/x"
    async with web.session() as session, session.get(f"{web.root}/big") as answer:
        assert len(await answer.read()) == BIG


def test_what_cannot_be_reached_says_why(server: ServerWithNode, pods: Pods) -> None:
    pods.ready(a_script("web"))
    namespace, port = pods.kubectl.namespace, a_free_port()
    where = f"/api/v1/namespaces/{namespace}"
    answer = server.ask("GET", f"{where}/pods/web:{port}/proxy/")
    assert (answer.code, answer.doc["reason"]) == (503, "ServiceUnavailable")
    assert f"dial 127.0.0.1 port {port}: connection refused" in answer.doc["message"]
    for name in ("web:http", "web:0", "web:65536", "ftp:web:80", "a:b:c:d"):
        assert server.ask("GET", f"{where}/pods/{name}/proxy/").code == 400
    assert server.ask("GET", f"{where}/pods/nobody:80/proxy/").code == 404
    said = server.ask("GET", f"{where}/services/x:80/proxy/")
    assert (said.code, "services are not proxied: ask a pod" in said.doc["message"]) == (503, True)


@kubectls()
def test_the_pages_of_a_node_are_read_with_kubectl(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/healthz") == "ok"
    said = kubectl.refused("get", "--raw", f"/api/v1/nodes/{NODE}:1/proxy/healthz")
    assert "only" in said
    said = kubectl.refused("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/nothing")
    assert "could not find the requested resource" in said


@kubectls()
def test_kubectl_proxy_passes_all_of_it(web: Web) -> None:
    with web.kubectl.running("proxy", "--port=0") as going:
        line = going.line("Starting to serve on")
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found is not None
        base = f"http://127.0.0.1:{found[1]}"
        paths = ("/version", "/api/v1/namespaces", f"{web.root}/x?y=1")
        version, namespaces, told = (read(f"{base}{path}") for path in paths)
    assert version["major"] == "1"
    assert namespaces["kind"] == "NamespaceList"
    assert told["path"] == "/x?y=1"


def read(url: str) -> Doc:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  of this machine
        return dict(json.loads(answer.read()))
