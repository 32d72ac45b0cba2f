"""Which port is meant, and what of a message passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.node_proxy.proxied import (
    ProxyPath,
    ProxyTarget,
    location,
    path_of,
    port_of,
    request_head,
    request_headers,
    response_headers,
    target_of,
)
from mooring.apiserver.request.routes import Plain, Route, parse
from mooring.errors import BadRequest
from mooring.model.document import Doc

PREFIX = "/api/v1/namespaces/ns/pods/web:80/proxy"

TARGETS = {
    "web": ProxyTarget("http", "web", 0),
    "web:80": ProxyTarget("http", "web", 80),
    "http:web:80": ProxyTarget("http", "web", 80),
    "https:web:443": ProxyTarget("https", "web", 443),
    "https:web:": ProxyTarget("https", "web", 0),
    ":web:80": ProxyTarget("http", "web", 80),
}


@pytest.mark.parametrize(("name", "target"), TARGETS.items(), ids=TARGETS)
def test_a_name_with_a_scheme_and_a_port(name: str, target: ProxyTarget) -> None:
    assert target_of("pod", name) == target


@pytest.mark.parametrize(
    "name", ["", ":80", "web:0", "web:65536", "web:http", "web:\u0663", "ftp:web:80", "a:b:c:d"]
)
def test_names_that_make_no_sense_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(BadRequest, match="expected NAME, NAME:PORT or SCHEME:NAME:PORT"):
        target_of("pod", name)


@given(st.text())
def test_any_other_name_is_read_or_refused(name: str) -> None:
    try:
        target = target_of("pod", name)
    except BadRequest:
        return
    assert target.scheme in ("http", "https")
    assert 0 <= target.port < 65536


PORTS: dict[str, tuple[str, list[Doc], int]] = {
    "that asked for": ("web:8", [{"ports": [{"containerPort": 9}]}], 8),
    "else the first that is named": ("web", [{}, {"ports": [{"containerPort": 9}]}], 9),
    "else that of HTTP": ("web", [{}], 80),
    "else that of HTTPS": ("https:web:", [{}], 443),
}


@pytest.mark.parametrize(("name", "containers", "port"), PORTS.values(), ids=PORTS)
def test_the_port(name: str, containers: list[Doc], port: int) -> None:
    assert port_of(target_of("pod", name), {"spec": {"containers": containers}}) == port


PATHS = {
    PREFIX: ProxyPath(PREFIX, ""),
    f"{PREFIX}/": ProxyPath(PREFIX, "/"),
    f"{PREFIX}/a//b%2Fc/": ProxyPath(PREFIX, "/a//b%2Fc/"),
    f"{PREFIX}/proxy/x": ProxyPath(PREFIX, "/proxy/x"),
    "/api/v1/nodes/n1/proxy/healthz": ProxyPath("/api/v1/nodes/n1/proxy", "/healthz"),
    "/api/v1/namespaces/proxy/pods/proxy/proxy/proxy": ProxyPath(
        "/api/v1/namespaces/proxy/pods/proxy/proxy", "/proxy"
    ),
}


@pytest.mark.parametrize(("raw", "cut"), PATHS.items(), ids=PATHS)
def test_the_path_behind_the_proxy_is_the_pods(raw: str, cut: ProxyPath) -> None:
    assert path_of(raw) == cut
    route = parse(raw)
    assert isinstance(route, Route)
    assert route.subresource == "proxy"


def test_only_the_proxy_takes_any_path() -> None:
    assert isinstance(parse("/api/v1/namespaces/ns/pods/web//proxy"), Plain)
    other = parse("/api/v1/namespaces/ns/pods/web/exec/x")
    assert isinstance(other, Route)
    assert other.subresource == "exec/x"
    claims = parse("/api/v1/namespaces/ns/persistentvolumeclaims/c/proxy/x")
    assert isinstance(claims, Route)
    assert claims.subresource == "proxy/x"


CREDENTIALS = {
    "authorization": "Bearer secret",
    "impersonate-user": "secret",
    "impersonate-extra-scope": "secret",
    "x-remote-user": "secret",
    "x-remote-extra-x": "secret",
    "proxy-authorization": "secret",
    "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.secret, mine",
}


def test_no_credential_passes() -> None:
    passed = dict(request_headers(CREDENTIALS, upgrade=False))
    assert passed == {"sec-websocket-protocol": "mine"}


def test_headers_of_the_connection_end_here() -> None:
    sent = {
        "connection": "keep-alive, X-Hop",
        "x-hop": "1",
        "te": "trailers",
        "transfer-encoding": "chunked",
        "content-length": "5",
        "expect": "100-continue",
        "host": "h",
        "x-forwarded-for": "forged",
        "accept": "a\nb",
        "upgrade": "websocket",
    }
    assert list(request_headers(sent, upgrade=False)) == [("accept", "a"), ("accept", "b")]
    assert list(request_headers(sent, upgrade=True))[2:] == [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
    ]


def test_the_request_that_a_pod_gets() -> None:
    head = request_head("POST", "/x", "a=1", [("Host", "h")], 3)
    assert head == b"POST /x?a=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n"
    assert request_head("GET", "", "", [], None) == b"GET / HTTP/1.1\r\n\r\n"


def test_the_answer_that_a_client_gets() -> None:
    sent = [
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("keep-alive", "5"),
        ("content-type", "text/html"),
        ("content-length", "5"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("cache-control", "max-age=1"),
        ("location", "/there"),
    ]
    where = ProxyPath(PREFIX, "/x")
    assert list(response_headers(sent, where, frozenset())) == [
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("Cache-Control", "max-age=1"),
        ("Location", f"{PREFIX}/there"),
    ]


LOCATIONS = {
    "a path": ("/there/?x=1#f", f"{PREFIX}/there/?x=1#f"),
    "the pod's own address": ("http://127.0.0.1:80/there", f"{PREFIX}/there"),
    "somebody else's": ("http://example.com/there", "http://example.com/there"),
    "a relative one": ("there", "there"),
    "one that is right already": (f"{PREFIX}/there", f"{PREFIX}/there"),
    "an empty one": ("", ""),
    "one that cannot be read": ("http://[", "http://["),
}


@pytest.mark.parametrize(("sent", "told"), LOCATIONS.values(), ids=LOCATIONS)
def test_redirects(sent: str, told: str) -> None:
    assert location(sent, PREFIX, frozenset({"127.0.0.1:80"})) == told
