"""AdmissionReview: the question that a webhook is sent, and what it may answer."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.auth.user import to_document
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.limits.budgets import MOST_PATCH_VALUES
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.webhooks.contract import Hook
from mooring.model.document import Doc

GROUP = "admission.k8s.io"
_OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}
_encode = msgspec.json.Encoder().encode


class BadAnswer(Exception):
    """What came back is no answer to the question."""


class HookAnswer(msgspec.Struct, frozen=True):
    allowed: bool
    status: Doc
    patch: list[Any] | None = None
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()  # to be recorded


def question(hook: Hook, attributes: AdmissionAttributes, kind: Kind, uid: str) -> bytes:
    """The body of the request. `kind` is the version that its rules name, and of the objects."""
    asked = attributes.kind
    request: Doc = {
        "uid": uid,
        "kind": _kind(kind, attributes),
        "resource": _resource(kind),
        "requestKind": _kind(asked, attributes),
        "requestResource": _resource(asked),
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation.value,
        "userInfo": to_document(attributes.user),
        "object": attributes.new,
        "oldObject": attributes.old,
        "dryRun": attributes.dry_run,
        "options": _options(attributes),
    }
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    for field in ("name", "namespace"):
        if not request[field]:
            del request[field]
    return _encode(
        {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{hook.review}", "request": request}
    )


def _options(attributes: AdmissionAttributes) -> Doc | None:
    kind = _OPTIONS.get(attributes.operation)
    if kind is None:
        return None
    options: Doc = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if attributes.dry_run:
        options["dryRun"] = ["All"]
    return options


def _kind(kind: Kind, attributes: AdmissionAttributes) -> Doc:
    if not attributes.subresource or attributes.subresource == "status":
        return {"group": kind.group, "version": kind.version, "kind": kind.kind}
    doc = attributes.new or attributes.old or {}
    group, _, version = doc.get("apiVersion", kind.api_version).rpartition("/")
    return {"group": group, "version": version, "kind": doc.get("kind", kind.kind)}


def _resource(kind: Kind) -> Doc:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def read_answer(body: bytes, hook: Hook, uid: str, *, may_patch: bool) -> HookAnswer:
    """Raises: BadAnswer."""
    review = _read(body)
    wanted = (f"{GROUP}/{hook.review}", "AdmissionReview")
    if (review.get("apiVersion"), review.get("kind")) != wanted:
        given = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
        raise BadAnswer(
            f"expected webhook response of {wanted[0]}, Kind={wanted[1]}, got {given}"
            if hook.review == "v1"
            else f"expected webhook response of {wanted[0]}, got {given}"
        )
    response = review.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("webhook response was absent")
    if hook.review == "v1" and response.get("uid") != uid:
        given = response.get("uid") or ""
        raise BadAnswer(f'expected response.uid="{uid}", got "{given}"')
    if type(response.get("allowed", False)) is not bool:
        raise BadAnswer("response.allowed must be a boolean")
    patch = _read_patch(response) if may_patch else None
    status = response.get("status")
    warnings = response.get("warnings")
    return HookAnswer(
        response.get("allowed", False),
        status if isinstance(status, dict) else {},
        patch,
        tuple(str(each) for each in warnings) if isinstance(warnings, list) else (),
        tuple(_read_annotations(response.get("auditAnnotations"))),
    )


def _read_annotations(given: object) -> Iterator[tuple[str, str]]:
    if isinstance(given, dict):
        yield from ((str(key), str(value)) for key, value in given.items())


def _read(body: bytes) -> Doc:
    try:
        review = read_json(body).value
    except ValueError as error:
        raise BadAnswer(str(error)) from error
    if not isinstance(review, dict):
        raise BadAnswer("it is no JSON object")
    return review


def _read_patch(response: Doc) -> list[Any] | None:
    encoded, kind = response.get("patch"), response.get("patchType")
    if not encoded and kind is None:
        return None
    if not encoded:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    if kind is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    if kind != "JSONPatch":
        raise BadAnswer(f'webhook returned invalid response.patchType of "{kind}"')
    try:
        patch = read_json(base64.b64decode(encoded, validate=True), MOST_PATCH_VALUES).value
    except (ValueError, TypeError, binascii.Error) as error:
        raise BadAnswer(f"response.patch cannot be read: {error}") from error
    if not isinstance(patch, list):
        raise BadAnswer("response.patch is no list of operations")
    return patch
