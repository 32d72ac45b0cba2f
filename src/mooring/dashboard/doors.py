"""Who is let in, and the client that reads the cluster for them."""

import hmac
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from mooring.client.connect import connect_to
from mooring.client.credentials import Given, Held
from mooring.client.endpoint import Endpoint
from mooring.client.http import HttpClient
from mooring.client.tls import Trust
from mooring.clock import Clock
from mooring.model.secret_value import SecretValue

MOST_SESSIONS = 64


class Door(Protocol):
    """How to get in."""

    def enter(self, one_time: str) -> str | None:
        """A session for a token of the printed URL, which is spent by that; None: refused."""
        ...

    def client(self, bearer: str) -> AbstractAsyncContextManager[HttpClient] | None:
        """Reads the cluster with the rights of who shows `bearer`; None: not let in."""
        ...


class OneTimeDoor:
    """Of `mooring dashboard`: who has the printed URL acts with the rights of the kubeconfig.

    A token opens the door once; `renewed` is then called with the next one.
    """

    def __init__(self, client: HttpClient, renewed: Callable[[str], None]) -> None:
        self._client = client
        self._renewed = renewed
        self._sessions: list[str] = []
        self.token = secrets.token_urlsafe(32)

    def enter(self, one_time: str) -> str | None:
        if not _same(one_time, self.token):
            return None
        self.token = secrets.token_urlsafe(32)
        session = secrets.token_urlsafe(32)
        self._sessions = [*self._sessions[1 - MOST_SESSIONS :], session]
        self._renewed(self.token)
        return session

    def client(self, bearer: str) -> AbstractAsyncContextManager[HttpClient] | None:
        known = [session for session in self._sessions if _same(session, bearer)]
        return self._shared() if known else None

    @asynccontextmanager
    async def _shared(self) -> AsyncIterator[HttpClient]:
        yield self._client


class TokenDoor:
    """Of an API server's own `/ui`: who shows a token of the API acts with its rights.

    The token goes with every request to the server at `url`, which checks it as any other.
    """

    def __init__(self, url: str, authority: bytes, clock: Clock) -> None:
        self._url = url
        self._trust = Trust(authority)
        self._clock = clock

    def enter(self, one_time: str) -> str | None:
        """There are no one-time tokens here."""
        return None

    def client(self, bearer: str) -> AbstractAsyncContextManager[HttpClient] | None:
        if not bearer:
            return None
        source = Held(Given(SecretValue(bearer.encode())))
        return connect_to(Endpoint(self._url, self._trust, source), self._clock)


def _same(one: str, other: str) -> bool:
    """A header may hold anything, also what is no text."""
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
