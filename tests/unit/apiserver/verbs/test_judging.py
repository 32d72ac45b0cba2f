"""Judgements that take long leave the loop to others."""

import asyncio
import threading

import pytest

from mooring.apiserver.cel.rules import CompiledRules, compile_rules
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.verbs.judging import MOST_LONG, Judging
from mooring.errors import BadRequest

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

    await Judging().judge(judgement)
    assert [each is threading.current_thread() for each in where] == [is_here]


async def test_what_a_thread_refuses_is_refused(rules: CompiledRules) -> None:
    def judgement() -> None:
        rules.check({"items": [1] * 30})
        raise BadRequest("no")

    with pytest.raises(BadRequest, match="no"):
        await Judging().judge(judgement)


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
    await asyncio.gather(*(judging.judge(judgement) for _ in range(5)))
    assert 0 < most <= MOST_LONG


def test_without_haste_all_is_evaluated_here(rules: CompiledRules) -> None:
    assert rules.check({"items": [1] * 30}).errors == []
