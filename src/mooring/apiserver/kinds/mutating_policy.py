"""MutatingAdmissionPolicy and its binding: patches, made by CEL expressions, of what is written.

Of Kubernetes 1.36; nothing older has them.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column
from mooring.apiserver.kinds.match_conditions import (
    Compile,
    validate_conditions,
    validate_expression,
)
from mooring.apiserver.kinds.policy_expressions import (
    PATCH_FIELDS,
    compile_condition,
    compile_mutation,
    compile_value,
)
from mooring.apiserver.kinds.policy_parts import (
    BINDING_COLUMNS,
    binding_row,
    default_binding,
    default_policy,
    param_kind_cell,
    policy_kind,
    validate_constraints,
    validate_match,
    validate_param_kind,
    validate_param_ref,
    validate_variables,
)
from mooring.apiserver.kinds.webhook_configuration import POLICIES, REINVOCATIONS
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import dns_subdomain

OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")  # nothing is left to change of what is deleted


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    has_params = "paramKind" in spec
    if spec.get("failurePolicy") not in POLICIES:
        yield not_supported(f"{path}.failurePolicy", spec.get("failurePolicy", ""), POLICIES)
    yield from validate_param_kind(spec, path)
    yield from validate_constraints(spec, path)
    yield from _validate_operations(spec.get("matchConstraints"), f"{path}.matchConstraints")
    yield from validate_conditions(
        spec.get("matchConditions") or [],
        f"{path}.matchConditions",
        partial(compile_condition, has_params=has_params),
    )
    compile = partial(compile_value, has_params=has_params)
    yield from validate_variables(spec.get("variables") or [], f"{path}.variables", compile)
    if not spec.get("mutations"):
        yield required(f"{path}.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.get("mutations") or ()):
        at = f"{path}.mutations[{index}]"
        yield from _validate_mutation(mutation, at, has_params=has_params)
    reinvocation = spec.get("reinvocationPolicy", "")
    if not reinvocation:
        yield required(f"{path}.reinvocationPolicy")
    elif reinvocation not in REINVOCATIONS:
        yield not_supported(f"{path}.reinvocationPolicy", reinvocation, REINVOCATIONS)


def _validate_operations(match: Doc | None, path: str) -> Iterable[FieldError]:
    for rule in (match or {}).get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in OPERATIONS:
                yield not_supported(f"{path}.resourceRules.operations", operation, OPERATIONS)


def _validate_mutation(mutation: Doc, path: str, *, has_params: bool) -> Iterable[FieldError]:
    patch_type = mutation.get("patchType", "")
    if not patch_type:
        yield required(f"{path}.patchType")
        return
    if patch_type not in PATCH_FIELDS:
        yield not_supported(f"{path}.patchType", patch_type, tuple(PATCH_FIELDS))
        return
    wanted = PATCH_FIELDS[patch_type]
    if wanted not in mutation:
        yield required(f"{path}.{wanted}", f"must be specified when patchType is {patch_type}")
    else:
        text = mutation[wanted].get("expression", "").strip()
        compile = partial(compile_mutation, patch_type=patch_type, has_params=has_params)
        yield from _validate_patch(text, f"{path}.{wanted}.expression", compile)
    for other in PATCH_FIELDS.values():
        if other != wanted and other in mutation:
            told = f"must not be specified when patchType is {patch_type}"
            yield invalid(f"{path}.{other}", f"{{{other}}}", told)


def _validate_patch(text: str, path: str, compile: Compile) -> Iterable[FieldError]:
    if text:
        yield from validate_expression(text, path, compile)
    else:
        yield required(path)


def _validate_binding(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    name = spec.get("policyName", "")
    if not name:
        yield required(f"{path}.policyName")
    for problem in dns_subdomain(name) if name else ():
        yield invalid(f"{path}.policyName", name, problem)
    if "paramRef" in spec:
        yield from validate_param_ref(spec["paramRef"], f"{path}.paramRef")
    if "matchResources" in spec:
        yield from validate_match(spec["matchResources"], f"{path}.matchResources")
        yield from _validate_operations(spec["matchResources"], f"{path}.matchResources")


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    mutations = len(spec.get("mutations") or ())
    return [name_of(doc), mutations, param_kind_cell(spec), age_of(doc, now)]


MUTATING_POLICY = policy_kind(
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    message="admissionregistration.v1.MutatingAdmissionPolicy",
    columns=(NAME, Column("Mutations", "integer"), Column("ParamKind"), AGE),
    row=_row,
    defaults=default_policy,
    validate=_validate,
)
MUTATING_POLICY_BINDING = policy_kind(
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    message="admissionregistration.v1.MutatingAdmissionPolicyBinding",
    columns=BINDING_COLUMNS,
    row=binding_row,
    defaults=default_binding,
    validate=_validate_binding,
)
