"""What policies that refuse and policies that change have in common: which writes they are about,
parameters, variables."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.match_conditions import Compile, validate_expression
from mooring.apiserver.kinds.webhook_configuration import GROUP, MATCHES
from mooring.apiserver.kinds.webhook_rules import default_rules, validate_rules
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required

NOT_FOUND_ACTIONS = ("Allow", "Deny")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RULES = ("resourceRules", "excludeResourceRules")
_UNSET = "<unset>"

BINDING_COLUMNS = (NAME, Column("PolicyName"), Column("ParamRef"), AGE)

policy_kind = partial(
    Kind,
    group=GROUP,
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    generation=True,
    update_needs_version=True,
    deleted_as_status=True,
)
"""Begins the kind of a policy or of a binding."""


def default_policy(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        default_match(spec["matchConstraints"])


def default_binding(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    if "matchResources" in spec:
        default_match(spec["matchResources"])


def default_match(match: Doc) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    for selector in ("namespaceSelector", "objectSelector"):
        match.setdefault(selector, {})
    for rules in _RULES:
        default_rules(match.get(rules) or ())


def validate_constraints(spec: Doc, path: str) -> Iterable[FieldError]:
    """Of a policy, which must name writes."""
    if "matchConstraints" not in spec:
        yield required(f"{path}.matchConstraints")
        return
    match = spec["matchConstraints"]
    yield from validate_match(match, f"{path}.matchConstraints")
    if not match.get("resourceRules"):
        yield required(f"{path}.matchConstraints.resourceRules")


def validate_match(match: Doc, path: str) -> Iterable[FieldError]:
    for selector in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(match.get(selector) or {}, f"{path}.{selector}")
    for rules in _RULES:
        yield from validate_rules(match.get(rules) or [], f"{path}.{rules}")
    policy = match.get("matchPolicy")
    if policy is not None and policy not in MATCHES:
        yield not_supported(f"{path}.matchPolicy", policy, MATCHES)


def validate_param_kind(spec: Doc, path: str) -> Iterable[FieldError]:
    if "paramKind" in spec:
        for field in ("apiVersion", "kind"):
            if not spec["paramKind"].get(field):
                yield required(f"{path}.paramKind.{field}")


def validate_variables(variables: list[Doc], path: str, compile: Compile) -> Iterable[FieldError]:
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
        yield from validate_expression(text, f"{at}.expression", compile)


def validate_param_ref(reference: Doc, path: str) -> Iterable[FieldError]:
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


def param_kind_cell(spec: Doc) -> str:
    kind = spec.get("paramKind")
    return f"{kind['apiVersion']}/{kind['kind']}" if kind else _UNSET


def binding_row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    return [name_of(doc), spec["policyName"], _param_ref_cell(spec), age_of(doc, now)]


def _param_ref_cell(spec: Doc) -> str:
    reference = spec.get("paramRef")
    if not reference:
        return _UNSET
    place = reference.get("namespace") or "*"
    return f"{place}/{reference['name']}" if reference.get("name") else f"{place}/*"
