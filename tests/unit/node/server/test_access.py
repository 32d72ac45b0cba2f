"""Who is let in, with which certificate or token, to do what."""

import asyncio
import ssl
from collections.abc import Mapping

import aiohttp
import pytest

from mooring.errors import ConnectionLost
from mooring.model.review import UserInfo
from mooring.node.server.access import (
    Access,
    RequestAttributes,
    Visit,
    find_certified,
    request_attributes,
)
from mooring.node.server.refusal import Refusal
from tests.fakes.clock import VirtualClock
from tests.unit.client.certificates import Authority
from tests.unit.node.server.running import Book, Node, client_of

PATH = "/containerLogs/team/web/main"
ROBOT = UserInfo(username="robot", groups=("robots",))

ATTEMPTS = {
    "logs of a container": ("GET", PATH, [("get", "proxy")]),
    "exec": ("POST", "/exec/team/web/main", [("create", "proxy")]),
    "exec by WebSocket": ("GET", "/exec/team/web/main", [("get", "proxy")]),
    "health": ("GET", "/healthz", [("get", "healthz"), ("get", "proxy")]),
    "pods": ("GET", "/pods", [("get", "pods"), ("get", "proxy")]),
    "what only begins like health": ("GET", "/healthzy", [("get", "proxy")]),
    "statistics": ("GET", "/stats/summary", [("get", "stats")]),
    "logs of the machine": ("GET", "/logs/", [("get", "log")]),
}


@pytest.mark.parametrize(("method", "path", "rights"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_rights_that_will_do(method: str, path: str, rights: list[tuple[str, str]]) -> None:
    assert list(request_attributes(method, path)) == [RequestAttributes(*right) for right in rights]


def test_a_certificate_names_its_user_and_groups() -> None:
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "c"),))
    assert find_certified({"subject": subject}) == UserInfo(username="c", groups=("a", "b"))
    assert find_certified({"subject": subject[:2]}) is None
    assert find_certified(None) is None


async def answered(
    node: Node, tls: ssl.SSLContext, headers: Mapping[str, str] = {}
) -> tuple[int, str]:
    async with client_of(node, tls) as http, http.get("/healthz", headers=headers) as answer:
        return answer.status, await answer.text()


async def test_the_api_server_is_known_by_its_certificate(node: Node) -> None:
    assert await answered(node, node.tls()) == (200, "ok")
    assert not node.book.asked


async def test_nobody_in_particular_is_not_let_in(node: Node) -> None:
    nobody = node.tls("")
    assert await answered(node, nobody) == (401, "Unauthorized")
    assert await answered(node, nobody, {"Authorization": "Basic eA=="}) == (401, "Unauthorized")
    assert await answered(node, nobody, {"Authorization": "Bearer "}) == (401, "Unauthorized")
    assert not node.book.asked


async def test_paths_that_there_are_not_tell_strangers_nothing(node: Node) -> None:
    async with client_of(node, node.tls("")) as http, http.get("/nothing") as answer:
        assert answer.status == 401
    async with client_of(node) as http, http.get("/nothing") as answer:
        assert answer.status == 404


async def test_a_certificate_without_rights_is_forbidden(node: Node) -> None:
    answer = await answered(node, node.tls("eve", "visitors"))
    text = "Forbidden (user=eve, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n"
    assert answer == (403, text)


async def test_a_certificate_of_another_authority_is_no_certificate(node: Node) -> None:
    tls = node.tls("")
    shown = Authority("other").certificate("x", groups=("system:masters",))
    path = node.logs / "other.pem"
    path.write_bytes(shown.pem + shown.key)
    tls.load_cert_chain(path)
    with pytest.raises((aiohttp.ClientError, ConnectionError, ssl.SSLError)):
        await answered(node, tls)


async def test_a_token_is_reviewed_and_so_are_its_rights(node: Node) -> None:
    node.book.users["secret"] = ROBOT
    header = {"Authorization": "Bearer secret"}
    assert (await answered(node, node.tls(""), header))[0] == 403
    node.book.rights.add(("robot", "get", "proxy"))
    await node.clock.advance(11)
    assert await answered(node, node.tls(""), header) == (200, "ok")


async def test_an_old_tls_is_not_spoken(node: Node) -> None:
    tls = node.tls()
    tls.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        await asyncio.open_connection("127.0.0.1", node.server.port, ssl=tls)


# Without a server

VISIT = Visit("GET", "/healthz", "Bearer secret")


async def test_answers_are_remembered_for_a_short_while() -> None:
    clock, book = VirtualClock(), Book()
    book.users["secret"] = ROBOT
    book.rights.add(("robot", "get", "healthz"))
    access = Access(book, book, clock)
    for _ in range(3):
        await access.check(VISIT)
    assert book.asked == ["secret", "robot get healthz"]
    await clock.advance(10)
    book.rights.clear()
    with pytest.raises(Refusal):
        await access.check(VISIT)


async def test_an_unknown_token_is_remembered_as_well() -> None:
    book = Book()
    access = Access(book, book, VirtualClock())
    for _ in range(2):
        with pytest.raises(Refusal, match="Unauthorized") as refusal:
            await access.check(VISIT)
        assert refusal.value.code == 401
    assert book.asked == ["secret"]


class Away(Book):
    """An API server that cannot be reached."""

    def __init__(self, *, also_for_tokens: bool) -> None:
        super().__init__()
        self._also_for_tokens = also_for_tokens

    async def find_user(self, token: str) -> UserInfo | None:
        if self._also_for_tokens:
            raise ConnectionLost("away")
        return ROBOT

    async def may(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        raise ConnectionLost("away")


AWAY = {"tokens cannot be reviewed": (True, 401), "rights cannot be reviewed": (False, 500)}


@pytest.mark.parametrize(("tokens", "code"), AWAY.values(), ids=AWAY)
async def test_without_the_api_server_nobody_new_is_let_in(tokens: object, code: int) -> None:
    away = Away(also_for_tokens=bool(tokens))
    with pytest.raises(Refusal) as refusal:
        await Access(away, away, VirtualClock()).check(VISIT)
    assert refusal.value.code == code
