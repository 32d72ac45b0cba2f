"""From a question to its answer: the cluster's names from the catalog, others from others."""

import asyncio
from collections.abc import Awaitable, Callable

from mooring.node.names import messages
from mooring.node.names.forward import Forwarder
from mooring.node.names.messages import Question, Refused
from mooring.node.names.records import (
    Absent,
    Answer,
    Catalog,
    NotOurs,
    Record,
    RecordType,
    Verdict,
    find_records,
    may_be_ours,
)

KNOWN_SECONDS = 5.0  # so long a question waits for the first list of services
LONGEST_CHAIN = 8  # of names that stand for other names
_IS_CUT = 0x02  # in the third byte


class Answering:
    def __init__(
        self,
        catalog: Catalog,
        domain: str,
        forwarder: Forwarder,
        known: Callable[[], Awaitable[bool]],
    ) -> None:
        """`known` returns when the catalog is complete: whether it may be used."""
        self._catalog = catalog
        self._domain = domain
        self._forwarder = forwarder
        self._known = known

    async def answer(self, data: bytes, *, by_stream: bool) -> bytes | None:
        """None: nothing is sent back."""
        question = messages.read_question(data)
        if question is None:
            return None
        if isinstance(question, Refused):
            return question.data
        found = await self._answer(question, data, by_stream=by_stream)
        return found if by_stream else messages.fitted(question, found)

    async def _answer(self, question: Question, data: bytes, *, by_stream: bool) -> bytes:
        try:
            verdict = await self._find(question.name, question.kind)
        except TimeoutError:
            return messages.failed(question)
        match verdict:
            case NotOurs():
                answer = await self._forwarder.ask(data, by_stream=by_stream)
                return messages.failed(question) if answer is None else answer
            case Absent():
                return messages.negative(question)
            case Answer(records, extra):
                if (alias := _alias(records)) is not None and question.kind != RecordType.CNAME:
                    return await self._follow(question, alias)
                return messages.positive(question, records, extra)

    async def _find(self, name: str, kind: str) -> Verdict:
        """Raises: TimeoutError while it is not known what there is."""
        if not may_be_ours(self._domain, name):
            return NotOurs()
        async with asyncio.timeout(KNOWN_SECONDS):
            if not await self._known():
                return NotOurs()
        return find_records(self._catalog, self._domain, name, kind)

    async def _follow(self, question: Question, alias: Record) -> bytes:
        """A client asks for no alias itself: it wants the end of the chain along with it."""
        chain = [alias]
        while len(chain) <= LONGEST_CHAIN:
            target = chain[-1].data.rstrip(".")
            match await self._find(target, question.kind):
                case NotOurs():
                    answer = await self._ask_for(target, question.kind)
                    return messages.followed(question, chain, answer)
                case Absent():
                    return messages.positive(question, chain, ())
                case Answer(records, _):
                    if (further := _alias(records)) is None:
                        return messages.positive(question, (*chain, *records), ())
                    chain.append(further)
        return messages.failed(question)

    async def _ask_for(self, name: str, kind: str) -> bytes | None:
        question = messages.question_for(name, kind)
        answer = await self._forwarder.ask(question, by_stream=False)
        if answer is not None and answer[2] & _IS_CUT:
            return await self._forwarder.ask(question, by_stream=True)
        return answer


def _alias(records: tuple[Record, ...]) -> Record | None:
    return next((record for record in records if record.type is RecordType.CNAME), None)
