"""Tokens of service accounts: kept while they are young, exchanged in time."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from mooring.client.contract import Action, posted
from mooring.errors import ConnectionLost, MooringError, NotFound
from mooring.model.keys import Key
from mooring.model.timestamp import to_seconds
from mooring.node.tokens import MOST_JITTER_SECONDS, Tokens
from mooring.plugins.contract import NotStarted
from mooring.plugins.volume_host import TokenWish
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

HOUR = 3600
ACCOUNT = Key("ns", "default")
WISH = TokenWish(ACCOUNT, "web", "p1", ("api",), HOUR)


class Issuer(FakeClient):
    """Gives out tokens that are numbered; `grants` may be shorter or longer than asked for."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(FakeServer(clock), clock)
        self.clock = clock
        self.requests: list[dict[str, Any]] = []
        self.error: MooringError | None = None
        self.grants: int | None = None

    async def post(
        self, kind: Any, key: Key, action: Action, doc: dict[str, Any]
    ) -> dict[str, Any]:
        await settle(1)  # a request takes its time
        self.requests.append(posted(key, action, doc))
        if self.error is not None:
            raise self.error
        seconds = self.grants or doc["spec"]["expirationSeconds"]
        expires = to_seconds(self.clock.now() + timedelta(seconds=seconds))
        status = {"token": f"token-{len(self.requests)}", "expirationTimestamp": expires}
        return {"spec": doc["spec"] | {"expirationSeconds": seconds}, "status": status}


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.issuer = Issuer(self.clock)
        self.tokens = Tokens(self.issuer, self.clock, Random(1))  # noqa: S311  no secret

    async def token(self, wish: TokenWish = WISH) -> str:
        return (await self.tokens.get(wish)).value.reveal().decode()


async def test_the_request_says_for_whom_and_for_what() -> None:
    world = World()
    token = await world.tokens.get(WISH)
    assert world.issuer.requests == [
        {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": "default", "namespace": "ns"},
            "spec": {
                "audiences": ["api"],
                "expirationSeconds": HOUR,
                "boundObjectRef": {
                    "kind": "Pod",
                    "apiVersion": "v1",
                    "name": "web",
                    "uid": "p1",
                },
            },
        }
    ]
    assert token.expires_at == world.clock.now().timestamp() + HOUR


async def test_a_token_for_the_api_server_names_no_audience() -> None:
    world = World()
    await world.token(TokenWish(ACCOUNT, "web", "p1", (), HOUR))
    assert "audiences" not in world.issuer.requests[0]["spec"]


AGES: dict[str, tuple[int, float, str]] = {
    "young": (HOUR, 0.8 * HOUR - MOST_JITTER_SECONDS, "token-1"),
    "with a fifth of its life left": (HOUR, 0.8 * HOUR + 1, "token-2"),
    "of a long life, within the first day": (48 * HOUR, 24 * HOUR - 11, "token-1"),
    "of a long life, after a day": (48 * HOUR, 24 * HOUR + 1, "token-2"),
    "expired": (HOUR, HOUR + 1, "token-2"),
}


@pytest.mark.parametrize(("lifetime", "age", "then"), AGES.values(), ids=AGES)
async def test_a_token_grows_old(lifetime: int, age: float, then: str) -> None:
    world, wish = World(), TokenWish(ACCOUNT, "web", "p1", ("api",), lifetime)
    await world.token(wish)
    await world.clock.advance(age)
    assert await world.token(wish) == then


async def test_what_the_server_granted_counts() -> None:
    world = World()
    world.issuer.grants = 600
    await world.token()
    await world.clock.advance(500)
    assert await world.token() == "token-2"


async def test_pods_that_started_together_do_not_ask_together() -> None:
    world = World()
    wishes = [TokenWish(ACCOUNT, "web", f"p{number}", ("api",), HOUR) for number in range(50)]
    for wish in wishes:
        await world.token(wish)
    await world.clock.advance(0.8 * HOUR - MOST_JITTER_SECONDS / 2)
    for wish in wishes:
        await world.token(wish)
    assert 0 < len(world.issuer.requests) - len(wishes) < len(wishes)


async def test_an_old_token_is_better_than_none_until_it_expires() -> None:
    world = World()
    await world.token()
    world.issuer.error = ConnectionLost("nobody is there")
    await world.clock.advance(HOUR - 1)
    assert await world.token() == "token-1"
    await world.clock.advance(2)
    with pytest.raises(NotStarted) as refusal:
        await world.token()
    assert str(refusal.value) == (
        'token "default"/"ns"/[]string{"api"}/3600/v1.BoundObjectReference{Kind:"Pod", '
        'APIVersion:"v1", Name:"web", UID:"p1"}/"" expired and refresh failed: nobody is there'
    )


async def test_a_first_token_that_cannot_be_had() -> None:
    world = World()
    world.issuer.error = NotFound('serviceaccounts "default" not found')
    with pytest.raises(NotStarted) as refusal:
        await world.token()
    assert str(refusal.value) == 'failed to fetch token: serviceaccounts "default" not found'


async def test_volumes_that_ask_at_the_same_time_get_the_same_token() -> None:
    world = World()
    first, second = await asyncio.gather(world.token(), world.token())
    assert (first, second) == ("token-1", "token-1")


async def test_different_wishes_get_different_tokens() -> None:
    world = World()
    other = TokenWish(ACCOUNT, "web", "p1", ("vault",), HOUR)
    assert [await world.token(), await world.token(other)] == ["token-1", "token-2"]


async def test_a_pods_tokens_go_with_it() -> None:
    world, other = World(), TokenWish(ACCOUNT, "web", "p2", ("api",), HOUR)
    await world.token()
    await world.token(other)
    world.tokens.forget("p1")
    assert [await world.token(other), await world.token()] == ["token-2", "token-3"]


@pytest.mark.parametrize("ahead", [-HOUR, HOUR], ids=["back", "forward"])
async def test_when_the_clock_is_set_a_token_is_exchanged_that_the_server_would_refuse(
    ahead: float,
) -> None:
    world = World()
    assert await world.token() == "token-1"
    world.clock.set_wall(ahead)
    assert await world.token() == "token-2"
    await world.clock.advance(60)
    assert await world.token() == "token-2"


async def test_a_clock_that_is_corrected_by_seconds_changes_nothing() -> None:
    world = World()
    assert await world.token() == "token-1"
    world.clock.set_wall(-50)
    assert await world.token() == "token-1"
