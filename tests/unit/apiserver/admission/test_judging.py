"""Judgements that take long leave the loop to others."""

import asyncio
import threading
from functools import partial

import pytest

from mooring.apiserver.admission.judging import RETRY_AFTER, Judging, on_loop
from mooring.apiserver.cel.expression import Budget, compile_expression
from mooring.apiserver.cel.library.authorizer import (
    AUTHORIZER,
    AuthorizerValue,
    DecisionValue,
    Question,
)
from mooring.apiserver.cel.rules import CompiledRules, compile_rules
from mooring.apiserver.cel.types import BOOL, DYN
from mooring.apiserver.limits.fair_line import LineLimits
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.verbs.at_once import WouldWait
from mooring.apiserver.verbs.at_once import at_once as decided_at_once
from mooring.errors import BadRequest, TooManyRequests

ITEMS = {
    "type": "array",
    "maxItems": 100,
    "items": {"type": "integer"},
    "x-kubernetes-validations": [
        {"rule": "self.all(a, self.all(b, self.all(c, a + b + c != -1)))", "message": "no"}
    ],
}


@pytest.fixture(scope="module")
def rules() -> CompiledRules:
    compiled = compile_rules(node_of({"type": "object", "properties": {"items": ITEMS}}), "")
    assert isinstance(compiled, CompiledRules)
    return compiled


@pytest.mark.parametrize(
    ("size", "is_here"), [(3, True), (30, False)], ids=["little is done at once", "much is not"]
)
async def test_where_rules_are_evaluated(rules: CompiledRules, size: int, *, is_here: bool) -> None:
    where: list[threading.Thread] = []

    def judgement() -> None:
        findings = rules.check({"items": [1] * size})
        assert findings.errors == []
        where.append(threading.current_thread())

    await Judging().judge("namespace a", judgement)
    assert [each is threading.current_thread() for each in where] == [is_here]


async def test_what_a_thread_refuses_is_refused(rules: CompiledRules) -> None:
    def judgement() -> None:
        rules.check({"items": [1] * 30})
        raise BadRequest("no")

    with pytest.raises(BadRequest, match="no"):
        await Judging().judge("namespace a", judgement)


async def test_only_one_shares_the_interpreter_with_everybody(rules: CompiledRules) -> None:
    own, lock = threading.current_thread(), threading.Lock()
    running = most = 0

    def judgement() -> None:
        nonlocal running, most
        if threading.current_thread() is own:
            rules.check({"items": [1] * 30})
        with lock:
            running += 1
            most = max(most, running)
        rules.check({"items": [1] * 30})
        with lock:
            running -= 1

    judging = Judging()
    await asyncio.gather(*(judging.judge("namespace a", judgement) for _ in range(5)))
    assert most == 1


async def test_of_many_that_take_long_one_is_tried_in_a_round_of_the_loop(
    rules: CompiledRules,
) -> None:
    own, loop, rounds = threading.current_thread(), asyncio.get_running_loop(), 0
    tried_in: list[int] = []

    def count() -> None:
        nonlocal rounds
        rounds += 1
        if len(tried_in) < 5:
            loop.call_soon(count)

    def judgement() -> None:
        if threading.current_thread() is own:
            tried_in.append(rounds)
        rules.check({"items": [1] * 30})

    loop.call_soon(count)
    judging = Judging()
    await asyncio.gather(*(judging.judge("namespace a", judgement) for _ in range(5)))
    assert len(set(tried_in)) == 5


async def test_one_namespace_waits_for_one_of_another_at_most(rules: CompiledRules) -> None:
    own, served = threading.current_thread(), list[str]()

    def judgement(origin: str) -> None:
        rules.check({"items": [1] * 30})
        if threading.current_thread() is not own:
            served.append(origin)

    judging = Judging()
    origins = [*("loud" for _ in range(5)), "calm"]
    await asyncio.gather(*(judging.judge(each, partial(judgement, each)) for each in origins))
    assert served.index("calm") <= 2


async def test_more_than_may_wait_are_asked_to_come_again(rules: CompiledRules) -> None:
    judging = Judging(LineLimits(most_of_one=1, most=2, seconds=60.0))
    long = partial(rules.check, {"items": [1] * 30})
    answers = await asyncio.gather(
        *(judging.judge("namespace a", long) for _ in range(3)), return_exceptions=True
    )
    (refused,) = (each for each in answers if isinstance(each, BaseException))
    assert isinstance(refused, TooManyRequests)
    assert str(refused) == (
        "Too many requests whose expressions take long: 1 of namespace a wait already"
    )
    assert refused.retry_after == RETRY_AFTER


def test_without_haste_all_is_evaluated_here(rules: CompiledRules) -> None:
    assert rules.check({"items": [1] * 30}).errors == []


async def test_a_write_that_was_to_be_decided_at_once_begins_no_thread(
    rules: CompiledRules,
) -> None:
    calls: list[threading.Thread] = []

    def judgement() -> None:
        calls.append(threading.current_thread())
        rules.check({"items": [1] * 30})

    judging = Judging()
    with pytest.raises(WouldWait):
        decided_at_once(judging.judge("namespace a", judgement))
    await judging.judge("namespace a", judgement)  # there is room for it
    assert [each is threading.current_thread() for each in calls] == [True, True, False]


LOOP = "items.all(a, items.all(b, items.all(c, a + b + c != -1)))"
RIGHT = "authorizer.path('/x').check('get').allowed()"
EXPRESSIONS = {
    "one that costs little is evaluated here": ([LOOP], 3, True),
    "one that costs much is not": ([LOOP], 30, False),
    "many count together": ([LOOP] * 6, 15, False),
    "rights are looked up here, whatever their units are": ([RIGHT] * 5, 0, True),
    "who asks about rights may not loop long": ([f"{RIGHT} && {LOOP}"], 30, False),
}


@pytest.mark.parametrize(("texts", "size", "is_here"), EXPRESSIONS.values(), ids=EXPRESSIONS)
async def test_where_expressions_of_a_policy_are_evaluated(
    texts: list[str], size: int, *, is_here: bool
) -> None:
    asked_from: list[threading.Thread] = []
    own = threading.current_thread()

    @on_loop
    def ask(_: Question) -> DecisionValue:
        asked_from.append(threading.current_thread())
        return DecisionValue(allowed=True)

    variables = {"items": DYN, "authorizer": AUTHORIZER}
    expressions = [compile_expression(text, variables, BOOL) for text in texts]
    values = {"items": [1] * size, "authorizer": AuthorizerValue(ask)}

    def judgement() -> threading.Thread:
        budget = Budget(10_000_000)
        assert all(expression.evaluate(values, budget) for expression in expressions)
        return threading.current_thread()

    where = await Judging().judge("namespace a", judgement)
    assert (where is own) == is_here
    assert set(asked_from) <= {own}
