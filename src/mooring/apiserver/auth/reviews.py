"""Answers to SelfSubjectReview, SelfSubjectAccessReview, SubjectAccessReview and TokenReview.

Each takes the posted document and returns the one to answer with (201). Nothing is stored.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from mooring.apiserver.auth import user as users
from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.authenticate import Authenticator
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.roles import AUTHENTICATION, AUTHORIZATION
from mooring.apiserver.auth.service_account_tokens import Refused
from mooring.apiserver.auth.user import User
from mooring.apiserver.request.refusals import invalid_as
from mooring.errors import BadRequest
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.selector import escape_field

_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_NOT_BOTH = "cannot be specified in combination with resourceAttributes"
_UNREADABLE = "spec.resourceAttributes.fieldSelector {} due to parse error"


def self_subject_access_review(document: Doc, user: User, authorizer: Authorizer) -> Doc:
    spec = document.get("spec") or {}
    _refuse(
        document, [*_attribute_complaints(spec), *_metadata_complaints(document, "must be empty")]
    )
    return _decided(document, user, authorizer)


def subject_access_review(document: Doc, authorizer: Authorizer) -> Doc:
    spec = document.get("spec") or {}
    _refuse(
        document,
        [
            *_attribute_complaints(spec, _subject_complaints(spec)),
            *_metadata_complaints(document, "must be empty"),
        ],
    )
    return _decided(document, _subject(spec), authorizer)


def local_subject_access_review(document: Doc, namespace: str, authorizer: Authorizer) -> Doc:
    """`namespace` is the one in the URL; the document's own must agree with it."""
    document = document | {"metadata": {"namespace": namespace} | (document.get("metadata") or {})}
    spec = document.get("spec") or {}
    _refuse(
        document,
        [
            *_attribute_complaints(spec, _subject_complaints(spec)),
            *_metadata_complaints(document, "must be empty except for namespace"),
            *_locality_complaints(spec, document["metadata"].get("namespace") or ""),
        ],
    )
    if document["metadata"].get("namespace") != namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return _decided(document, _subject(spec), authorizer)


def self_subject_rules_review(document: Doc, user: User, authorizer: Authorizer) -> Doc:
    namespace = (document.get("spec") or {}).get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    status: Doc = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    for rule in authorizer.rules_for(user, namespace):
        verbs = list(rule.verbs)
        if rule.resources:
            entry: Doc = {
                "verbs": verbs,
                "apiGroups": list(rule.groups),
                "resources": list(rule.resources),
            }
            if rule.names:
                entry["resourceNames"] = list(rule.names)
            status["resourceRules"].append(entry)
        if rule.paths:
            entry = {"verbs": verbs, "nonResourceURLs": list(rule.paths)}
            status["nonResourceRules"].append(entry)
    if users.find_node(user) is not None:
        status["incomplete"] = True
        status["evaluationError"] = "node authorizer does not support user rule resolution"
    return {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": f"{AUTHORIZATION}/v1",
        "metadata": {},
        "spec": {},
        "status": status,
    }


def self_subject_review(user: User, now: str) -> Doc:
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": f"{AUTHENTICATION}/v1",
        "metadata": {"creationTimestamp": now},
        "status": {"userInfo": users.to_document(user)},
    }


def token_review(document: Doc, authenticator: Authenticator) -> Doc:
    spec = document.get("spec") or {}
    token = spec.get("token")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    found = authenticator.review(token, spec.get("audiences") or ())
    if isinstance(found, Refused):
        status: Doc = {"user": {}, "error": found.reason}
    else:
        status = {
            "authenticated": True,
            "user": users.to_document(found.user),
            "audiences": list(found.audiences),
        }
    return document | {"status": status}


