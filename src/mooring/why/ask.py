"""One question from the command line: read, explain, print; once or whenever something changes."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from mooring.client.connect import connect_to
from mooring.client.endpoint import Endpoint
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import Clock, RealClock
from mooring.errors import UsageError
from mooring.why.answer import EXIT_CODES, Answer, Verdict
from mooring.why.explain import explain
from mooring.why.kinds import parse_subject
from mooring.why.read import Source, read_world
from mooring.why.told import told

MOST_AT_ONCE = 4  # requests: each has a connection, of which opening it is the larger part
Say = Callable[[str], None]


class Question(msgspec.Struct, frozen=True):
    subject: str
    namespace: str = ""
    kubeconfig: Path | None = None
    is_json: bool = False
    names_all: bool = False
    watches: bool = False
    all_stuck: bool = False


def ask(question: Question, say: Say) -> int:
    """The exit code. Raises: UsageError, ApiError, ConnectionLost."""
    if bool(question.subject) == question.all_stuck:
        raise UsageError("name what to explain, or --all-stuck: mooring why pvc/data")
    if question.all_stuck and question.watches:
        raise UsageError("--watch is for one object: mooring why pvc/data --watch")
    clock = RealClock()
    endpoint = find_endpoint(question.kubeconfig, Surroundings(os.environ, clock))
    return asyncio.run(_ask(question, endpoint, clock, say))


async def _ask(question: Question, endpoint: Endpoint, clock: Clock, say: Say) -> int:
    async with connect_to(endpoint, clock, MOST_AT_ONCE) as source:
        if question.all_stuck:
            return await _all_stuck(question, source, clock, say)
        subject = parse_subject(question.subject, question.namespace or endpoint.namespace)
        if question.watches:
            from mooring.why.watching import changes

            answer = None
            async with changes(endpoint, clock, subject) as changed:
                async for _ in changed:
                    newer = explain(await read_world(source, subject), subject, clock.now())
                    if answer is None or _lasting(newer) != _lasting(answer):
                        _print(question, newer, clock, say)
                    answer = newer
                    if answer.verdict is Verdict.FINE:
                        break
            return EXIT_CODES[Verdict.UNKNOWN if answer is None else answer.verdict]
        answer = explain(await read_world(source, subject), subject, clock.now())
        _print(question, answer, clock, say)
        return EXIT_CODES[answer.verdict]


def _lasting(answer: Answer) -> object:
    """What makes one answer differ from another."""
    return answer.verdict, answer.summary, [(link.step, link.state) for link in answer.links]


async def _all_stuck(question: Question, source: Source, clock: Clock, say: Say) -> int:
    from mooring.why.stuck import MOST_SECONDS, Untold, find_stuck, read_everything

    world = await read_everything(source, question.namespace)
    due = clock.monotonic() + MOST_SECONDS
    found = list(
        find_stuck(world, question.namespace, clock.now(), lambda: clock.monotonic() > due)
    )
    answers = [each for each in found if isinstance(each, Answer)]
    untold = sum(each.count for each in found if isinstance(each, Untold))
    if question.is_json:
        say(msgspec.json.encode(answers).decode())
    elif not answers:
        say("nothing waits")
    for answer in () if question.is_json else answers:
        _print(question, answer, clock, say)
        say("")
    if untold:
        sys.stderr.write(
            f"mooring: {untold} more objects were not looked at: heal these first, or ask of one "
            "namespace with -n, or of one object\n"
        )
    return max((EXIT_CODES[answer.verdict] for answer in answers), default=0)


def _print(question: Question, answer: Answer, clock: Clock, say: Say) -> None:
    if question.is_json:
        say(msgspec.json.encode(answer).decode())
        return
    _say_all(told(answer, clock.now(), names_all=question.names_all), say)


def _say_all(lines: Iterable[str], say: Say) -> None:
    say("\n".join(lines))
