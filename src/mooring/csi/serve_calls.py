"""The log of CSI calls over aiohttp, for the servers of nodes and standalone roles.

Who may read it is decided before: see docs/csi-tools.md.
"""

import asyncio
from datetime import timedelta

from aiohttp import web

from mooring.clock import Clock
from mooring.csi.call_log import CALLS, CallLog
from mooring.csi.call_query import CallWatch, Question, calls_page, read_question
from mooring.errors import UsageError

JSON = "application/json"
LONGEST_WATCH = timedelta(minutes=30).total_seconds()
MOST_WATCHES = 16  # at once, of one process
_HEADERS = {"Cache-Control": "no-store"}


class ServedCalls:
    """A handler of aiohttp."""

    def __init__(self, clock: Clock, log: CallLog = CALLS) -> None:
        self._clock = clock
        self._log = log
        self._watches = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        try:
            question = read_question(request.query, self._clock.now())
        except UsageError as error:
            return web.Response(status=400, text=f"{error}\n")
        if not question.watch:
            page = calls_page(self._log, question, self._clock)
            return web.Response(body=page, content_type=JSON, headers=_HEADERS)
        if self._watches >= MOST_WATCHES:
            text = f"{MOST_WATCHES} watches are open already: try again later\n"
            return web.Response(status=429, text=text, headers={"Retry-After": "1"})
        self._watches += 1
        try:
            return await self._follow(request, question)
        finally:
            self._watches -= 1

    async def _follow(self, request: web.Request, question: Question) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": JSON})
        await response.prepare(request)
        news = asyncio.Event()
        forget = self._log.subscribe(news.set)
        try:
            async with asyncio.timeout(LONGEST_WATCH):
                await self._send(response, CallWatch(self._log, question, self._clock), news)
        except TimeoutError:
            await response.write_eof()
        finally:
            forget()
        return response

    async def _send(
        self, response: web.StreamResponse, watch: CallWatch, news: asyncio.Event
    ) -> None:
        """Ends when the client is gone: aiohttp cancels the handler."""
        while True:
            news.clear()
            while lines := watch.poll():
                await response.write(b"".join(lines))
            await news.wait()
