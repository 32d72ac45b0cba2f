"""Asking the management APIs of storage: of each server a few at once."""

import asyncio

from mooring.plugins import rest
from mooring.plugins.turns import AT_ONCE
from tests.fakes.clock import settle


async def test_a_server_that_does_not_answer_holds_few_of_those_who_ask() -> None:
    asked: list[str] = []
    answers = asyncio.Event()

    async def ask(request: rest.Request) -> rest.Answer:
        asked.append(request.url)
        await answers.wait()
        return rest.Answer(200, {}, b"")

    few = rest.few_at_once(ask)
    hung = [rest.Request("GET", f"http://hung:8080/{number}") for number in range(3 * AT_ONCE)]
    async with asyncio.TaskGroup() as tasks:
        for request in (*hung, rest.Request("GET", "http://well:8080/")):
            tasks.create_task(few(request))
        await settle()
        assert len(asked) == AT_ONCE + 1
        assert "http://well:8080/" in asked
        answers.set()
    assert len(asked) == len(hung) + 1
