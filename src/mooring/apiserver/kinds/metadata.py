"""What is true of `metadata` in every kind: names, labels, annotations, owners, finalizers.

A write has by now given the object its name and namespace, so only the result is judged here. The
good case must be cheap, as every create passes through: nothing is built unless there is a
complaint.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE
from mooring.apiserver.kinds.recurring import is_good
from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required, show, too_long
from mooring.model.names import dns_label, label_value, qualified_name

MOST_ANNOTATION_BYTES = 256 * 1024
STANDARD_FINALIZERS = frozenset(("orphan", "foregroundDeletion", "kubernetes"))

_SERVER_SET = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_JUDGED = (*_SERVER_SET, "generation", "labels", "annotations", "ownerReferences", "finalizers")
_OWNER_NAMES = ("kind", "name", "uid")


def validate_metadata(doc: Doc, kind: Kind) -> Iterable[FieldError]:
    """Complaints about the metadata of an object that is to be created."""
    metadata: Doc = doc.get("metadata") or {}
    errors: list[FieldError] = []
    if prefix := metadata.get("generateName"):
        errors += _all_invalid("metadata.generateName", prefix, kind.name_rule(_completed(prefix)))
    if name := metadata.get("name"):
        if problems := kind.name_rule(name):
            errors += _all_invalid("metadata.name", name, problems)
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    _check_namespace(metadata.get("namespace"), kind, errors)
    if metadata.get("generation", 0) < 0:
        errors.append(_negative_generation(metadata["generation"]))
    if labels := metadata.get("labels"):
        _check_labels(labels, errors)
    if annotations := metadata.get("annotations"):
        _check_annotations(annotations, errors)
    if owners := metadata.get("ownerReferences"):
        _check_owners(owners, errors)
    if finalizers := metadata.get("finalizers"):
        _check_finalizers(finalizers, errors)
        _check_qualified(finalizers, kind, errors)
    return errors


def validate_metadata_update(new: Doc, old: Doc, kind: Kind) -> Iterable[FieldError]:
    """Complaints about changed metadata; what did not change was judged when it was written.

    In the order of Kubernetes: what is wrong in itself, what may not change, what only built-in
    kinds ask of finalizers.
    """
    now: Doc = new.get("metadata") or {}
    before: Doc = old.get("metadata") or {}
    if list(map(now.get, _JUDGED)) == list(map(before.get, _JUDGED)):
        return ()
    errors: list[FieldError] = []
    labels = now.get("labels")
    if labels and labels != before.get("labels"):
        _check_labels(labels, errors)
    annotations = now.get("annotations")
    if annotations and annotations != before.get("annotations"):
        _check_annotations(annotations, errors)
    owners = now.get("ownerReferences")
    if owners and owners != before.get("ownerReferences"):
        _check_owners(owners, errors)
    finalizers = now.get("finalizers")
    has_new_finalizers = finalizers and finalizers != before.get("finalizers")
    if finalizers and has_new_finalizers:
        _check_finalizers(finalizers, errors)
        if "deletionTimestamp" in before:
            _check_no_new_finalizers(finalizers, before.get("finalizers", ()), errors)
    generation = now.get("generation", 0)
    if generation < before.get("generation", 0):
        errors.append(invalid("metadata.generation", generation, "must not be decremented"))
    for field in _SERVER_SET:
        if now.get(field) != before.get(field) and (now.get(field) or before.get(field)):
            errors.append(invalid(f"metadata.{field}", now.get(field), IMMUTABLE))
    if finalizers and has_new_finalizers:
        _check_qualified(finalizers, kind, errors)
    return errors


def validate_labels(labels: dict[str, str], path: str) -> Iterable[FieldError]:
    """Complaints about a set of labels anywhere in a document."""
    errors: list[FieldError] = []
    _check_labels(labels, errors, path)
    return errors


def validate_annotations(annotations: dict[str, str], path: str) -> Iterable[FieldError]:
    """Complaints about a set of annotations anywhere in a document."""
    errors: list[FieldError] = []
    _check_annotations(annotations, errors, path)
    return errors


def drop_duplicate_owners(doc: Doc) -> str | None:
    """Drop owner references that repeat an earlier one word for word.

    Returns the warning to send, or None when there was nothing to drop.
    """
    owners = doc.get("metadata", {}).get("ownerReferences")
    if not owners or len(owners) < 2:
        return None
    kept: dict[frozenset[tuple[str, Any]], Doc] = {}
    dropped: list[str] = []
    for owner in owners:
        words = frozenset(owner.items())
        if words in kept:
            dropped.append(owner.get("uid", ""))
        else:
            kept[words] = owner
    if not dropped:
        return None
    doc["metadata"]["ownerReferences"] = list(kept.values())
    return (
        "metadata.ownerReferences contains duplicate entries, which were dropped; "
        f"duplicate UID(s) observed: {', '.join(dropped)}"
    )


def _completed(prefix: str) -> str:
    """A name such as the prefix may lead to: its trailing dash is followed by something."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _check_namespace(namespace: str | None, kind: Kind, errors: list[FieldError]) -> None:
    if not kind.namespaced:
        if namespace:
            errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    elif not namespace:
        errors.append(required("metadata.namespace"))
    elif problems := dns_label(namespace):
        errors += _all_invalid("metadata.namespace", namespace, problems)


