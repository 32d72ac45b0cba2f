"""What a role's process asks of the API servers goes through here, and its writes are remembered.

A relay is one address for all servers: it passes a connection on to the next one when the one that
it used does not answer, as whatever stands before several servers does.
"""

import http.client
import json
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from types import TracebackType
from typing import Any, Self

from tests.conformance.peers import LOOPBACK
from tests.fakes.leaders import Acted
from tests.fakes.real_server import ApiServer

PATIENCE = 30.0  # seconds: a watch says something more often
_CHUNK = 1 << 16
_PASSED_ON = ("authorization", "content-type", "accept")


class Relay:
    """Serves on loopback while it is entered; `acted` are the writes that were acknowledged."""

    def __init__(self, servers: Sequence[ApiServer], at: int) -> None:
        self.acted: list[Acted] = []
        self._servers = servers
        self._at = at
        self._served = _Served(self)
        self.url = f"http://{LOOPBACK}:{self._served.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._served.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._served.shutdown()
        self._served.server_close()

    def connect(self) -> http.client.HTTPSConnection:
        server = self._servers[self._at % len(self._servers)]
        return http.client.HTTPSConnection(
            server.host, server.port, timeout=PATIENCE, context=self._servers[0].tls()
        )

    def change_server(self) -> None:
        self._at += 1

    def note(self, method: str, path: str, began: float, answer: bytes) -> None:
        doc: dict[str, Any] = json.loads(answer)
        metadata = doc.get("metadata") or {}
        holder = (doc.get("spec") or {}).get("holderIdentity") or ""
        revision = int(metadata.get("resourceVersion") or 0)
        path = path.partition("?")[0]
        if method == "POST" and "name" in metadata:  # it was created in this collection
            path = f"{path}/{metadata['name']}"
        self.acted.append(Acted(began, monotonic(), method, path, revision, holder))


class _Served(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        super().__init__((LOOPBACK, 0), _Passing)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A process that was killed, or a server: neither is worth a line."""


class _Passing(BaseHTTPRequestHandler):
    """One connection of the process, and the one behind it."""

    protocol_version = "HTTP/1.1"
    server: _Served
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._behind = self.server.relay.connect()

    def finish(self) -> None:
        self._behind.close()
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self._pass_on()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *values: object) -> None:
        """Nobody reads it."""

    def _pass_on(self) -> None:
        began = monotonic()
        body = self.rfile.read(int(self.headers.get("content-length") or 0)) or None
        headers = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
        try:
            self._behind.request(self.command, self.path, body, headers)
            answer = self._behind.getresponse()
            with closing(answer):
                if "watch=" in self.path:
                    self._stream(answer)
                    return
                content = answer.read()
        except (OSError, http.client.HTTPException):
            self.server.relay.change_server()
            self.close_connection = True
            return
        if self.command != "GET" and answer.status < 300:
            self.server.relay.note(self.command, self.path, began, content)
        self._begin(answer)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, answer: http.client.HTTPResponse) -> None:
        self.close_connection = True
        self._begin(answer)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(_CHUNK):
            self.wfile.write(piece)

    def _begin(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("content-type", "application/json"))
        if after := answer.headers.get("retry-after"):
            self.send_header("Retry-After", after)
