"""ValidatingAdmissionPolicy and its binding: CEL expressions that writes must satisfy."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column
from mooring.apiserver.kinds.custom_rules import drop_status
from mooring.apiserver.kinds.match_conditions import validate_conditions, validate_expression
from mooring.apiserver.kinds.policy_expressions import (
    compile_condition,
    compile_message,
    compile_text,
    compile_validation,
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
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.webhook_configuration import POLICIES
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required
from mooring.model.names import qualified_name

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
ACTIONS = ("Audit", "Deny", "Warn")
MOST_ANNOTATIONS = 20
MOST_VALUE_EXPRESSION = 5 * 1024  # bytes


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    yield from validate_constraints(spec, path)
    yield from validate_param_kind(spec, path)
    if spec.get("failurePolicy") not in POLICIES:
        yield not_supported(f"{path}.failurePolicy", spec.get("failurePolicy", ""), POLICIES)
    yield from validate_conditions(
        spec.get("matchConditions") or [],
        f"{path}.matchConditions",
        partial(compile_condition, has_params=True),
    )
    yield from validate_variables(spec.get("variables") or [], f"{path}.variables", compile_value)
    validations = spec.get("validations") or []
    annotations = spec.get("auditAnnotations") or []
    if not validations and not annotations:
        text = "validations or auditAnnotations must contain at least one item"
        yield required(f"{path}.validations", text)
        yield required(f"{path}.auditAnnotations", text)
    for index, validation in enumerate(validations):
        yield from _validate_validation(validation, f"{path}.validations[{index}]")
    name = doc["metadata"].get("name", "")
    yield from _validate_annotations(annotations, name, f"{path}.auditAnnotations")


def _validate_validation(validation: Doc, path: str) -> Iterable[FieldError]:
    text = validation.get("expression", "")
    yield from validate_expression(text, f"{path}.expression", compile_validation)
    message = validation.get("message", "")
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid(f"{path}.message", message, "message must not contain line breaks")
    elif "\n" in text.strip() and not message:
        problem = "message must be specified if expression contains line breaks"
        yield required(f"{path}.message", problem)
    if told := validation.get("messageExpression"):
        yield from validate_expression(told, f"{path}.messageExpression", compile_message)
    reason = validation.get("reason")
    if reason is not None and reason not in REASONS:
        yield not_supported(f"{path}.reason", reason, REASONS)


def _validate_annotations(annotations: list[Doc], policy: str, path: str) -> Iterable[FieldError]:
    """They are recorded as `<name of the policy>/<key>`."""
    if len(annotations) > MOST_ANNOTATIONS:
        text = f"must not have more than {MOST_ANNOTATIONS} auditAnnotations"
        yield invalid(path, annotations, text)
        return
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        at, key = f"{path}[{index}]", annotation.get("key", "")
        for problem in qualified_name(f"{policy}/{key}"):
            yield invalid(f"{at}.key", f"{policy}/{key}", problem)
        text = annotation.get("valueExpression", "")
        if len(text.strip().encode()) > MOST_VALUE_EXPRESSION:
            told = f"must not exceed {MOST_VALUE_EXPRESSION} bytes in length"
            yield required(f"{at}.valueExpression", told)
        else:
            yield from validate_expression(text, f"{at}.valueExpression", compile_text)
        if key in keys:
            yield duplicate(f"{at}.key", key)
        keys.add(key)


def _validate_binding(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    if not spec.get("policyName"):
        yield required(f"{path}.policyName")
    if "matchResources" in spec:
        yield from validate_match(spec["matchResources"], f"{path}.matchResources")
    yield from _validate_actions(spec.get("validationActions") or [], f"{path}.validationActions")
    if "paramRef" in spec:
        yield from validate_param_ref(spec["paramRef"], f"{path}.paramRef")


def _validate_actions(actions: list[str], path: str) -> Iterable[FieldError]:
    if not actions:
        yield required(path, "at least one validation action is required")
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(f"{path}[{index}]", action, ACTIONS)
        if action in seen:
            yield duplicate(f"{path}[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        text = "must not contain both Deny and Warn (repeating the same validation failure "
        yield invalid(path, actions, f"{text}information is unnecessary)")


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    validations = len(spec.get("validations") or ())
    return [name_of(doc), validations, param_kind_cell(spec), age_of(doc, now)]


ADMISSION_POLICY = policy_kind(
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    message="admissionregistration.v1.ValidatingAdmissionPolicy",
    status=True,
    columns=(NAME, Column("Validations", "integer"), Column("ParamKind"), AGE),
    row=_row,
    defaults=default_policy,
    validate=_validate,
    prepare_create=drop_status,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
)
POLICY_BINDING = policy_kind(
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    message="admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    columns=BINDING_COLUMNS,
    row=binding_row,
    defaults=default_binding,
    validate=_validate_binding,
)
