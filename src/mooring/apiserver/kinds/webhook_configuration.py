"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration: who is asked about writes."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.client_config import default_client_config, validate_client_config
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.match_conditions import validate_conditions
from mooring.apiserver.kinds.webhook_rules import default_rules, validate_rules
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
)
from mooring.model.names import dns_subdomain

GROUP = "admissionregistration.k8s.io"
POLICIES = ("Fail", "Ignore")
MATCHES = ("Equivalent", "Exact")
SIDE_EFFECTS = ("None", "NoneOnDryRun")
REINVOCATIONS = ("IfNeeded", "Never")
REVIEWS = ("v1", "v1beta1")
LONGEST = 30  # seconds
_LEAST_SEGMENTS = 3
_SELECTORS = ("namespaceSelector", "objectSelector")


def _defaults(doc: Doc, *, mutating: bool) -> None:
    for hook in doc.get("webhooks") or ():
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        for selector in _SELECTORS:
            hook.setdefault(selector, {})
        hook.setdefault("timeoutSeconds", 10)
        if mutating:
            hook.setdefault("reinvocationPolicy", "Never")
        default_client_config(hook.get("clientConfig") or {})
        default_rules(hook.get("rules") or ())


def _validate(doc: Doc) -> Iterable[FieldError]:
    names: set[str] = set()
    for index, hook in enumerate(doc.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        yield from _validate_hook(hook, path)
        name = hook.get("name", "")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)


def _validate_hook(hook: Doc, path: str) -> Iterable[FieldError]:
    yield from _validate_name(hook.get("name", ""), f"{path}.name")
    yield from _validate_reviews(
        hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions"
    )
    yield from validate_rules(hook.get("rules") or [], f"{path}.rules")
    for field, choices in (
        ("failurePolicy", POLICIES),
        ("matchPolicy", MATCHES),
        ("reinvocationPolicy", REINVOCATIONS),
    ):
        value = hook.get(field)
        if value is not None and value not in choices:
            yield not_supported(f"{path}.{field}", value, choices)
    effects = hook.get("sideEffects")
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(SIDE_EFFECTS)}")
    elif effects not in SIDE_EFFECTS:
        yield not_supported(f"{path}.sideEffects", effects, SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds", 1)
    if not 1 <= seconds <= LONGEST:
        text = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{path}.timeoutSeconds", seconds, text)
    for selector in _SELECTORS:
        yield from validate_label_selector(hook.get(selector) or {}, f"{path}.{selector}")
    yield from validate_client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    conditions = hook.get("matchConditions") or []
    yield from validate_conditions(conditions, f"{path}.matchConditions")


def _validate_name(name: str, path: str) -> Iterable[FieldError]:
    if not name:
        yield required(path)
        return
    for problem in dns_subdomain(name):
        yield invalid(path, name, problem)
    if len(name.split(".")) < _LEAST_SEGMENTS:
        yield invalid(
            path, name, "should be a domain with at least three segments separated by dots"
        )


def _validate_reviews(versions: list[str], path: str) -> Iterable[FieldError]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(REVIEWS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
        seen.add(version)
    if not seen & set(REVIEWS):
        yield invalid(path, versions, f"must include at least one of {', '.join(REVIEWS)}")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), len(doc.get("webhooks") or ()), age_of(doc, now)]


_kind = partial(
    Kind,
    group=GROUP,
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    columns=(NAME, Column("Webhooks", "integer"), AGE),
    row=_row,
    validate=_validate,
    generation=True,
    update_needs_version=True,
    deleted_as_status=True,
)

VALIDATING_WEBHOOKS = _kind(
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    message="admissionregistration.v1.ValidatingWebhookConfiguration",
    defaults=partial(_defaults, mutating=False),
)
MUTATING_WEBHOOKS = _kind(
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    message="admissionregistration.v1.MutatingWebhookConfiguration",
    defaults=partial(_defaults, mutating=True),
)
