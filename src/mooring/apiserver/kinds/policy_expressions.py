"""The expressions of a ValidatingAdmissionPolicy, compiled: by validation, and by who judges."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from mooring.apiserver.cel.admission import MATCH_CONDITION_VARIABLES, RECORDS
from mooring.apiserver.cel.expression import Expression, compile_expression
from mooring.apiserver.cel.types import BOOL, DYN, NULL, STRING, CelType
from mooring.model.document import Doc

_OF_REQUEST: Mapping[str, CelType] = {**MATCH_CONDITION_VARIABLES, "namespaceObject": DYN}
_WITH_PARAMS: Mapping[str, CelType] = {**_OF_REQUEST, "params": DYN}
_ALL: Mapping[str, CelType] = {**_WITH_PARAMS, "variables": DYN}


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
    return _compiled(text, "params" if has_params else "", (BOOL,))


def compile_validation(text: str) -> Expression:
    return _compiled(text, "variables", (BOOL,))


def compile_message(text: str) -> Expression:
    return _compiled(text, "variables", (STRING,))


def compile_text(text: str) -> Expression:
    """Of an audit annotation, which may be left out by null."""
    return _compiled(text, "variables", (STRING, NULL))


def compile_value(text: str) -> Expression:
    return _compiled(text, "variables", (DYN,))


_SEEN: Mapping[str, Mapping[str, CelType]] = {
    "": _OF_REQUEST,
    "params": _WITH_PARAMS,
    "variables": _ALL,
}


@lru_cache(maxsize=1024)
def _compiled(text: str, seen: str, result: tuple[CelType, ...]) -> Expression:
    return compile_expression(text, _SEEN[seen], result, RECORDS)
