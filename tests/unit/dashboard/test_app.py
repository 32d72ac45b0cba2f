"""What the dashboard answers: to whom, with which headers, and that it only reads."""

import asyncio
import json

import pytest

from mooring.client.http import HttpClient
from mooring.dashboard.app import Parts
from mooring.dashboard.looks import MOST_MESSAGE, Subject
from mooring.dashboard.message import DashboardRequest
from mooring.dashboard.why import Why
from mooring.errors import ConnectionLost, Forbidden, NotFound
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.event import Event
from mooring.model.storage_class import StorageClass
from tests.fakes.clock import VirtualClock, settle
from tests.unit.dashboard.world import World, body_of

FILES = ["/ui", "/ui/", "/ui/index.html", "/ui/main.js", "/ui/style.css", "/ui/icon.svg"]
DATA = ["info", "usage", "object", "events", "why", "timeline", "trace", "feed"]
OUTSIDE = [
    "/ui/../app.py",
    "/ui/..%2fapp.py",
    "/ui/%2e%2e/%2e%2e/errors.py",
    "/ui/static/../../app.py",
    "/ui//etc/passwd",
    "/ui/main.js/",
    "/ui/main.js%00.html",
    "/etc/passwd",
    "/",
    "",
]
META = {"name": "data", "namespace": "team"}
CLAIM = "/api/v1/namespaces/team/persistentvolumeclaims/data"


@pytest.mark.parametrize("path", FILES)
async def test_the_page_is_for_anybody_and_may_run_no_script_but_its_own(path: str) -> None:
    answer = await World().get(path, bearer="")
    headers = dict(answer.headers)
    policy = headers["Content-Security-Policy"]
    assert answer.status == 200
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"


async def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    world = World()
    etag = dict((await world.get("/ui/main.js")).headers)["ETag"]
    request = DashboardRequest("GET", "/ui/main.js", known_etag=etag)
    answer = await world.dashboard.handle(request)
    assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("bearer", ["", "wrong", "good-session "])
async def test_nothing_of_the_cluster_is_told_without_a_session(name: str, bearer: str) -> None:
    world = World()
    answer = await world.get(f"/ui/{name}", bearer=bearer, kind="claims", id="team/data")
    assert answer.status == 401
    assert (world.client.asked, world.client.calls) == ([], [])
    assert dict(answer.headers)["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_path_leads_outside(path: str) -> None:
    assert (await World().get(path)).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT"])
@pytest.mark.parametrize("path", ["/ui/", "/ui/object", "/ui/feed", "/ui/why"])
async def test_it_only_reads(method: str, path: str) -> None:
    world = World()
    assert (await world.send(method, path, b"{}")).status == 405
    assert (world.client.asked, world.client.calls) == ([], [])


async def test_a_token_of_the_url_opens_once() -> None:
    world = World()
    first = await world.send("POST", "/ui/login", b'{"token":"first"}')
    assert json.loads(body_of(first)) == {"session": "good-session"}
    assert (await world.send("POST", "/ui/login", b'{"token":"first"}')).status == 401
    assert (await world.get("/ui/login")).status == 405


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"token":1}', b"{", b'{"token":"%b"}' % (b"x" * 9000)]
)
async def test_a_login_that_is_none_is_refused(body: bytes) -> None:
    assert (await World().send("POST", "/ui/login", body)).status == 400


async def test_others_are_served_while_the_text_of_a_large_object_is_made() -> None:
    world = World()
    stored = {"spec": {f"key-{number}": "x" for number in range(10_000)}}
    world.client.paths["/api/v1/persistentvolumes/disk"] = json.dumps(stored).encode()
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await settle(1)

    served = asyncio.create_task(others())
    answer = await world.get("/ui/object", kind="volumes", id="disk")
    served.cancel()
    assert b"key-9999: x" in body_of(answer)
    assert turns, "the event loop did nothing else meanwhile"


async def test_an_object_is_text_whatever_it_says() -> None:
    world = World()
    evil = "<script>alert(1)</script>\u2028</pre>"
    document = {"kind": "PersistentVolumeClaim", "metadata": {"name": evil, "managedFields": [1]}}
    world.client.paths[CLAIM] = json.dumps(document).encode()
    answer = await world.get("/ui/object", kind="claims", id="team/data")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert dict(answer.headers)["X-Content-Type-Options"] == "nosniff"
    assert b"<script>" in body_of(answer)
    assert b"managedFields" not in body_of(answer)


async def test_the_message_of_an_event_is_cut_in_its_list_and_where_why_quotes_it() -> None:
    clock = VirtualClock()
    world = World(Parts(why=Why(clock)))
    of_class = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}
    world.server.create(CsiDriver, {"metadata": {"name": "d.example"}})
    world.server.create(StorageClass, {"metadata": {"name": "fast"}, "provisioner": "d.example"})
    world.server.create(Claim, {"metadata": META, "spec": of_class})
    about = {"kind": "PersistentVolumeClaim", "namespace": "team", "name": "data"}
    said = {"reason": "ProvisioningFailed", "message": "x" * 1_000_000, "type": "Warning"}
    event = {"metadata": {"name": "data.1", "namespace": "team"}, "involvedObject": about, **said}
    world.server.create(Event, event)
    (shown,) = json.loads(body_of(await world.get("/ui/events", kind="claims", id="team/data")))
    assert shown["message"] == f"{'x' * MOST_MESSAGE}…"
    answer = body_of(await world.get("/ui/why", kind="claims", id="team/data"))
    assert b"xxxx" in answer
    assert len(answer) < 20_000


@pytest.mark.parametrize(
    ("kind", "id"),
    [
        ("secrets", "team/password"),
        ("claims", "data"),
        ("claims", "a/b/c"),
        ("claims", "team/"),
        ("claims", "team/.."),
        ("claims", "../x"),
        ("nodes", "team/n1"),
        ("", ""),
        ("__class__", "x"),
    ],
)
async def test_what_is_not_shown_is_not_asked_for(kind: str, id: str) -> None:
    world = World()
    assert (await world.get("/ui/object", kind=kind, id=id)).status == 400
    assert world.client.asked == []


async def test_a_name_stays_one_part_of_the_path() -> None:
    world = World()
    path = "/api/v1/namespaces/..%3F%23/persistentvolumeclaims/a%25b%3Fwatch%3D1"
    world.client.paths[path] = b"{}"
    answer = await world.get("/ui/object", kind="claims", id="..?#/a%b?watch=1")
    assert answer.status == 200
    assert world.client.asked == [path]


async def test_a_refusal_of_the_cluster_is_passed_on() -> None:
    world = World()
    for error, status in (
        (Forbidden("you may not"), 403),
        (NotFound("it is gone"), 404),
        (ConnectionLost("no route"), 502),
    ):
        world.client.paths[CLAIM] = error
        answer = await world.get("/ui/object", kind="claims", id="team/data")
        assert (answer.status, json.loads(body_of(answer))) == (status, {"error": str(error)})


async def test_a_part_that_is_missing_is_said_to_be() -> None:
    world = World()
    answer = await world.get("/ui/trace", kind="claims", id="team/data")
    assert answer.status == 501
    assert json.loads(body_of(answer)) == {"error": "trace is not available here"}


async def test_a_part_that_is_there_is_asked_about_the_object() -> None:
    async def why(client: HttpClient, subject: Subject) -> object:
        return {"summary": f"{subject.kind.resource.kind} {subject.key}"}

    world = World(Parts(why=why))
    answer = await world.get("/ui/why", kind="claims", id="team/data")
    assert json.loads(body_of(answer)) == {"summary": "PersistentVolumeClaim team/data"}
