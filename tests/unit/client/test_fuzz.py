"""Whatever a server, a kubeconfig or a plugin says, only the documented errors escape."""

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mooring.client import http
from mooring.client.credentials import Proof
from mooring.client.decoding import reader_of
from mooring.client.endpoint import find_address
from mooring.client.exec_plugin import FromPlugin, Plugin
from mooring.client.http_watch import Changes
from mooring.client.kubeconfig import find_endpoint, in_cluster
from mooring.client.proxies import find_proxy
from mooring.client.refusals import LONGEST_PAUSE, refusal
from mooring.client.tls import Tls
from mooring.errors import ApiError, ServerError, UsageError
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from tests.fakes.clock import VirtualClock
from tests.unit.client.kubeconfigs import a_kubeconfig, around

KINDS: tuple[type[ApiObject], ...] = (Claim, Pod, Node, Attachment, Secret)
DEEP = b"[" * 100_000

texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "0", "5" * 5000, "\ud800", "\x00", "=", "a\nb", "-1", "1e99", "~", "9"]),
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "name", "spec", "status", "items", "details"]) | texts,
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
bodies = st.one_of(
    st.binary(max_size=60),
    values.map(lambda value: json.dumps(value).encode()),
    st.tuples(values.map(lambda value: json.dumps(value).encode()), st.integers(0, 40)).map(
        lambda cut: cut[0][: cut[1]] + b"\xff" + cut[0][cut[1] :]
    ),
    st.just(DEEP),
    st.just(b'{"metadata":{"name":"x","labels":' + DEEP),
    st.just(b'{"metadata":{"resourceVersion":"' + b"7" * 5000 + b'"}}'),
    st.just(b'{"details":{"retryAfterSeconds":' + b"9" * 5000 + b"}}"),
)


@given(kind=st.sampled_from(KINDS), body=bodies)
def test_an_object_or_a_list_is_read_or_the_servers_fault(
    kind: type[ApiObject], body: bytes
) -> None:
    reader = reader_of(kind)
    for read in (reader.read, reader.read_bookmark, reader.read_page):
        try:
            found = read(body)
        except ServerError:
            continue
        version = found.metadata.resource_version
        assert not version or int(version) >= 0


@given(
    line=bodies
    | st.builds(
        lambda kind, body: b'{"type":"' + kind + b'","object":' + body + b"}",
        st.sampled_from([b"ADDED", b"DELETED", b"BOOKMARK", b"ERROR", b"\xff", b"x"]),
        bodies,
    )
)
def test_a_line_of_a_watch_is_a_change_or_an_error_of_the_api(line: bytes) -> None:
    changes = Changes(_NoLines(), reader_of(Claim), "https://example.com")  # type: ignore[arg-type]  # nothing is received
    with suppress(ApiError):
        assert int(changes._change(line).object.metadata.resource_version) >= 0


class _NoLines:
    more = None


@given(code=st.integers(300, 599), body=bodies, retry_after=st.none() | texts)
@example(code=429, body=b"", retry_after="5" * 5000)
@example(code=503, body=b"", retry_after="\u0665")  # a digit, to Unicode
@example(code=429, body=b'{"details":{"retryAfterSeconds":-5}}', retry_after=None)
def test_a_refusal_is_an_error_of_the_api_with_a_pause_that_ends(
    code: int, body: bytes, retry_after: str | None
) -> None:
    error = refusal(code, body, retry_after)
    assert isinstance(error, ApiError)
    assert 0 <= error.retry_after <= LONGEST_PAUSE


# kubeconfigs

