"""Several API servers on one etcd, with the same keys and tokens, and clients of all of them."""

import http.client
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.etcd.members import EtcdMember, addresses
from tests.fakes.real_server import ApiServer

SHARED = ("ca.crt", "ca.key", "service-account.key")
ANSWER_SECONDS = 15.0
JSON = "application/json"

Doc = dict[str, Any]


@contextmanager
def api_servers(
    directory: Path,
    members: Sequence[EtcdMember],
    count: int,
    flags: Sequence[Sequence[str]] = (),
) -> Iterator[list[ApiServer]]:
    """All of them are ready. `flags` are those of each, if there are any."""
    directory.mkdir(parents=True, exist_ok=True)
    servers: list[ApiServer] = []
    with ExitStack() as stack:
        for number in range(count):
            data = directory / f"server-{number}"
            if servers:
                _share(servers[0].data_dir, data)
            # Each begins at another member, so that none is special.
            turned = [*members[number % len(members) :], *members[: number % len(members)]]
            own = flags[number] if flags else ()
            server = ApiServer(data, "--etcd-servers", addresses(turned), *own)
            stack.callback(server.kill)
            server.start()
            servers.append(server)
        yield servers


def _share(source: Path, target: Path) -> None:
    (target / "pki").mkdir(parents=True, mode=0o700)
    target.chmod(0o700)
    for name in SHARED:
        shutil.copy2(source / "pki" / name, target / "pki" / name)
    shutil.copy2(source / "tokens.json", target / "tokens.json")


class NoAnswer(Exception):
    """The connection failed; a write may have happened."""


class Client:
    """Of one server at a time; takes another when that does not answer."""

    def __init__(self, servers: Sequence[ApiServer], at: int) -> None:
        self._servers = servers
        self._at = at
        self._tls = servers[0].tls()
        self._headers = {"Authorization": f"Bearer {servers[0].token()}"}
        self._connection: http.client.HTTPSConnection | None = None

    def ask(
        self, method: str, path: str, body: Doc | None = None, media: str = JSON
    ) -> tuple[int, Doc]:
        """Raises: NoAnswer."""
        content = None if body is None else json.dumps(body).encode()
        try:
            answer = self._send(method, path, content, media)
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.change_server()
            raise NoAnswer(repr(error)) from None

    def stream(self, path: str) -> http.client.HTTPResponse:
        """Raises: NoAnswer."""
        try:
            return self._send("GET", path, None)
        except (OSError, http.client.HTTPException) as error:
            self.change_server()
            raise NoAnswer(repr(error)) from None

    def change_server(self) -> None:
        self.close()
        self._at = (self._at + 1) % len(self._servers)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(
        self, method: str, path: str, content: bytes | None, media: str = JSON
    ) -> http.client.HTTPResponse:
        if self._connection is None:
            server = self._servers[self._at]
            self._connection = http.client.HTTPSConnection(
                server.host, server.port, timeout=ANSWER_SECONDS, context=self._tls
            )
        headers = {**self._headers, "Content-Type": media}
        self._connection.request(method, path, content, headers)
        return self._connection.getresponse()
