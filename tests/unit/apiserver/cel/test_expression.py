"""Expressions of admission policies: their variables, results, budgets and questions."""

from typing import Any

import pytest

from mooring.apiserver.cel.admission import (
    MATCH_CONDITION_VARIABLES,
    POLICY_VARIABLES,
    RECORDS,
    with_variables,
)
from mooring.apiserver.cel.errors import CelError, CompileError, CostExceeded
from mooring.apiserver.cel.expression import Budget, Expression, compile_expression
from mooring.apiserver.cel.library.authorizer import AuthorizerValue, DecisionValue, Question
from mooring.apiserver.cel.types import BOOL, INT, NULL, STRING, CelType

POD = {"metadata": {"name": "web", "labels": {"app": "x"}}, "spec": {"replicas": 3}}
REQUEST = {
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "operation": "CREATE",
    "userInfo": {"username": "alice", "groups": ["system:masters"]},
}


def compiled(text: str, result: CelType | tuple[CelType, ...] = BOOL) -> Expression:
    return compile_expression(text, POLICY_VARIABLES, result, RECORDS)


def evaluate(text: str, **values: Any) -> Any:
    given = {"object": POD, "oldObject": None, "request": REQUEST, "params": None, **values}
    return compiled(text).evaluate(given, Budget(10_000))


TRUE = (
    "object.spec.replicas <= 5",
    "object.metadata.labels['app'] == 'x'",
    "oldObject == null",
    "!has(object.spec.paused)",
    "request.userInfo.groups.exists(g, g == 'system:masters')",
    "request.operation == 'CREATE' && request.kind.kind == 'Pod'",
    "!has(request.dryRun)",
    "params == null || params.most > 1",
    "object.metadata.?annotations[?'a'].orValue('none') == 'none'",
)


@pytest.mark.parametrize("text", TRUE)
def test_true(text: str) -> None:
    assert evaluate(text) is True


def test_the_variables_that_are_used_are_told() -> None:
    assert compiled("object == oldObject").variables == {"object", "oldObject"}


REFUSED = {
    "request.operations == ''": "undefined field 'operations'",
    "variables.x": "undeclared reference to 'variables' (in container '')",
    "namespaceObject.metadata.managedFields == null": "undefined field 'managedFields'",
    "'a'": "must evaluate to bool but got string",
}


@pytest.mark.parametrize(("text", "told"), REFUSED.items(), ids=REFUSED)
def test_refused(text: str, told: str) -> None:
    with pytest.raises(CompileError) as raised:
        compiled(text)
    assert told in str(raised.value)


def test_one_of_several_results() -> None:
    assert compiled("null", (STRING, NULL)).result == NULL
    with pytest.raises(CompileError) as raised:
        compiled("1", (STRING, NULL))
    assert str(raised.value) == "must evaluate to one of [string null] but got int"


def test_match_conditions_have_no_parameters() -> None:
    with pytest.raises(CompileError):
        compile_expression("params == null", MATCH_CONDITION_VARIABLES, BOOL, RECORDS)


class Lazy(dict[str, Any]):
    """Variables of a policy that are computed when they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.append(key)
        return 7


def test_own_variables_are_typed_and_may_be_lazy() -> None:
    variables, records = with_variables({"a": INT, "b": INT})
    expression = compile_expression("variables.a > 5 || variables.b > 5", variables, BOOL, records)
    lazy = Lazy()
    assert expression.evaluate({"variables": lazy}, Budget(100)) is True
    assert lazy.asked == ["a"]
    with pytest.raises(CompileError, match="undefined field 'c'"):
        compile_expression("variables.c > 5", variables, BOOL, records)


def test_errors_are_raised() -> None:
    with pytest.raises(CelError, match="no such key: paused"):
        evaluate("object.spec.paused")


def test_a_budget_is_shared() -> None:
    expression, budget = compiled("[1, 2, 3].all(x, x > 0)"), Budget(20)
    assert expression.evaluate({}, budget) is True
    assert budget.left == 4
    with pytest.raises(CostExceeded):
        expression.evaluate({}, budget)
    assert budget.left == 0


def test_questions_about_rights() -> None:
    asked: list[Question] = []

    def ask(question: Question) -> DecisionValue:
        asked.append(question)
        return DecisionValue(allowed=True, reason="because")

    text = (
        "authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments')"
        ".subresource('scale').namespace('prod').name('web').check('update').allowed()"
    )
    budget = Budget(1_000_000)
    assert compiled(text).evaluate({"authorizer": AuthorizerValue(ask)}, budget) is True
    assert asked == [
        Question(
            user="system:serviceaccount:ns:sa",
            verb="update",
            group="apps",
            resource="deployments",
            subresource="scale",
            namespace="prod",
            name="web",
        )
    ]
    assert budget.left < 650_000  # a question is dear: two fit an expression
    path = "authorizer.path('/healthz').check('get').reason() == 'because'"
    assert compiled(path).evaluate({"authorizer": AuthorizerValue(ask)}, Budget(10**6)) is True
