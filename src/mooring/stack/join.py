"""A machine joins a cluster: its join token becomes the kubeconfig of its node, once.

In the root directory of the node, readable by its owner alone: `joining.json`, an attempt that may
be repeated; `kubeconfig`, what came of it; `joined.json`, with which server, node and join token.
A restart needs no token.
"""

import secrets
import socket
import ssl
from contextlib import closing
from functools import partial
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from mooring.apiserver.auth.join_tokens import (
    JoinToken,
    authority_hash,
    parse_join_token,
    sole_certificate,
)
from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.roles import AUTHORITY_PATH, JOIN_PATH
from mooring.apiserver.auth.tokens import Token
from mooring.client.endpoint import find_address
from mooring.errors import MooringError, UsageError
from mooring.host.private_file import find_private, write_private
from mooring.upkeep.bounded import Unfinished, each_within

ATTEMPT = "joining.json"
RECORD = "joined.json"
KUBECONFIG = "kubeconfig"

S = TypeVar("S", bound=msgspec.Struct)

SECONDS = 15.0  # for each of two requests, from its name's lookup to the last byte
_LONGEST = 1 << 16  # bytes of an answer


class JoinWish(msgspec.Struct, frozen=True):
    """What the command line says."""

    server: str = ""  # empty: as before, or by a kubeconfig
    token: str = ""  # a secret
    node_name: str = ""

    def __repr__(self) -> str:
        return f"JoinWish(server={self.server!r}, node_name={self.node_name!r})"


class Joined(msgspec.Struct, frozen=True):
    """What a root directory has joined."""

    server: str
    node: str
    join_token: str  # its id


class _Attempt(msgspec.Struct, frozen=True):
    join_token: str
    attempt: str  # a secret


class _Answer(msgspec.Struct, frozen=True):
    node: str
    token: str


def find_joined(root: Path) -> Joined | None:
    """Raises: UsageError."""
    found = _read(root / RECORD, Joined)
    return found if found and (root / KUBECONFIG).is_file() else None


def join(root: Path, wish: JoinWish) -> Joined | None:
    """What this root directory has joined, now or before; None: nothing, and nothing is asked for.

    Repeated, also after a kill: the same. Raises: UsageError.
    """
    before = find_joined(root)
    if not wish.server:
        if wish.token:
            raise UsageError("--token goes with --join URL: take the whole line that was printed")
        return before
    server = _checked(wish.server)
    token = parse_join_token(wish.token) if wish.token else None
    if before and before.server == server and (token is None or token.id == before.join_token):
        return before
    if token is None:
        raise UsageError(
            f"{root} has not joined {server} yet: --join needs the --token that `mooring token "
            "create --node NAME` prints where the server runs"
        )
    authority = fetch_authority(server, token.authority)
    attempt = _attempt(root, token)
    answer = _exchange(server, authority, token, {"attempt": attempt, "node": wish.node_name})
    return _keep(root, Kubeconfig(server, authority, Token(answer.token), "mooring"), token, answer)


def fetch_authority(server: str, expected: str) -> bytes:
    """The certificate of the cluster's CA, of which the join token holds the key's hash.

    Nothing secret is sent before. Only what was compared is returned: of several certificates that
    a server shows, the others would be trusted too. Raises: UsageError, also when another server
    answers.
    """
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE  # what it sends is public, and checked by its hash
    status, content = _ask(server, unverified, "GET", AUTHORITY_PATH)
    try:
        authority = sole_certificate(content) if status == 200 else b""
    except ValueError:
        authority = b""
    if not authority or authority_hash(authority) != expected:
        raise UsageError(
            f"{server} is not the server that the token is of (its CA is another one), and was "
            "told nothing: check the URL, or make a token on that server"
        )
    return authority


def _exchange(server: str, authority: bytes, token: JoinToken, body: dict[str, str]) -> _Answer:
    trusting = ssl.create_default_context(cadata=authority.decode())
    content = msgspec.json.encode(body)
    status, answer = _ask(server, trusting, "POST", JOIN_PATH, content, token.bearer())
    if status == 401:
        raise UsageError(
            "the server does not know this join token (revoked, or long expired): make another "
            "with `mooring token create --node NAME` there"
        )
    try:
        if status == 200:
            return msgspec.json.decode(answer, type=_Answer)
        told = msgspec.json.decode(answer)["message"]
    except (msgspec.DecodeError, KeyError, TypeError):
        told = f"it answered with code {status}"
    raise UsageError(f"{server} did not let this machine in: {told}")


def _keep(root: Path, kubeconfig: Kubeconfig, token: JoinToken, answer: _Answer) -> Joined:
    """In an order that a kill at any point leaves something to go on with."""
    joined = Joined(kubeconfig.server, answer.node, token.id)
    try:
        (root / RECORD).unlink(missing_ok=True)  # of another server: it goes with its kubeconfig
        kubeconfig.write(root / KUBECONFIG)
        write_private(root / RECORD, msgspec.json.encode(joined))
        (root / ATTEMPT).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot keep the node's credentials in {root}: {error.strerror}; make room and give "
            "the same command again"
        ) from error
    return joined


def _attempt(root: Path, token: JoinToken) -> str:
    """On the disk before it is sent: after a kill it is sent again, and is the same attempt."""
    before = _read(root / ATTEMPT, _Attempt)
    if before is not None and before.join_token == token.id:
        return before.attempt
    made = _Attempt(token.id, secrets.token_urlsafe(32))
    try:
        write_private(root / ATTEMPT, msgspec.json.encode(made))
    except OSError as error:
        raise UsageError(f"cannot write to {root}: {error.strerror}") from error
    return made.attempt


def _ask(
    server: str,
    tls: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | None = None,
    bearer: str = "",
) -> tuple[int, bytes]:
    """Code and content. Raises: UsageError, also when not all of it came in time."""
    asking = partial(_ask_patiently, server, tls, method, path, body, bearer)
    answer = each_within(SECONDS, [asking])[0]
    if answer is Unfinished.HUNG:
        raise _silent(server)
    if isinstance(answer, MooringError):
        raise answer
    return answer


def _ask_patiently(
    server: str,
    tls: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | None,
    bearer: str,
) -> tuple[int, bytes]:
    """The same; a server that sends a byte now and then keeps it for ever. Raises: UsageError."""
    parts = urlsplit(server)
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection = HTTPSConnection(
        parts.hostname or "", parts.port or 443, timeout=SECONDS, context=tls
    )
    is_connected = False
    try:
        with closing(connection):
            connection.connect()
            is_connected = True
            connection.request(method, f"{parts.path}{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(_LONGEST)
    except ssl.SSLCertVerificationError as error:
        raise UsageError(
            f"the certificate of {server} does not do: {error.verify_message}; for another name "
            "start that server with --name"
        ) from error
    except (OSError, HTTPException, socket.gaierror) as error:
        if is_connected and isinstance(error, TimeoutError):
            raise _silent(server) from error
        told = str(error) or type(error).__name__
        raise UsageError(
            f"{server} cannot be reached: {told}; is it started with --host, and the port open?"
        ) from error


def _silent(server: str) -> UsageError:
    return UsageError(
        f"{server} did not answer within {SECONDS:g} s: is it overloaded, or another program?"
    )


def _checked(url: str) -> str:
    address = find_address(url)
    if address is None or not address.startswith("https://"):
        raise UsageError(f"{url!r} is no URL of an API server: write https://host:port")
    return address


def _read(path: Path, kind: type[S]) -> S | None:
    try:
        content = find_private(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError:
        raise UsageError(f"{path} is damaged: remove it, and join again") from None
