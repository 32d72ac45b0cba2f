"""One policy over one write: which of its validations fail, and what is said and recorded. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.expression import Budget, Expression
from mooring.apiserver.kinds.policy_expressions import PolicyExpressions
from mooring.apiserver.policies.variables import OwnVariables
from mooring.model.document import Doc

MOST_COST = 10_000_000  # of all expressions of one policy, for one write
MOST_MESSAGE = 5 * 1024  # bytes of what an expression may say


class Failure(msgspec.Struct, frozen=True):
    message: str
    reason: str = ""


class Annotation(msgspec.Struct, frozen=True):
    """What is to be recorded of a write."""

    key: str
    value: str


E = TypeVar("E")


class Policy(msgspec.Struct, Generic[E], frozen=True):
    """A policy, ready to be asked."""

    name: str
    spec: Doc
    expressions: E

    @property
    def fails_closed(self) -> bool:
        return self.spec.get("failurePolicy") != "Ignore"


def judge(
    policy: Policy[PolicyExpressions], values: Mapping[str, Any], budget: Budget
) -> Iterator[Failure | Annotation]:
    """What a write is refused for, and what is recorded of it. `values` has the parameters too;
    `budget` is of all looks at this write."""
    try:
        if not holds_for(policy.expressions.conditions, values, budget):
            return
    except CelError as error:
        if policy.fails_closed:
            yield Failure(f"match conditions cannot be evaluated: {error}")
        return
    own = OwnVariables(policy.expressions.variables, values, budget)
    seen = {**values, "variables": own}
    pairs = zip(policy.spec.get("validations") or (), policy.expressions.validations, strict=True)
    for written, (expression, message) in pairs:
        try:
            is_kept = expression.evaluate(seen, budget) is True
        except CelError as error:
            if policy.fails_closed:
                told = in_error(expression.text, error)
                yield Failure(told, written.get("reason", ""))
            continue
        if not is_kept:
            told = _said(message, seen, budget) or written.get("message", "").strip()
            told = told or f"failed expression: {expression.text.strip()}"
            yield Failure(told, written.get("reason", ""))
    yield from _annotations(policy, seen, budget)


def _annotations(
    policy: Policy[PolicyExpressions], values: Mapping[str, Any], budget: Budget
) -> Iterator[Failure | Annotation]:
    for key, expression in policy.expressions.annotations:
        try:
            value = expression.evaluate(values, budget)
        except CelError as error:
            if policy.fails_closed:
                yield Failure(in_error(expression.text, error))
            continue
        if isinstance(value, str):
            if text := value.strip():
                yield Annotation(key, text)
        elif value is not None:
            yield Failure(f"valueExpression '{expression.text}' must result in a string or null")


class ConditionFailed(CelError):
    """A match condition that cannot be evaluated."""

    def __init__(self, name: str, expression: str, error: CelError) -> None:
        super().__init__(f"{name}: {error}")
        self.told = in_error(expression, error)


def in_error(expression: str, error: CelError) -> str:
    return f"expression '{expression}' resulted in error: {error}"


def holds_for(
    conditions: tuple[tuple[str, Expression], ...], values: Mapping[str, Any], budget: Budget
) -> bool:
    """Whether all match conditions hold; one that does not counts more than errors of others.

    Raises: ConditionFailed.
    """
    failed: ConditionFailed | None = None
    for name, condition in conditions:
        try:
            if condition.evaluate(values, budget) is not True:
                return False
        except CelError as error:
            failed = failed or ConditionFailed(name, condition.text, error)
    if failed is not None:
        raise failed
    return True


def _said(message: Expression | None, values: Mapping[str, Any], budget: Budget) -> str:
    """What a messageExpression says, if it is of any use."""
    if message is None:
        return ""
    try:
        text = message.evaluate(values, budget)
    except CelError:
        return ""
    if not isinstance(text, str) or "\n" in text or len(text.encode()) > MOST_MESSAGE:
        return ""
    return text.strip()