def _decided(document: Doc, user: User, authorizer: Authorizer) -> Doc:
    attributes, evaluation_error = _attempt(document["spec"])
    verdict = authorizer.authorize(user, attributes)
    status: Doc = {"allowed": verdict.allowed}
    if verdict.reason:
        status["reason"] = verdict.reason
    if evaluation_error:
        status["evaluationError"] = evaluation_error
    return document | {"status": status}


def _attempt(spec: Doc) -> tuple[AccessAttributes, str]:
    """What is asked about, and what of it could not be understood."""
    if asked := spec.get("nonResourceAttributes"):
        return AccessAttributes(asked.get("verb") or "", path=asked.get("path") or ""), ""
    asked = spec.get("resourceAttributes") or {}
    field_selector, complaint = _field_selector(asked.get("fieldSelector") or {})
    attributes = AccessAttributes(
        asked.get("verb") or "",
        group=asked.get("group") or "",
        version=asked.get("version") or "",
        resource=asked.get("resource") or "",
        subresource=asked.get("subresource") or "",
        namespace=asked.get("namespace") or "",
        name=asked.get("name") or "",
        field_selector=field_selector,
        label_selector=(asked.get("labelSelector") or {}).get("rawSelector") or "",
    )
    return attributes, complaint


def _field_selector(selector: Doc) -> tuple[str, str]:
    """As one text, and a complaint if parts were left out; leaving out asks for more, not less."""
    requirements: Sequence[Doc] = selector.get("requirements") or ()
    terms: list[str] = []
    for requirement in requirements:
        values: Sequence[str] = requirement.get("values") or ()
        sign = {"In": "=", "NotIn": "!="}.get(requirement.get("operator", ""))
        if sign and len(values) == 1:
            terms.append(
                f"{escape_field(requirement.get('key') or '')}{sign}{escape_field(values[0])}"
            )
    if len(terms) == len(requirements):
        return ",".join(terms) or selector.get("rawSelector") or "", ""
    return ",".join(terms), _UNREADABLE.format("partially ignored" if terms else "ignored")


def _subject(spec: Doc) -> User:
    return User(
        spec.get("user") or "",
        uid=spec.get("uid") or "",
        groups=tuple(spec.get("groups") or ()),
        extra={key: tuple(values) for key, values in (spec.get("extra") or {}).items()},
    )


def _attribute_complaints(
    spec: Doc, about_the_subject: Sequence[FieldError] = ()
) -> Iterator[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        yield invalid("spec.nonResourceAttributes", path, _NOT_BOTH)
    if resource is None and path is None:
        yield invalid("spec.resourceAttributes", None, _ONE_OF)
    yield from about_the_subject
    for key in ("fieldSelector", "labelSelector"):
        selector = (resource or {}).get(key)
        if selector is not None:
            yield from _selector_complaints(f"spec.resourceAttributes.{key}", selector)


def _subject_complaints(spec: Doc) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]


def _selector_complaints(field: str, selector: Doc) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        detail = "may not specified at the same time as requirements"
        yield invalid(f"{field}.rawSelector", raw, detail)
    if not raw and not requirements:
        detail = f"when {field} is specified, requirements or rawSelector is required"
        yield required(f"{field}.requirements", detail)


def _metadata_complaints(document: Doc, rule: str) -> Iterator[FieldError]:
    metadata: dict[str, Any] = document.get("metadata") or {}
    allowed = {"managedFields", "namespace"} if "namespace" in rule else {"managedFields"}
    if any(value for key, value in metadata.items() if key not in allowed):
        yield invalid("metadata", metadata, rule)


def _locality_complaints(spec: Doc, namespace: str) -> Iterator[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (asked := resource.get("namespace") or "") != namespace:
        field = "spec.resourceAttributes.namespace"
        yield invalid(field, asked, "must match metadata.namespace")
    if path is not None:
        yield invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request")


def _refuse(document: Doc, complaints: Sequence[FieldError]) -> None:
    if complaints:
        raise invalid_as("", AUTHORIZATION, "", complaints)  # upstream names no kind either
