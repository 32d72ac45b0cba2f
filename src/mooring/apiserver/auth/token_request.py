"""TokenRequest: a new token for a service account, posted to `serviceaccounts/<name>/token`."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from mooring.apiserver.auth.roles import AUTHENTICATION
from mooring.apiserver.auth.service_account_tokens import (
    FindObject,
    Named,
    ServiceAccountTokens,
    Subject,
)
from mooring.apiserver.request.refusals import conflict_as, invalid_as, not_found_as, replaced
from mooring.errors import BadRequest
from mooring.model import field_error
from mooring.model.document import Doc
from mooring.model.field_error import FieldError
from mooring.model.timestamp import to_seconds

_KIND = "TokenRequest"
_SHORTEST = 600  # seconds
_LONGEST = 1 << 32
_USUAL = 3600


def prepare(document: Doc, account: Doc, tokens: ServiceAccountTokens) -> Doc:
    """The request, checked, ready for admission and `grant`.

    What is meant for this server has no audience until it is granted: that is how pods ask for it,
    and what admission compares it with.
    `account` is the ServiceAccount in the URL. Raises: Invalid, Conflict.
    """
    own, asked = account["metadata"], document.get("metadata") or {}
    for field in ("name", "namespace"):
        if asked.get(field) and asked[field] != own[field]:
            rule = f"must match the service account {field} if specified"
            complaint = field_error.invalid(f"metadata.{field}", asked[field], rule)
            raise invalid_as(_KIND, AUTHENTICATION, own["name"], [complaint])
    if asked.get("uid") and asked["uid"] != own["uid"]:
        why = (
            f"the UID in the token request ({asked['uid']}) does not match "
            f"the UID of the service account ({own['uid']})"
        )
        raise conflict_as(AUTHENTICATION, _KIND, own["name"], why)
    given = document.get("spec") or {}
    seconds, audiences = given.get("expirationSeconds"), given.get("audiences") or []
    spec = {
        "audiences": [] if tuple(audiences) == tokens.audiences else audiences,
        "expirationSeconds": _USUAL if seconds is None else seconds,
        "boundObjectRef": given.get("boundObjectRef"),
    }
    if complaints := list(validate(spec)):
        raise invalid_as(_KIND, AUTHENTICATION, "", complaints)
    return {
        "kind": _KIND,
        "apiVersion": f"{AUTHENTICATION}/v1",
        "metadata": {key: own[key] for key in ("name", "namespace", "uid")},
        "spec": spec,
    }


def validate(spec: Doc) -> Iterator[FieldError]:
    seconds = spec["expirationSeconds"]
    field = "spec.expirationSeconds"
    if seconds < _SHORTEST:
        rule = "may not specify a duration less than 10 minutes"
        yield field_error.invalid(field, seconds, rule)
    if seconds > _LONGEST:
        rule = "may not specify a duration larger than 2^32 seconds"
        yield field_error.invalid(field, seconds, rule)


def grant(
    request: Doc, tokens: ServiceAccountTokens, find: FindObject, now: datetime, token_id: str
) -> Doc:
    """The answer (201) to what `prepare` made: the request with its token.

    `token_id` is the token's id (JTI) and must be new. Raises: NotFound, Conflict, BadRequest.
    """
    spec = request["spec"] | {"audiences": request["spec"]["audiences"] or list(tokens.audiences)}
    lifetime = timedelta(seconds=spec["expirationSeconds"])
    subject = _subject(request, find)
    token = tokens.issue(subject, spec["audiences"], lifetime, now, token_id)
    return request | {
        "metadata": request["metadata"] | {"creationTimestamp": to_seconds(now)},
        "spec": spec,
        "status": {"token": token.reveal(), "expirationTimestamp": to_seconds(now + lifetime)},
    }


def _subject(request: Doc, find: FindObject) -> Subject:
    meta, ref = request["metadata"], request["spec"]["boundObjectRef"]
    namespace, account = meta["namespace"], Named(meta["name"], meta["uid"])
    if ref is None:
        return Subject(namespace, account)
    match _group(ref), ref.get("kind"):
        case "", "Pod":
            pod = _get_bound("pods", namespace, ref, find)
            spec = pod.get("spec") or {}
            if spec.get("serviceAccountName") != account.name:
                raise BadRequest(
                    f'cannot bind token for serviceaccount "{account.name}" '
                    "to pod running with different serviceaccount name."
                )
            node = _where_it_runs(spec.get("nodeName"), find)
            return Subject(namespace, account, pod=_checked(pod, ref), node=node)
        case "", "Secret":
            secret = _get_bound("secrets", namespace, ref, find)
            return Subject(namespace, account, secret=_checked(secret, ref))
        case "", "Node":
            node = _checked(_get_bound("nodes", "", ref, find), ref)
            return Subject(namespace, account, node=node)
        case group, kind:
            version = (ref.get("apiVersion") or "").rpartition("/")[2]
            raise BadRequest(
                f"cannot bind token to object of type {group}/{version}, Kind={kind or ''}"
            )


def _get_bound(plural: str, namespace: str, ref: Doc, find: FindObject) -> Doc:
    name = ref.get("name") or ""
    document = find(plural, namespace, name)
    if document is None:
        raise not_found_as("", plural, name)
    return document


def _checked(document: Doc, ref: Doc) -> Named:
    meta = document["metadata"]
    if ref.get("uid") and ref["uid"] != meta["uid"]:
        raise conflict_as("", ref["kind"], ref["name"], replaced(ref["uid"]))
    return Named(meta["name"], meta["uid"])


def _where_it_runs(node: str | None, find: FindObject) -> Named | None:
    if not node:
        return None
    document = find("nodes", "", node)
    return Named(node, document["metadata"]["uid"] if document else "")


def _group(ref: Doc) -> str:
    return (ref.get("apiVersion") or "").rpartition("/")[0]