def _negative_generation(generation: int) -> FieldError:
    return invalid("metadata.generation", generation, "must be greater than or equal to 0")


def _check_labels(
    labels: dict[str, str], errors: list[FieldError], path: str = "metadata.labels"
) -> None:
    for key, value in labels.items():
        if len(errors) > MOST_ERRORS:
            return
        if not is_good(qualified_name, key):
            errors += _all_invalid(path, key, qualified_name(key))
        if value and (problems := label_value(value)):
            errors += _all_invalid(path, value, problems)


def _check_annotations(
    annotations: dict[str, str], errors: list[FieldError], path: str = "metadata.annotations"
) -> None:
    characters = 0
    for key, value in annotations.items():
        if not is_good(qualified_name, key.lower()):
            errors += _all_invalid(path, key, qualified_name(key.lower()))
        characters += len(key) + len(value)
        if len(errors) > MOST_ERRORS:
            return
    # A character is at most four bytes: only what comes near the limit is worth counting.
    if characters * 4 > MOST_ANNOTATION_BYTES:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > MOST_ANNOTATION_BYTES:
            errors.append(too_long(path, MOST_ANNOTATION_BYTES))


def _check_owners(owners: list[Doc], errors: list[FieldError]) -> None:
    path = "metadata.ownerReferences"
    controller = ""
    for owner in owners:
        if len(errors) > MOST_ERRORS:
            return
        version = owner.get("apiVersion", "")
        if not _has_version(version):
            errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        for field in _OWNER_NAMES:
            if not owner.get(field):
                errors.append(invalid(f"{path}.{field}", "", "must not be empty"))
        if version == "v1" and owner.get("kind") == "Event":
            errors.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                errors.append(invalid(path, owners, _two_controllers(controller, this)))
            else:
                controller = this


def _has_version(api_version: str) -> bool:
    """`v1` and `group/v1` have one; what has more parts is no API version at all."""
    parts = api_version.split("/")
    return len(parts) <= 2 and bool(parts[-1])


def _two_controllers(first: str, second: str) -> str:
    return (
        "Only one reference can have Controller set to true. "
        f'Found "true" in references for {first} and {second}'
    )


def _check_finalizers(finalizers: list[str], errors: list[FieldError]) -> None:
    path = "metadata.finalizers"
    for finalizer in finalizers:
        if len(errors) > MOST_ERRORS:
            return
        if not is_good(qualified_name, finalizer):
            errors += _all_invalid(path, finalizer, qualified_name(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(
            invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
        )


def _check_qualified(finalizers: list[str], kind: Kind, errors: list[FieldError]) -> None:
    """Kinds from a CRD accept any qualified name, with or without a domain."""
    if kind.custom:
        return
    for index, finalizer in enumerate(finalizers):
        if len(errors) > MOST_ERRORS:
            return
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(f"metadata.finalizers[{index}]", finalizer, why))


def _check_no_new_finalizers(
    finalizers: Iterable[str], before: Iterable[str], errors: list[FieldError]
) -> None:
    if added := sorted(set(finalizers) - set(before)):
        listed = ", ".join(show(name) for name in added[:MOST_ERRORS])
        errors.append(
            forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}",
            )
        )


def _all_invalid(field: str, value: Any, problems: Iterable[str]) -> Iterable[FieldError]:
    return [invalid(field, value, problem) for problem in problems]
