"""`/ui` of an API server: the page for anybody, the cluster for who has a token, changes live."""

import json
from typing import Any

import pytest

from tests.fakes.objects import NAMESPACES, a_claim, a_namespace, a_secret
from tests.fakes.raw_http import RawHttp
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

CLAIMS = "/api/v1/namespaces/ui/persistentvolumeclaims"


@pytest.fixture(scope="module")
def server(real_server: RealServer) -> RealServer:
    """With a namespace that this file's tests may fill."""
    real_server.ask("POST", NAMESPACES, a_namespace("ui"))
    real_server.ask("POST", CLAIMS, a_claim("data"))
    real_server.ask("POST", "/api/v1/namespaces/ui/secrets", a_secret("password"))
    return real_server


def test_the_page_needs_no_token_and_has_its_headers(server: RealServer) -> None:
    for path in ("/ui", "/ui/", "/ui/main.js"):
        got = server.ask("GET", path, headers={"Authorization": ""}, token="")
        assert got.code == 200, got
        assert "script-src 'self'" in got.headers["Content-Security-Policy"]
        assert got.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/ui/../metrics", "/ui/%2e%2e/metrics", "/ui/..%2f..%2fetc/passwd"]
)
def test_no_path_leads_outside(server: RealServer, path: str) -> None:
    assert server.ask("GET", path).code == 404


@pytest.mark.parametrize("token", ["", "wrong", "a\tb", "ü"])
def test_the_cluster_is_for_who_has_a_token(server: RealServer, token: str) -> None:
    given = {"Authorization": f"Bearer {token}".encode().decode("latin-1")}
    for name in ("info", "feed", "object?kind=claims&id=ui/data"):
        got = server.ask("GET", f"/ui/{name}", headers=given)
        assert got.code == 401, (name, got)


def test_an_object_and_its_events_are_read_with_the_rights_of_the_token(server: RealServer) -> None:
    got = server.ask("GET", "/ui/object?kind=claims&id=ui/data")
    assert (got.code, got.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert b"kind: PersistentVolumeClaim" in got.body
    assert json.loads(server.ask("GET", "/ui/events?kind=claims&id=ui/data").body) == []
    account = server.ask(
        "POST", "/api/v1/namespaces/ui/serviceaccounts/default/token", {"spec": {}}
    )
    weak = account.doc["status"]["token"]
    refused = server.ask("GET", "/ui/object?kind=claims&id=ui/data", token=weak)
    assert refused.code == 403, refused
    assert "forbidden" in refused.doc["error"]


def test_secrets_are_not_looked_at(server: RealServer) -> None:
    assert server.ask("GET", "/ui/object?kind=secrets&id=ui/password").code == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_it_only_reads(server: RealServer, method: str) -> None:
    assert server.ask(method, "/ui/object?kind=claims&id=ui/data", b"{}").code == 405


async def test_a_change_comes_by_the_feed_which_ends_with_its_client(server: RealServer) -> None:
    async with await RawHttp.connect(server) as client:
        await client.send(client.request("GET", "/ui/feed"))
        assert (await client.head()).code == 200
        seen: list[dict[str, Any]] = []
        while not any(line["k"] == "claims" and "list" in line for line in seen):
            seen += map(json.loads, (await client.chunk()).splitlines())
        assert any(row["id"] == "ui/data" for row in seen[0]["list"])
        server.ask("POST", CLAIMS, a_claim("live"))
        while not any(line.get("put", {}).get("id") == "ui/live" for line in seen):
            seen += map(json.loads, (await client.chunk()).splitlines())
        open_before = server.connections()
    # The feed's own watches are closed with it.
    await until(lambda: server.connections() < open_before - 3)
