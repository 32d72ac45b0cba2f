"""What passes between a client and a pod's HTTP server: which port is meant, heads, redirects.

Pure. As upstream's proxy: hop-by-hop headers end here, and so do the client's credentials.
"""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

import msgspec

from mooring.errors import BadRequest
from mooring.model.document import Doc
from mooring.model.field_error import show

HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_CREDENTIALS = frozenset({"authorization", "x-remote-user", "x-remote-group"})
_CREDENTIAL_PREFIXES = ("impersonate-", "x-remote-extra-")
_OURS = frozenset({"host", "content-length", "expect"})
_FORWARDED = "x-forwarded-"
_TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."  # noqa: S105  its name, not a token

_DEFAULT_PORTS = {"http": 80, "https": 443}


class ProxyTarget(msgspec.Struct, frozen=True):
    """`[scheme:]name[:port]`, the name in the path of a proxied request."""

    scheme: str
    name: str
    port: int  # 0: not given


class ProxyPath(msgspec.Struct, frozen=True):
    """A request's path, cut behind `/proxy`: the second part is what the pod is asked for."""

    prefix: str
    path: str  # empty: not even a slash


def target_of(kind: str, name: str) -> ProxyTarget:
    """Raises: BadRequest."""
    scheme, plain, port = _split(name)
    is_number = port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 1 << 16
    if not plain or scheme not in ("", "http", "https") or (port and not is_number):
        raise BadRequest(
            f"invalid {kind} request {show(name)}: "
            "expected NAME, NAME:PORT or SCHEME:NAME:PORT, with a port between 1 and 65535"
        )
    return ProxyTarget(scheme or "http", plain, int(port) if port else 0)


def _split(name: str) -> tuple[str, str, str]:
    match name.split(":"):
        case [plain]:
            return "", plain, ""
        case [plain, port]:
            return "", plain, port
        case [scheme, plain, port]:
            return scheme, plain, port
        case _:
            return "", "", ""


def port_of(target: ProxyTarget, pod: Doc) -> int:
    """The port asked for; else the first that the pod names; else that of the scheme."""
    if target.port:
        return target.port
    for container in pod["spec"].get("containers", ()):
        for port in container.get("ports", ()):
            return int(port["containerPort"])
    return _DEFAULT_PORTS[target.scheme]


def path_of(raw: str) -> ProxyPath:
    """`raw` is the path as it was sent; its name is followed by `/proxy`.

    Raises: BadRequest when its words are spelled in another way.
    """
    segments = raw.split("/")
    places = (
        place
        for place, segment in enumerate(segments)
        if place >= _BEFORE_PROXY and segment == "proxy" and _is_name(segments, place - 1)
    )
    place = next(places, None)
    if place is None:
        raise BadRequest("write `/proxy` and what is before it without percent-encoding")
    return ProxyPath(
        "/".join(segments[: place + 1]), "".join(f"/{s}" for s in segments[place + 1 :])
    )


_BEFORE_PROXY = 5  # "", api, v1, nodes, NAME


def _is_name(segments: list[str], place: int) -> bool:
    """Whether this is the place of a name: `/api/v1/nodes/NAME`, or that in a namespace."""
    return place == (6 if segments[3] == "namespaces" else 4)


def request_headers(sent: Mapping[str, str], *, upgrade: bool) -> Iterator[tuple[str, str]]:
    """What the pod is sent of a client's headers."""
    dropped = _connection_options(sent.get("connection", ""))
    for name, joined in sent.items():
        if name in _CREDENTIALS or name in _OURS or name.startswith(_CREDENTIAL_PREFIXES):
            continue
        if name in HOP_BY_HOP or name in dropped or name.startswith(_FORWARDED):
            continue
        for value in joined.split("\n"):
            if name == "sec-websocket-protocol":
                value = without_tokens(value)  # noqa: PLW2901  the same header, less one word
            if value or name != "sec-websocket-protocol":
                yield name, value
    if upgrade:
        yield "Connection", "Upgrade"
        yield "Upgrade", sent["upgrade"].replace("\n", ", ")


def request_head(
    method: str, path: str, query: str, headers: Iterable[tuple[str, str]], length: int | None
) -> bytes:
    """Of the request that the pod gets; a length of None: without a body."""
    asked = f"{path or '/'}?{query}" if query else path or "/"
    lines = [f"{method} {asked} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def response_headers(
    sent: Iterable[tuple[str, str]], where: ProxyPath, hosts: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What the client is sent of a pod's headers; type and length are told elsewhere."""
    pairs = list(sent)
    options = (value for name, value in pairs if name == "connection")
    dropped = _connection_options(",".join(options))
    for name, value in pairs:
        if name in HOP_BY_HOP or name in dropped or name in ("content-type", "content-length"):
            continue
        if name == "location":
            yield "Location", location(value, where.prefix, hosts)
        elif name == "cache-control":
            yield "Cache-Control", value
        elif name != "date":
            yield name, value


def location(sent: str, prefix: str, hosts: frozenset[str]) -> str:
    """A redirect within the pod's server, as a path of ours; any other as it was sent."""
    try:
        parts = urlsplit(sent)
    except ValueError:
        return sent
    is_elsewhere = bool(parts.netloc) and parts.netloc.lower() not in hosts
    if is_elsewhere or not parts.path.startswith("/") or parts.path.startswith(f"{prefix}/"):
        return sent
    return urlunsplit(("", "", f"{prefix}{parts.path}", parts.query, parts.fragment))


def without_tokens(protocols: str) -> str:
    """A list of WebSocket protocols without the one that carries a token."""
    kept = (protocol.strip() for protocol in protocols.split(","))
    return ", ".join(word for word in kept if not word.startswith(_TOKEN_PROTOCOL))


def _connection_options(value: str) -> frozenset[str]:
    words = value.replace("\n", ",").split(",")
    return frozenset(word.strip().lower() for word in words) - {""}
