"""DELETE: remove an object, or mark it and wait for those who hold it."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from mooring.apiserver.admission.contract import Attempt, Operation
from mooring.apiserver.backend import Backend, Call
from mooring.apiserver.codec.body import decode_options
from mooring.apiserver.document import decode
from mooring.apiserver.http.message import Response
from mooring.apiserver.kinds.contract import Doc, Kind
from mooring.apiserver.options import first, flag, parse_query, write_options
from mooring.apiserver.refusals import conflict, invalid_as, not_found
from mooring.apiserver.store.contract import Change, Entry, Remove
from mooring.apiserver.verbs.answering import answer_doc, answer_entry, answer_status
from mooring.apiserver.verbs.changing import change_of, is_gone, is_held, stored_form
from mooring.apiserver.verbs.decoding import check_size
from mooring.clock import to_seconds
from mooring.model.field_error import invalid, not_supported

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
POLICIES = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


class DeleteOptions(msgspec.Struct, frozen=True):
    grace: int | None = None
    uid: str = ""
    version: str = ""
    policy: str = ""  # "": Background
    orphan_dependents: bool | None = None
    dry_run: bool = False


async def delete(backend: Backend, call: Call) -> Response:
    options = read_options(call)
    entry, is_removed = await delete_object(backend, call, options)
    if options.dry_run:
        return answer_doc(backend, call, 200, decode(call.kind, entry), [])
    if is_removed and call.kind.deleted_as_status:
        metadata = decode(call.kind, entry)["metadata"]
        return answer_status(call.kind, call.name, metadata["uid"])
    waits = options.orphan_dependents is False and not is_removed
    return answer_entry(backend, call, 202 if waits else 200, entry, [])


async def delete_object(backend: Backend, call: Call, options: DeleteOptions) -> tuple[Entry, bool]:
    """Delete what the call names; returns its last state and whether it is gone already."""
    is_removed = False

    def decide(entry: Entry | None) -> Change:
        nonlocal is_removed
        if entry is None:
            raise not_found(call.kind, call.name)
        change = _decide(backend, call, options, decode(call.kind, entry))
        is_removed = isinstance(change, Remove)
        return change

    table = call.kind.store_table
    if options.dry_run:
        current = backend.store.get(table, call.store_name)
        decide(current)
        assert current is not None  # noqa: S101  decide refuses what is absent
        return current, is_removed
    entry = await backend.store.write(table, call.store_name, decide)
    assert entry is not None  # noqa: S101  decide refuses what is absent
    return entry, is_removed


def _decide(backend: Backend, call: Call, options: DeleteOptions, doc: Doc) -> Change:
    kind = call.kind
    _check_preconditions(kind, doc, options)
    attempt = Attempt(Operation.DELETE, kind, call.user, call.namespace, call.name, old=doc)
    backend.admission.judge(attempt, backend.objects)
    last = stored_form(kind, doc)
    metadata = doc["metadata"]
    grace = kind.grace(doc, options.grace) if kind.grace else 0
    if "deletionTimestamp" in metadata:
        return _delete_again(kind, doc, grace)
    if finalizer := POLICIES.get(options.policy, ""):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), finalizer]
    if grace == 0 and not is_held(kind, doc):
        return Remove(last)
    _mark(kind, doc, backend.clock.now(), grace)
    return change_of(kind, doc)


def _delete_again(kind: Kind, doc: Doc, grace: int) -> Change:
    """A second deletion may only shorten the grace that the first one gave."""
    metadata = doc["metadata"]
    given = metadata.get("deletionGracePeriodSeconds") or 0
    if grace >= given:
        return stored_form(kind, doc) if is_gone(kind, doc) else None
    end = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=given - grace)
    metadata["deletionTimestamp"] = to_seconds(end)
    metadata["deletionGracePeriodSeconds"] = grace
    return change_of(kind, doc)


def _mark(kind: Kind, doc: Doc, now: datetime, grace: int) -> None:
    metadata = doc["metadata"]
    metadata["deletionTimestamp"] = to_seconds(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if kind.generation:
        metadata["generation"] = metadata.get("generation", 0) + 1
    kind.begin_deletion(doc)


def _check_preconditions(kind: Kind, doc: Doc, options: DeleteOptions) -> None:
    metadata = doc["metadata"]
    for word, asked, stored in (
        ("UID", options.uid, metadata["uid"]),
        ("ResourceVersion", options.version, metadata["resourceVersion"]),
    ):
        if asked and asked != stored:
            refusal = conflict(
                kind,
                metadata["name"],
                f"Precondition failed: {word} in precondition: {asked}, "
                f"{word} in object meta: {stored}",
            )
            refusal.details["kind"] = kind.kind
            raise refusal


def read_options(call: Call) -> DeleteOptions:
    """From the body when there is one, which then wins entirely; else from the query."""
    check_size(call)
    query = write_options(call.request.query, "DeleteOptions")
    body = decode_options(call.request.body, call.request.header("content-type"))
    if not body:
        parameters = parse_query(call.request.query)
        body = {
            "gracePeriodSeconds": _seconds(first(parameters, "gracePeriodSeconds")),
            "propagationPolicy": first(parameters, "propagationPolicy"),
            "orphanDependents": flag(parameters, "orphanDependents")
            if "orphanDependents" in parameters
            else None,
        }
    return _checked(body, dry_run=query.dry_run)


def _checked(body: dict[str, Any], *, dry_run: bool) -> DeleteOptions:
    errors = []
    policy = body.get("propagationPolicy") or ""
    orphan = body.get("orphanDependents")
    asked_dry = body.get("dryRun") or []
    if policy and policy not in POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*POLICIES, "nil")))
    if policy and orphan is not None:
        errors.append(
            invalid(
                "propagationPolicy",
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )
        )
    if any(value != "All" for value in asked_dry):
        errors.append(not_supported("dryRun", asked_dry, ("All",)))
    if errors:
        raise invalid_as("DeleteOptions", "meta.k8s.io", "", errors)
    grace = body.get("gracePeriodSeconds")
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace=1 if grace is not None and grace < 0 else grace,
        uid=preconditions.get("uid", ""),
        version=preconditions.get("resourceVersion", ""),
        policy=policy or ("Orphan" if orphan else ""),
        orphan_dependents=orphan,
        dry_run=dry_run or bool(asked_dry),
    )


def _seconds(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdecimal() else None
