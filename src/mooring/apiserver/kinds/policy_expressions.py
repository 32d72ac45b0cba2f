"""The expressions of admission policies, compiled: by validation, and by who judges or changes."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from mooring.apiserver.cel import structs
from mooring.apiserver.cel.admission import MATCH_CONDITION_VARIABLES, RECORDS
from mooring.apiserver.cel.expression import Expression, compile_expression
from mooring.apiserver.cel.types import BOOL, DYN, NULL, STRING, CelType
from mooring.model.document import Doc

_OF_REQUEST: Mapping[str, CelType] = {**MATCH_CONDITION_VARIABLES, "namespaceObject": DYN}
_WITH_PARAMS: Mapping[str, CelType] = {**_OF_REQUEST, "params": DYN}
_ALL: Mapping[str, CelType] = {**_WITH_PARAMS, "variables": DYN}


Named = tuple[tuple[str, Expression], ...]

APPLY_CONFIGURATION, JSON_PATCH = "ApplyConfiguration", "JSONPatch"
PATCH_FIELDS: Mapping[str, str] = {
    APPLY_CONFIGURATION: "applyConfiguration",
    JSON_PATCH: "jsonPatch",
}
"""By the type of a patch, the field that holds its expression."""
_PATCH_TYPES: Mapping[str, CelType] = {
    APPLY_CONFIGURATION: structs.OBJECT,
    JSON_PATCH: structs.PATCHES,
}


class PolicyExpressions(msgspec.Struct, frozen=True):
    """All of a policy's, in their order."""

    conditions: Named
    variables: Named
    validations: tuple[tuple[Expression, Expression | None], ...]  # with their messages
    annotations: tuple[tuple[str, Expression], ...]


class MutationExpressions(msgspec.Struct, frozen=True):
    """All of a MutatingAdmissionPolicy's, in their order."""

    conditions: Named
    variables: Named
    mutations: tuple[tuple[str, Expression], ...]  # with the types of their patches


def compile_policy(spec: Doc) -> PolicyExpressions:
    """Raises: CompileError; validation has refused such a policy."""
    return PolicyExpressions(
        _conditions(spec, has_params=True),
        _variables(spec, has_params=True),
        tuple(
            (compile_validation(each["expression"]), _message(each))
            for each in spec.get("validations") or ()
        ),
        tuple(
            (each["key"], compile_text(each["valueExpression"]))
            for each in spec.get("auditAnnotations") or ()
        ),
    )


def compile_mutations(spec: Doc) -> MutationExpressions:
    """Raises: CompileError; validation has refused such a policy."""
    has_params = "paramKind" in spec
    return MutationExpressions(
        _conditions(spec, has_params=has_params),
        _variables(spec, has_params=has_params),
        tuple(_mutation(each, has_params=has_params) for each in spec["mutations"]),
    )


def _conditions(spec: Doc, *, has_params: bool) -> Named:
    return tuple(
        (each["name"], compile_condition(each["expression"], has_params=has_params))
        for each in spec.get("matchConditions") or ()
    )


def _variables(spec: Doc, *, has_params: bool) -> Named:
    return tuple(
        (each["name"], compile_value(each["expression"], has_params=has_params))
        for each in spec.get("variables") or ()
    )


def _mutation(mutation: Doc, *, has_params: bool) -> tuple[str, Expression]:
    patch_type = mutation["patchType"]
    text = mutation[PATCH_FIELDS[patch_type]]["expression"].strip()
    return patch_type, compile_mutation(text, patch_type=patch_type, has_params=has_params)


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


def compile_value(text: str, *, has_params: bool = True) -> Expression:
    return _compiled(text, "variables" if has_params else "own variables", (DYN,))


def compile_mutation(text: str, *, patch_type: str, has_params: bool) -> Expression:
    seen = "variables" if has_params else "own variables"
    return _compiled(text, seen, (_PATCH_TYPES[patch_type],), makes_patches=True)


_SEEN: Mapping[str, Mapping[str, CelType]] = {
    "": _OF_REQUEST,
    "params": _WITH_PARAMS,
    "variables": _ALL,
    "own variables": {**_OF_REQUEST, "variables": DYN},
}


@lru_cache(maxsize=1024)
def _compiled(
    text: str, seen: str, result: tuple[CelType, ...], *, makes_patches: bool = False
) -> Expression:
    return compile_expression(text, _SEEN[seen], result, RECORDS, makes_patches=makes_patches)
