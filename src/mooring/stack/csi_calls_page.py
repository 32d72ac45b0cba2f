"""`/mooring/v1/csi-calls` on the API server of `mooring up`: the CSI calls of this process."""

import asyncio
from datetime import timedelta

from mooring.apiserver.request.message import Answer, Request, Response, Stream, Writer
from mooring.apiserver.request.options import parse_query
from mooring.clock import Clock
from mooring.csi.call_log import CALLS, CallLog
from mooring.csi.call_query import CallWatch, Question, calls_page, read_question
from mooring.errors import BadRequest, UsageError

LONGEST_WATCH = timedelta(minutes=30).total_seconds()
_HEADERS = (("Cache-Control", "no-store"),)


class CsiCallsPage:
    """For `Pages.add`."""

    def __init__(self, clock: Clock, log: CallLog = CALLS) -> None:
        self._clock = clock
        self._log = log

    def answer(self, request: Request) -> Answer:
        """Raises: BadRequest."""
        query = {name: values[0] for name, values in parse_query(request.query).items()}
        try:
            question = read_question(query, self._clock.now())
        except UsageError as error:
            raise BadRequest(str(error)) from error
        if question.watch:
            return Stream(_Followed(self._log, question, self._clock), headers=_HEADERS)
        return Response(200, calls_page(self._log, question, self._clock), headers=_HEADERS)


class _Followed:
    """`StreamSource`: a client that does not read is sent nothing, and nothing is kept for it."""

    def __init__(self, log: CallLog, question: Question, clock: Clock) -> None:
        self._log = log
        self._watch = CallWatch(log, question, clock)
        self._writer: Writer | None = None
        self._is_woken = False
        self._timer: asyncio.TimerHandle | None = None
        self._forget = _nothing

    def start(self, writer: Writer) -> None:
        self._writer = writer
        self._forget = self._log.subscribe(self._wake)
        self._timer = asyncio.get_running_loop().call_later(LONGEST_WATCH, writer.end)
        self._proceed()

    def on_ready(self) -> None:
        self._wake()

    def on_closed(self) -> None:
        self._writer = None
        self._forget()
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self) -> None:
        """In the next round of the loop, and once for all news of this one."""
        if not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._proceed)

    def _proceed(self) -> None:
        self._is_woken = False
        writer = self._writer
        if writer is None or not writer.ready:
            return
        if lines := self._watch.poll():
            writer.write(b"".join(lines))
            self._wake()


def _nothing() -> None:
    """Of a stream that has not begun."""
