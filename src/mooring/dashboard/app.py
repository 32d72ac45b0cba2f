"""Answers requests: the files of the page to anybody, everything else to who is let in.

Only GET, and POST of a one-time token: there is no way to change a cluster through it.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import msgspec

from mooring import __version__, log
from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.dashboard.assets import PREFIX, load_assets
from mooring.dashboard.doors import Door
from mooring.dashboard.feed import Feed
from mooring.dashboard.looks import Explain, Subject, read_events, read_text, subject_of
from mooring.dashboard.message import (
    LINES,
    DashboardAnswer,
    DashboardRequest,
    answer_json,
    answer_text,
    refusal,
)
from mooring.errors import ApiError, BadRequest, MooringError
from mooring.top.read import read_summaries
from mooring.top.rows import Subject as TopSubject
from mooring.top.rows import rows_of

MOST_LOGIN_BYTES = 4096

_log = log.get("mooring.dashboard")

Look = Callable[[HttpClient, Mapping[str, str]], Awaitable[DashboardAnswer]]


class Login(msgspec.Struct, frozen=True):
    token: str


_login = msgspec.json.Decoder(Login).decode


class Parts(msgspec.Struct, frozen=True):
    """What explains an object, by name; what is missing here is shown as not available."""

    why: Explain | None = None
    timeline: Explain | None = None
    trace: Explain | None = None


class Dashboard:
    def __init__(self, door: Door, clock: Clock, parts: Parts | None = None) -> None:
        self._door = door
        self._clock = clock
        self._assets = load_assets()
        self._parts = parts or Parts()
        self._looks: Mapping[str, Look] = {
            f"{PREFIX}/info": self._info,
            f"{PREFIX}/usage": self._usage,
            f"{PREFIX}/object": self._object,
            f"{PREFIX}/events": self._events,
            f"{PREFIX}/why": self._explaining("why", self._parts.why),
            f"{PREFIX}/timeline": self._explaining("timeline", self._parts.timeline),
            f"{PREFIX}/trace": self._explaining("trace", self._parts.trace),
        }

    async def handle(self, request: DashboardRequest) -> DashboardAnswer:
        """Never raises MooringError: refusals are answers."""
        if request.path == f"{PREFIX}/login":
            return self._enter(request)
        if request.method != "GET":
            return refusal(405, "the dashboard only reads")
        if (asset := self._assets.get(request.path)) is not None:
            return asset.answer(request.known_etag)
        look = self._looks.get(request.path)
        if look is None and request.path != f"{PREFIX}/feed":
            return refusal(404, "there is no such page")
        client = self._door.client(request.bearer)
        if client is None:
            return refusal(401, "log in first")
        if look is None:
            return DashboardAnswer(200, self._feed(client), LINES)
        try:
            async with client as reader:
                return await look(reader, request.query)
        except ApiError as error:
            return refusal(error.code, str(error))
        except MooringError as error:
            return refusal(502, str(error))

    def _enter(self, request: DashboardRequest) -> DashboardAnswer:
        if request.method != "POST":
            return refusal(405, "a token is sent by POST")
        try:
            if len(request.body) > MOST_LOGIN_BYTES:
                raise ValueError
            token = _login(request.body).token
        except ValueError:
            return refusal(400, "a token is sent as JSON")
        session = self._door.enter(token)
        if session is None:
            return refusal(401, "this token is not valid, or was used before")
        return answer_json({"session": session})

    async def _feed(
        self, client: AbstractAsyncContextManager[HttpClient]
    ) -> AsyncGenerator[bytes, None]:
        try:
            async with (
                client as reader,
                aclosing(Feed(reader, self._clock).lines()) as all_lines,
            ):
                async for lines in all_lines:
                    yield lines
        except MooringError as error:
            _log.info("a feed ended", because=str(error))

    async def _info(self, client: HttpClient, _: Mapping[str, str]) -> DashboardAnswer:
        version = msgspec.json.decode(await client.read("/version", {}), type=dict[str, Any])
        parts = {name: getattr(self._parts, name) is not None for name in Parts.__struct_fields__}
        cluster = {"server": client.server, "version": str(version.get("gitVersion", ""))}
        # /version is public: whether the token is good shows in a question about oneself.
        await client.read("/api", {})
        return answer_json({"mooring": __version__, **cluster, "parts": parts})

    async def _usage(self, client: HttpClient, _: Mapping[str, str]) -> DashboardAnswer:
        measured = await read_summaries(client)
        rows = rows_of(TopSubject.PVC, measured.summaries)
        return answer_json({"claims": rows, "unseen": measured.unseen})

    async def _object(self, client: HttpClient, query: Mapping[str, str]) -> DashboardAnswer:
        return answer_text(await read_text(client, _subject(query)))

    async def _events(self, client: HttpClient, query: Mapping[str, str]) -> DashboardAnswer:
        return answer_json(await read_events(client, _subject(query)))

    def _explaining(self, name: str, explain: Explain | None) -> Look:
        async def look(client: HttpClient, query: Mapping[str, str]) -> DashboardAnswer:
            subject = _subject(query)
            if explain is None:
                return refusal(501, f"{name} is not available here")
            return answer_json(await explain(client, subject))

        return look


def _subject(query: Mapping[str, str]) -> Subject:
    try:
        return subject_of(query["kind"], query["id"])
    except KeyError as error:
        raise BadRequest(f"which object? {error} is missing") from error
