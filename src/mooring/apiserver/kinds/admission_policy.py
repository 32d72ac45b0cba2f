"""ValidatingAdmissionPolicy and its binding: CEL expressions that writes must satisfy."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.custom_rules import drop_status
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.match_conditions import validate_conditions, validate_expression
from mooring.apiserver.kinds.policy_expressions import (
    compile_condition,
    compile_message,
    compile_text,
    compile_validation,
    compile_value,
)
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.webhook_configuration import GROUP, MATCHES, POLICIES
from mooring.apiserver.kinds.webhook_rules import default_rules, validate_rules
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required
from mooring.model.names import qualified_name

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
ACTIONS = ("Audit", "Deny", "Warn")
NOT_FOUND_ACTIONS = ("Allow", "Deny")
MOST_ANNOTATIONS = 20
MOST_VALUE_EXPRESSION = 5 * 1024  # bytes
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RULES = ("resourceRules", "excludeResourceRules")
_UNSET = "<unset>"


def _default_match(match: Doc) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    for selector in ("namespaceSelector", "objectSelector"):
        match.setdefault(selector, {})
    for rules in _RULES:
        default_rules(match.get(rules) or ())


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        _default_match(spec["matchConstraints"])


def _binding_defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    if "matchResources" in spec:
        _default_match(spec["matchResources"])


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    if "matchConstraints" not in spec:
        yield required(f"{path}.matchConstraints")
    else:
        match = spec["matchConstraints"]
        yield from _validate_match(match, f"{path}.matchConstraints")
        if not match.get("resourceRules"):
            yield required(f"{path}.matchConstraints.resourceRules")
    if "paramKind" in spec:
        for field in ("apiVersion", "kind"):
            if not spec["paramKind"].get(field):
                yield required(f"{path}.paramKind.{field}")
    if spec.get("failurePolicy") not in POLICIES:
        yield not_supported(f"{path}.failurePolicy", spec.get("failurePolicy", ""), POLICIES)
    yield from validate_conditions(
        spec.get("matchConditions") or [],
        f"{path}.matchConditions",
        partial(compile_condition, has_params=True),
    )
    yield from _validate_variables(spec.get("variables") or [], f"{path}.variables")
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


def _validate_variables(variables: list[Doc], path: str) -> Iterable[FieldError]:
    names: set[str] = set()
    for index, variable in enumerate(variables):
        at, name = f"{path}[{index}]", variable.get("name", "")
        if not name:
            yield required(f"{at}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            yield invalid(f"{at}.name", name, "name is not a valid CEL identifier")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        text = variable.get("expression", "")
        yield from validate_expression(text, f"{at}.expression", compile_value)


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


def _validate_match(match: Doc, path: str) -> Iterable[FieldError]:
    for selector in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(match.get(selector) or {}, f"{path}.{selector}")
    for rules in _RULES:
        yield from validate_rules(match.get(rules) or [], f"{path}.{rules}")
    policy = match.get("matchPolicy")
    if policy is not None and policy not in MATCHES:
        yield not_supported(f"{path}.matchPolicy", policy, MATCHES)


def _validate_binding(doc: Doc) -> Iterable[FieldError]:
    spec, path = doc["spec"], "spec"
    if not spec.get("policyName"):
        yield required(f"{path}.policyName")
    if "matchResources" in spec:
        yield from _validate_match(spec["matchResources"], f"{path}.matchResources")
    yield from _validate_actions(spec.get("validationActions") or [], f"{path}.validationActions")
    if "paramRef" in spec:
        yield from _validate_param_ref(spec["paramRef"], f"{path}.paramRef")


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


def _validate_param_ref(reference: Doc, path: str) -> Iterable[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name and selector is not None:
        text = "name and selector are mutually exclusive"
        yield FieldError(f"{path}.name", "FieldValueForbidden", f"Forbidden: {text}")
    elif not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    if selector is not None:
        yield from validate_label_selector(selector, f"{path}.selector")
    action = reference.get("parameterNotFoundAction")
    if action is None:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in NOT_FOUND_ACTIONS:
        yield not_supported(f"{path}.parameterNotFoundAction", action, NOT_FOUND_ACTIONS)


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    kind = spec.get("paramKind")
    shown = f"{kind['apiVersion']}/{kind['kind']}" if kind else _UNSET
    return [name_of(doc), len(spec.get("validations") or ()), shown, age_of(doc, now)]


def _binding_row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    reference = spec.get("paramRef")
    shown = _UNSET
    if reference:
        place = reference.get("namespace") or "*"
        shown = f"{place}/{reference['name']}" if reference.get("name") else f"{place}/*"
    return [name_of(doc), spec["policyName"], shown, age_of(doc, now)]


_kind = partial(
    Kind,
    group=GROUP,
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    generation=True,
    update_needs_version=True,
    deleted_as_status=True,
)

ADMISSION_POLICY = _kind(
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    message="admissionregistration.v1.ValidatingAdmissionPolicy",
    status=True,
    columns=(NAME, Column("Validations", "integer"), Column("ParamKind"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    prepare_create=drop_status,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
)
POLICY_BINDING = _kind(
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    message="admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    columns=(NAME, Column("PolicyName"), Column("ParamRef"), AGE),
    row=_binding_row,
    defaults=_binding_defaults,
    validate=_validate_binding,
)
