"""The expressions of a ValidatingAdmissionPolicy, compiled: by validation, and by who judges."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from mooring.apiserver.cel.expression import Expression, compile_expression
from mooring.apiserver.cel.types import BOOL, DYN, NULL, STRING, CelType
from mooring.model.document import Doc

REQUEST = ("object", "oldObject", "request", "namespaceObject")
"""What every expression sees; those of policies see `params` and `variables` too."""


class PolicyExpressions(msgspec.Struct, frozen=True):
    """All of a policy's, in their order."""

    conditions: tuple[tuple[str, Expression], ...]  # with their names
    variables: tuple[tuple[str, Expression], ...]
    validations: tuple[tuple[Expression, Expression | None], ...]  # with their messages
    annotations: tuple[tuple[str, Expression], ...]


def compile_policy(spec: Doc) -> PolicyExpressions:
    """Raises: CompileError; validation has refused such a policy."""
    return PolicyExpressions(
        tuple(
            (each["name"], compile_condition(each["expression"], has_params=True))
            for each in spec.get("matchConditions") or ()
        ),
        tuple(
            (each["name"], compile_value(each["expression"]))
            for each in spec.get("variables") or ()
        ),
        tuple(
            (compile_validation(each["expression"]), _message(each))
            for each in spec.get("validations") or ()
        ),
        tuple(
            (each["key"], compile_text(each["valueExpression"]))
            for each in spec.get("auditAnnotations") or ()
        ),
    )


def _message(validation: Doc) -> Expression | None:
    text = validation.get("messageExpression")
    return compile_message(text) if text else None


def compile_condition(text: str, *, has_params: bool = False) -> Expression:
    """A match condition; of a policy, it sees parameters."""
    return _compiled(text, (*REQUEST, "params") if has_params else REQUEST, (BOOL,))


def compile_validation(text: str) -> Expression:
    return _compiled(text, _ALL, (BOOL,))


def compile_message(text: str) -> Expression:
    return _compiled(text, _ALL, (STRING,))


def compile_text(text: str) -> Expression:
    """Of an audit annotation, which may be left out by null."""
    return _compiled(text, _ALL, (STRING, NULL))


def compile_value(text: str) -> Expression:
    return _compiled(text, _ALL, (DYN,))


_ALL = (*REQUEST, "params", "variables")


@lru_cache(maxsize=1024)
def _compiled(text: str, names: tuple[str, ...], result: tuple[CelType, ...]) -> Expression:
    variables: Mapping[str, CelType] = dict.fromkeys(names, DYN)
    return compile_expression(text, variables, result)
