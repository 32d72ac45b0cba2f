"""What every write does to a document between decoding and storing.

Pure but for what admission reads, and whom webhooks ask: called again when another writer was
faster.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from operator import ne
from typing import Any

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.kinds.contract import Context, Kind
from mooring.apiserver.kinds.metadata import (
    drop_duplicate_owners,
    validate_metadata,
    validate_metadata_update,
)
from mooring.apiserver.patching.managed_fields import manager_name
from mooring.apiserver.request.refusals import check, conflict, invalid_as
from mooring.apiserver.schema.fill import fill
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.carried_over import carry_over
from mooring.apiserver.verbs.document_schema import conform_to_kind
from mooring.apiserver.verbs.mutating import mutate
from mooring.apiserver.verbs.owning import in_versions, is_converted, owners_after
from mooring.errors import BadRequest, ServerError
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
MOST_PREFIX = 58
SERVER_DECIDED = frozenset(  # of a new object, whatever the client says of them
    {
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    }
)
SYSTEM_FIELDS = (
    "creationTimestamp",
    "generation",
    "selfLink",
)
DELETION_FIELDS = ("deletionTimestamp", "deletionGracePeriodSeconds")
_OF_WHOLE_OBJECTS = frozenset(
    {"", "status", "ephemeralcontainers", "resize", "finalize", "approval"}
)  # subresources of which webhooks are shown the object; of others, what was sent
NOT_COUNTED = frozenset({"metadata", "status", "kind", "apiVersion"})  # for metadata.generation


def manager_of(call: Call, given: str) -> str:
    return manager_name(given, call.request.header("user-agent") or "")


def match_namespace(call: Call, metadata: dict[str, Any]) -> None:
    """The URL names the namespace; the body may repeat it, not contradict it."""
    given = metadata.get("namespace", "")
    if not call.kind.namespaced:
        metadata.pop("namespace", None)
    elif given and given != call.namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = call.namespace


async def prepare_new(
    backend: Backend,
    call: Call,
    doc: Doc,
    *,
    manager: str,
    managed: list[Doc] | None = None,
    warnings: list[str],
) -> Doc:
    """A decoded document made ready to be created; refused with what is wrong with it.

    `managed` is given by server-side apply, which knows the owners of fields itself. Waits only if
    a webhook has to be asked, whose warnings are added to `warnings`, or rules take long.
    """
    kind = call.kind
    context = backend.context(call.user)
    metadata = _fresh_metadata(backend, call, doc, context.now)
    _complete(kind, doc)
    if managed is None:
        managed = owners_after(backend, call, None, doc, manager=manager, now=context.now)
    _set_or_drop(metadata, "managedFields", managed)
    _begin(kind, doc, context)
    attributes = AdmissionAttributes(
        Operation.CREATE,
        kind,
        call.user,
        call.namespace,
        metadata.get("name", ""),
        new=doc,
        dry_run=is_dry(call),
        warnings=warnings,
    )
    backend.admission.mutate(attributes, backend.objects)
    if await mutate(backend, attributes, partial(_refill, kind)):
        _keep_identity(doc, metadata)
        _begin(kind, doc, context)
    await backend.judging.judge(
        attributes.origin,
        lambda: check(
            kind, metadata.get("name", ""), chain(validate_metadata(doc, kind), kind.validate(doc))
        ),
    )
    await backend.admission.judge(attributes, backend.objects)
    await backend.webhooks.judge(attributes)
    return doc


def _begin(kind: Kind, doc: Doc, context: Context) -> None:
    """What the server alone decides of a new object, also after policies and webhooks."""
    kind.prepare_create(doc, context)
    if kind.generation:
        doc["metadata"]["generation"] = 1


def is_dry(call: Call) -> bool:
    """Whether the request is a rehearsal."""
    return "dryRun=" in call.request.query


def _keep_identity(doc: Doc, metadata: Doc) -> None:
    """Whatever a policy or a webhook has made of it, it is still this object."""
    for field in SERVER_DECIDED:
        _set_or_drop(doc["metadata"], field, metadata.get(field))


def _refill(kind: Kind, doc: Doc) -> Sequence[str]:
    """A document that a policy or a webhook has changed, made whole again; what was unknown in it.

    Raises: ValueError.
    """
    unknown = conform_to_kind(doc, kind)
    _complete(kind, doc)
    return () if kind.custom else unknown


def _complete(kind: Kind, doc: Doc) -> None:
    """Say what the client left unsaid."""
    kind.defaults(doc)
    if not kind.custom:
        fill(doc, kind.message)


def single_owners(doc: Doc) -> list[str]:
    """Drop owners that are named twice, before anything else looks; returns what to say of it."""
    doubled = drop_duplicate_owners(doc)
    return [doubled] if doubled else []


def _fresh_metadata(backend: Backend, call: Call, doc: Doc, now: str) -> dict[str, Any]:
    """Metadata of a new object: what the server decides replaces what the client sent."""
    given = doc.get("metadata") or {}
    match_namespace(call, given)
    if given.get("resourceVersion"):
        raise ServerError("resourceVersion should not be set on objects to be created")
    metadata = {}
    if name := given.get("name") or generated_name(backend, given):
        metadata["name"] = name
    if prefix := given.get("generateName"):
        metadata["generateName"] = prefix
    if namespace := given.get("namespace"):
        metadata["namespace"] = namespace
    metadata["uid"] = backend.new_uid()
    metadata["creationTimestamp"] = now
    for field, value in given.items():
        if field not in SERVER_DECIDED:
            metadata[field] = value
    doc["metadata"] = metadata
    return metadata


def generated_name(backend: Backend, metadata: dict[str, Any]) -> str:
    prefix = metadata.get("generateName", "")
    if not prefix:
        return ""
    return str(prefix)[:MOST_PREFIX] + "".join(backend.rng.choices(SUFFIX_LETTERS, k=5))


async def prepare_change(
    backend: Backend,
    call: Call,
    old: Doc,
    new: Doc,
    *,
    manager: str,
    managed: list[Doc] | None = None,
    warnings: list[str],
) -> Doc | None:
    """The document that replaces `old`, or None when that would change nothing.

    Before: resourceVersion and uid of `new` have been checked (`check_version`). Waits only if a
    webhook has to be asked, whose warnings are added to `warnings`, or rules take long.
    """
    kind, subresource = call.kind, call.route.subresource
    context = backend.context(call.user)
    _restore_system_fields(new["metadata"], old["metadata"])
    carry_over(backend, kind, old, new)
    _complete(kind, new)
    if subresource == "status":
        _keep_to_part(kind, subresource, new, old, context)
    if managed is None:
        owners = partial(owners_after, backend, call, old, new, manager=manager, now=context.now)
        if is_converted(kind):
            managed = await in_versions(backend, kind, lambda known: owners(versions=known))
        else:
            managed = owners()
    _set_or_drop(new["metadata"], "managedFields", managed)
    if subresource != "status":
        _keep_to_part(kind, subresource, new, old, context)
    attributes = AdmissionAttributes(
        Operation.UPDATE,
        kind,
        call.user,
        call.namespace,
        call.name,
        subresource,
        new,
        old,
        dry_run=is_dry(call),
        warnings=warnings,
    )
    backend.admission.mutate(attributes, backend.objects)
    is_whole = subresource in _OF_WHOLE_OBJECTS
    if is_whole and await mutate(backend, attributes, partial(_refill, kind)):
        _restore_system_fields(new["metadata"], old["metadata"])
        carry_over(backend, kind, old, new)
        _keep_to_part(kind, subresource, new, old, context)
    if subresource != "status":
        _count_generation(kind, new, old)
    await backend.judging.judge(
        attributes.origin,
        lambda: check(kind, call.name, _problems_of_change(kind, subresource, new, old)),
    )
    await backend.admission.judge(attributes, backend.objects)
    if is_whole:
        await backend.webhooks.judge(attributes)
    return new if _differs(new, old) else None


def _problems_of_change(kind: Kind, subresource: str, new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_metadata_update(new, old, kind)
    if strategy := kind.strategies.get(subresource):
        yield from kind.validate(new)
        yield from strategy.validate(new, old)
    elif subresource == "status":
        yield from kind.validate_status(new, old)
    elif kind.judges_update_whole:
        yield from kind.validate_update(new, old)
    else:
        yield from kind.validate(new)
        yield from kind.validate_update(new, old)


def _keep_to_part(kind: Kind, subresource: str, new: Doc, old: Doc, context: Context) -> None:
    """Whatever a client or a webhook says of the parts that are not written here stays as it is."""
    if subresource == "status":
        kind.prepare_status(new, old, context)
        if kind.status_keeps_metadata:
            new["metadata"] = _only_owners_from(new["metadata"], old["metadata"])
    elif strategy := kind.strategies.get(subresource):
        strategy.prepare(new, old, context)
    else:
        kind.prepare_update(new, old, context)


def change_warnings(kind: Kind, new: Doc, old: Doc) -> Iterable[str]:
    """The warnings for a change that is otherwise accepted."""
    return kind.update_warnings(new, old) if kind.update_warnings else kind.warnings(new)


def _differs(new: Doc, old: Doc) -> bool:
    """Whether there is more between them than the times at which owners last wrote."""
    if new == old:
        return False
    parts = (new.keys() | old.keys()) - {"metadata"}
    if any(map(ne, map(new.get, parts), map(old.get, parts))):
        return True
    return _without_times(new["metadata"]) != _without_times(old["metadata"])


def _without_times(metadata: Doc) -> Doc:
    entries = metadata.get("managedFields", ())
    return {**metadata, "managedFields": [{**entry, "time": None} for entry in entries]}


def check_version(kind: Kind, old: Doc, new: Doc, *, is_put: bool) -> None:
    """Refuse a write that was decided on another version of the object than the stored one."""
    name = old["metadata"]["name"]
    metadata = new.get("metadata")
    if metadata is None:
        metadata = new["metadata"] = {}
    if is_put:
        check_uid(kind, name, metadata.get("uid", ""), old["metadata"]["uid"])
    version = metadata.get("resourceVersion", "")
    if version in ("", "0"):
        if is_put and kind.update_needs_version:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_as(kind.plural, kind.group, name, [error])
    elif not version.isdecimal():
        raise ServerError(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != old["metadata"]["resourceVersion"]:
        raise conflict(kind, name)
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]


def check_uid(kind: Kind, name: str, meant: str, stored: str) -> None:
    """Refuse a write that means another object of that name; none is stored: an empty uid."""
    if meant and meant != stored:
        raise conflict(
            kind,
            name,
            f"Precondition failed: UID in precondition: {meant}, UID in object meta: {stored}",
        )


def _only_owners_from(metadata: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """The stored metadata; of what the client sent only managedFields counts, if it sent them."""
    kept = {key: value for key, value in stored.items() if key != "managedFields"}
    if "managedFields" in metadata:
        kept["managedFields"] = metadata["managedFields"]
    return kept


def _restore_system_fields(metadata: dict[str, Any], stored: dict[str, Any]) -> None:
    metadata.setdefault("uid", stored["uid"])
    if not stored.keys().isdisjoint(DELETION_FIELDS):
        for field in DELETION_FIELDS:  # another value is refused, for it may have been meant
            if not metadata.get(field) and field in stored:
                metadata[field] = stored[field]
    if list(map(metadata.get, SYSTEM_FIELDS)) != list(map(stored.get, SYSTEM_FIELDS)):
        for field in SYSTEM_FIELDS:
            _set_or_drop(metadata, field, stored.get(field))


def _count_generation(kind: Kind, new: Doc, old: Doc) -> None:
    counts_status = kind.structure is not None and not kind.status
    if kind.generation and any(
        new.get(part) != old.get(part)
        for part in (new.keys() | old.keys())
        if part not in NOT_COUNTED or (counts_status and part == "status")
    ):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _set_or_drop(metadata: dict[str, Any], field: str, value: Any) -> None:
    if value is None or value == []:
        metadata.pop(field, None)
    else:
        metadata[field] = value