fields = st.dictionaries(
    st.sampled_from(
        [
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority",
            "certificate-authority-data",
            "proxy-url",
            "extensions",
            "token",
            "tokenFile",
            "client-certificate",
            "client-certificate-data",
            "client-key",
            "client-key-data",
            "exec",
            "namespace",
            "cluster",
            "user",
        ]
    ),
    st.one_of(
        values,
        st.sampled_from(
            [
                "https://[::1",
                "https://host:99999",
                "http://a..b",
                "https://" + "a" * 300,
                "https://h\u00f6st",
                "//x",
                "http://:80",
                {"command": "x\x00", "apiVersion": "client.authentication.k8s.io/v1beta1"},
                {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1"},
            ]
        ),
    ),
    max_size=4,
)


async def _asked(path: Path) -> None:
    """As a client does it, up to the first byte that is sent."""
    with suppress(UsageError):
        endpoint = find_endpoint(path, around(path.parent))
        is_program = isinstance(endpoint.source, FromPlugin)
        proof = Proof() if is_program else await endpoint.source.proof()
        if endpoint.server.startswith("https:"):
            Tls(endpoint.trust).context(proof)
        if proof.token is not None:
            http._authorization(proof.token)


@settings(max_examples=200, deadline=None)
@given(cluster=fields, user=fields, context=fields)
def test_a_kubeconfig_is_understood_or_a_mistake_of_its_user(
    cluster: Mapping[str, Any], user: Mapping[str, Any], context: Mapping[str, Any]
) -> None:
    content = json.dumps(a_kubeconfig(cluster, user, context)).encode()
    _drive(content)


YAML = {
    "nested lists": DEEP,
    "nested maps": b"".join(b" " * n + b"a:\n" for n in range(2000)),
    "nested flow maps": b"{a: " * 100_000,
    "a thousand laughs": b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    + b"".join(
        b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 10)) for c in range(98, 108)
    ),
    "a loop": b"&a [*a]",
    "a loop of maps": b"clusters: &a [{name: *a}]",
    "an unknown alias": b"a: *b",
    "a date that is none": b"clusters: 2001-99-99",
    "a number without end": b"clusters: " + b"9" * 5000,
    "an empty number": b'clusters: !!int ""',
    "a truth that is none": b"clusters: !!bool maybe",
    "a time that is none": b"clusters: !!timestamp x",
    "a list as a key": b"? [a]\n: b",
    "a program": b"!!python/object/apply:os.system [true]",
    "no text": b"\xff\xfe\x00",
    "a NUL": b"a: \x00",
    "a lone surrogate": rb'clusters: "\ud800"',
    "two documents": b"a: b\n---\nc: d",
    "too much": b"#" * (9 << 20),
}


@pytest.mark.parametrize("content", YAML.values(), ids=YAML)
def test_a_file_is_no_kubeconfig_that_holds(content: bytes) -> None:
    _drive(content)


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=80) | values.map(lambda v: yaml.dump(v).encode(errors="replace")))
def test_any_file_is_a_kubeconfig_or_a_mistake_of_its_user(content: bytes) -> None:
    _drive(content)


def _drive(content: bytes) -> None:
    """Run what never waits for anything."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config"
        path.write_bytes(content)
        work = _asked(path)
        with pytest.raises(StopIteration):
            work.send(None)


ADDRESSES = {
    "an address that does not end": "https://[::1",
    "a port that is none": "https://host:99999",
    "a port of nothing": "https://host:0",
    "no host": "https://:6443",
    "another scheme": "ftp://host",
    "a name with a space": "https://ho st",
    "a name with a line break": "https://host\n.evil",
    "a label that is too long": f"https://{'a' * 64}.example.com",
    "a name with an empty label": "https://a..b",
}


@pytest.mark.parametrize("url", ADDRESSES.values(), ids=ADDRESSES)
def test_no_server_is_at(url: str) -> None:
    assert find_address(url) is None


@given(host=texts, port=texts)
def test_the_environment_of_a_pod_names_a_server_or_a_mistake(host: str, port: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        surroundings = around(
            Path(directory), KUBERNETES_SERVICE_HOST=host, KUBERNETES_SERVICE_PORT=port
        )
        surroundings.service_account.mkdir()
        for name in ("ca.crt", "token"):
            (surroundings.service_account / name).write_text("x")
        with suppress(UsageError):
            assert find_address(in_cluster(surroundings).server)


@given(
    given=texts, environment=st.dictionaries(st.sampled_from(["HTTPS_PROXY", "NO_PROXY"]), texts)
)
def test_a_proxy_is_an_address_or_a_mistake(given: str, environment: Mapping[str, str]) -> None:
    try:
        proxy = find_proxy(given, "https://example.com:6443", environment)
    except UsageError:
        return
    assert not proxy or find_address(proxy)


@given(
    printed=bodies
    | st.builds(
        lambda status: json.dumps(
            {
                "kind": "ExecCredential",
                "apiVersion": "client.authentication.k8s.io/v1",
                "status": status,
            }
        ).encode(),
        st.dictionaries(
            st.sampled_from(
                ["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"]
            ),
            texts | st.sampled_from(["2026-01-01T00:00:00", "2026-01-01T00:00:00Z"]),
        ),
    )
)
def test_what_a_plugin_prints_is_a_proof_or_its_fault(printed: bytes) -> None:
    clock = VirtualClock()
    plugin = Plugin("x", api_version="client.authentication.k8s.io/v1")
    source = FromPlugin(plugin, {}, {}, clock)
    try:
        given = source._understood(printed)
    except UsageError:
        return
    assert given.expiration_timestamp is None or given.expiration_timestamp.tzinfo is not None


@given(token=st.binary(max_size=20))
def test_a_token_is_sent_as_it_is_or_not_at_all(token: bytes) -> None:
    with suppress(UsageError):
        header = http._authorization(SecretValue(token))
        assert header.encode() == b"Authorization: Bearer " + token + b"\r\n"
