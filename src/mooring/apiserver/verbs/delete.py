"""DELETE: remove an object, or set its deletionTimestamp and wait for grace and finalizers."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.codec.body import decode_options
from mooring.apiserver.documents.document import decode, metadata_of
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import first, flag, integer, parse_query, write_options
from mooring.apiserver.request.refusals import conflict_as, invalid_as, not_found
from mooring.apiserver.store.contract import Change, Entry, Put, Remove
from mooring.apiserver.verbs.answering import answer_entry, answer_status
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.changing import change_of, is_held, last_state, stored_form
from mooring.apiserver.verbs.decoding import check_size
from mooring.errors import ServerError
from mooring.model.document import Doc
from mooring.model.field_error import invalid, not_supported
from mooring.model.timestamp import to_seconds

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
LONGEST_GRACE = (2**63 - 1) // 10**9  # seconds
POLICIES = {"Foreground": FOREGROUND, "Background": "", "Orphan": ORPHAN}


class DeleteOptions(msgspec.Struct, frozen=True):
    grace: int | None = None
    uid: str = ""
    version: str = ""
    policy: str = ""  # "": as the object's finalizers say, else as its kind does
    is_collected: bool = False  # its owner is gone: no kind leaves dependents alone of itself
    orphan_dependents: bool | None = None
    dry_run: bool = False


async def delete(backend: Backend, call: Call) -> Response:
    options = read_options(call)
    entry, is_removed = await delete_object(backend, call, options)
    is_silent = not options.policy and options.orphan_dependents is None
    warnings = [call.kind.deletion_warning] if is_silent and call.kind.deletion_warning else []
    if is_removed and call.kind.deleted_as_status:
        return answer_status(call.kind, call.name, metadata_of(entry)["uid"], warnings)
    try:
        entry = await backend.conversions.readable_one(call.kind, entry)
    except ServerError:  # of its webhook: it is being deleted all the same
        return answer_status(call.kind, call.name, metadata_of(entry)["uid"], warnings)
    waits = options.orphan_dependents is False and not is_removed
    return answer_entry(backend, call, 202 if waits else 200, entry, warnings)


async def delete_object(backend: Backend, call: Call, options: DeleteOptions) -> tuple[Entry, bool]:
    """Delete what the call names; returns its last state and whether it is gone already."""
    is_removed = False

    async def decide(entry: Entry | None) -> Change:
        nonlocal is_removed
        if entry is None:
            raise not_found(call.kind, call.name)
        change = await _decide(backend, call, options, entry)
        is_removed = isinstance(change, Remove)
        return change

    table = call.kind.store_table
    if options.dry_run:
        current = backend.store.get(table, call.store_name)
        change = await decide(current)
        assert current is not None  # noqa: S101  decide refuses what is absent
        return _as_if(current, change), is_removed
    entry = await write_decided(backend.store, table, call.store_name, decide)
    assert entry is not None  # noqa: S101  decide refuses what is absent
    return entry, is_removed


def _as_if(entry: Entry, change: Change) -> Entry:
    """What a dry run shows: the object with its change, at the revision it has."""
    if not isinstance(change, Put):
        return entry
    return Entry(entry.table, entry.name, change.stamp(entry.revision), entry.revision)


async def _decide(backend: Backend, call: Call, options: DeleteOptions, entry: Entry) -> Change:
    """Of a custom object only the metadata changes: it stays in the version it is stored in, and
    no conversion webhook can keep it."""
    kind = call.kind
    doc = last_state(kind, entry)
    _check_preconditions(kind, doc, options)
    attributes = AdmissionAttributes(
        Operation.DELETE,
        kind,
        call.user,
        call.namespace,
        call.name,
        old=doc,
        dry_run=options.dry_run,
    )
    if kind.stored_as is not None and _is_judged(backend, attributes):
        shown = decode(kind, await backend.conversions.readable_one(kind, entry))
        attributes = msgspec.structs.replace(attributes, old=shown)
    await backend.admission.judge(attributes, backend.objects)
    if not call.route.subresource:  # an eviction is asked about as such
        await backend.webhooks.mutate(attributes, _nothing)
        await backend.webhooks.judge(attributes)
    metadata = doc["metadata"]
    now = backend.clock.now()
    if metadata.get("deletionGracePeriodSeconds"):
        return _shorten(kind, doc, options.grace, now)
    last = stored_form(kind, doc)
    is_changed = _treat_dependents(metadata, options.policy or _own_policy(kind, metadata, options))
    if "deletionTimestamp" in metadata:
        return change_of(kind, doc) if is_changed else None
    grace = kind.grace(doc, options.grace) if kind.grace else 0
    if grace == 0 and not is_held(kind, doc) and not kind.grace:
        return Remove(last)
    _mark(kind, doc, now, grace)  # also what goes at once, where a grace could have been given
    return change_of(kind, doc)


def _is_judged(backend: Backend, attributes: AdmissionAttributes) -> bool:
    """Whether anybody looks at more than the metadata of what is deleted."""
    return backend.webhooks.is_asked(attributes) or backend.admission.has_policies(attributes)


def _nothing(_: Doc) -> None:
    """What is deleted is not changed."""


def _own_policy(kind: Kind, metadata: Doc, options: DeleteOptions) -> str:
    """The propagation policy when neither the request nor finalizers give one."""
    said = {ORPHAN, FOREGROUND} & set(metadata.get("finalizers", ()))
    orphans = kind.orphans_by_default and not options.is_collected
    return "Orphan" if orphans and not said else ""


def _treat_dependents(metadata: Doc, policy: str) -> bool:
    """Let the finalizers say what becomes of dependents, if the policy says so; are they new?"""
    before = metadata.get("finalizers", [])
    if not policy:
        return False
    after = [name for name in before if name not in (ORPHAN, FOREGROUND)]
    if finalizer := POLICIES[policy]:
        after.append(finalizer)
    if set(after) == set(before):
        return False
    metadata["finalizers"] = after
    return True


def _shorten(kind: Kind, doc: Doc, asked: int | None, now: datetime) -> Change:
    """A second deletion may only shorten the grace that the first one gave."""
    metadata = doc["metadata"]
    given = metadata["deletionGracePeriodSeconds"]
    if asked is None or asked >= given:
        return None
    end = datetime.fromisoformat(metadata["deletionTimestamp"]) - _lasting(given) + _lasting(asked)
    if end < now:  # a grace that is over already still ends with a deletion of its own
        end, asked = now, min(asked, 1)
    metadata["deletionTimestamp"] = to_seconds(end)
    metadata["deletionGracePeriodSeconds"] = asked
    return change_of(kind, doc)


def _mark(kind: Kind, doc: Doc, now: datetime, grace: int) -> None:
    metadata = doc["metadata"]
    metadata["deletionTimestamp"] = to_seconds(now + _lasting(grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    kind.begin_deletion(doc)


def _lasting(grace: int) -> timedelta:
    """No longer than durations are upstream, 292 years; more than that wraps around there."""
    return timedelta(seconds=min(grace, LONGEST_GRACE))


def _check_preconditions(kind: Kind, doc: Doc, options: DeleteOptions) -> None:
    metadata = doc["metadata"]
    for word, asked, stored, maybe in (
        ("UID", options.uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", options.version, metadata["resourceVersion"], "modified"),
    ):
        if asked and asked != stored:
            why = (
                f"the {word} in the precondition ({asked}) does not match the {word} in record "
                f"({stored}). The object might have been {maybe}"
            )
            group = "" if kind.to_stored else kind.group  # a view speaks as the stored kind
            raise conflict_as(group, kind.kind, metadata["name"], why)


def read_options(call: Call) -> DeleteOptions:
    """From the body when there is one, which then wins entirely; else from the query."""
    check_size(call)
    query = write_options(call.request.query, "DeleteOptions")
    body = decode_options(call.request.body, call.request.header("content-type"))
    if not call.request.body:
        parameters = parse_query(call.request.query)
        body = {
            "gracePeriodSeconds": integer(parameters, "gracePeriodSeconds"),
            "propagationPolicy": first(parameters, "propagationPolicy"),
            "orphanDependents": flag(parameters, "orphanDependents")
            if "orphanDependents" in parameters
            else None,
        }
    return checked_options(body, dry_run=query.dry_run)


def checked_options(body: dict[str, Any], *, dry_run: bool) -> DeleteOptions:
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
        policy=policy or {None: "", True: "Orphan", False: "Background"}[orphan],
        orphan_dependents=orphan,
        dry_run=dry_run or bool(asked_dry),
    )
