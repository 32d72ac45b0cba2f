"""What is to be done about the migrations of one resource, and what their conditions say. Pure.

What is always true:

- One migration of a resource runs at a time, the oldest first; what has ended is left alone.
- A definition loses its older stored versions only after a migration that succeeded, and only if
  it is still the definition that the migration began with.
- Of what has ended nothing is said any more but that: several servers on one etcd carry the same
  migrations out, and a slow one must not undo what a quick one has said, nor speak of the next.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from mooring.apiserver.kinds.definition.conditions import conditions
from mooring.apiserver.kinds.definition.stored_versions import storage_version
from mooring.apiserver.kinds.storage_version_migration import (
    FAILED,
    LONGEST_MESSAGE,
    RUNNING,
    SUCCEEDED,
    conditions_of,
    is_true,
)
from mooring.model.document import Doc

Edit = Callable[[Doc], Doc]

MIGRATING = "StorageMigrating"  # of a definition
_IS_RUNNING = "MigrationRunning"
_MOST_DIGITS = 19  # of a store's revision


class Begin(msgspec.Struct, frozen=True):
    """It is the next one."""

    migration: Doc


class Mark(msgspec.Struct, frozen=True):
    """It runs; until which version objects are to be written anew is not known yet."""

    migration: Doc


class Migrate(msgspec.Struct, frozen=True):
    migration: Doc
    version: int


class Finish(msgspec.Struct, frozen=True):
    """It has ended, and says that it runs."""

    migration: Doc
    succeeded: bool


Step = Begin | Mark | Migrate | Finish


def decide(migrations: Iterable[Doc]) -> tuple[Step, ...]:
    """The steps for the migrations of one resource."""
    steps: list[Step] = []
    waiting: list[Doc] = []
    is_busy = False
    for migration in sorted(migrations, key=_age):
        runs, ended = is_true(migration, RUNNING), has_ended(migration)
        if runs and ended:
            steps.append(Finish(migration, is_true(migration, SUCCEEDED)))
        elif runs:
            is_busy = True
            version = (migration.get("status") or {}).get("resourceVersion")
            steps.append(Migrate(migration, _revision(version)) if version else Mark(migration))
        elif not ended:
            waiting.append(migration)
    if waiting and not is_busy:
        steps.append(Begin(waiting[0]))
    return tuple(steps)


def has_ended(migration: Doc) -> bool:
    return is_true(migration, SUCCEEDED) or is_true(migration, FAILED)


def _revision(version: str) -> int:
    """Somebody may have written any number; none of a store has more digits."""
    return int(version) if len(version) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _age(migration: Doc) -> tuple[str, str]:
    metadata = migration["metadata"]
    return metadata["creationTimestamp"], metadata["name"]


# what a migration says


class Count(msgspec.Struct, frozen=True):
    """Of the objects of the resource."""

    left: int
    total: int


def running(migration: Doc, now: str, count: Count | None = None, trouble: str = "") -> Doc:
    """With the condition that says how far it is."""
    if has_ended(migration):
        return migration
    text = "The migration is running"
    if count is not None and count.total:
        if count.left:
            text += f", {count.left}/{count.total} objects not yet migrated"
        else:
            text += f", {count.total} objects verified migrated"
    if trouble:
        text += f"; transient error: {trouble}"
    return _with(migration, _condition(RUNNING, "True", _IS_RUNNING, text), now)


def marked(migration: Doc, version: int) -> Doc:
    """What was written later need not be written anew."""
    if has_ended(migration):
        return migration
    status = {**(migration.get("status") or {}), "resourceVersion": str(version)}
    return {**migration, "status": status}


def succeeded(migration: Doc, now: str, count: Count) -> Doc:
    if has_ended(migration):
        return migration
    reason = "StorageVersionMigrationSucceeded"
    done = _condition(SUCCEEDED, "True", reason, "Migration completed")
    return _with(running(migration, now, count), done, now)


def failed(migration: Doc, now: str, why: str, count: Count | None = None) -> Doc:
    if has_ended(migration):
        return migration
    if count is not None:
        migration = running(migration, now, count)
        why = f"{count.left}/{count.total} not yet migrated. {why}"
    reason = "StorageVersionMigrationFailed"
    return _with(migration, _condition(FAILED, "True", reason, why), now)


def finished(migration: Doc, now: str) -> Doc:
    done = _condition(RUNNING, "False", "MigrationCompleted", "Migration completed")
    return _with(migration, done, now)


def _with(migration: Doc, wanted: Doc, now: str) -> Doc:
    status = migration.get("status") or {}
    told = _set(conditions_of(migration), wanted, now)
    return {**migration, "status": {**status, "conditions": told}}


def _condition(kind: str, status: str, reason: str, message: str) -> Doc:
    """What is wrong with an object may be as long as the object."""
    short = message.encode()[:LONGEST_MESSAGE].decode(errors="ignore")
    return {"type": kind, "status": status, "reason": reason, "message": short}


def _set(known: Sequence[Doc] | Iterable[Doc], wanted: Doc, now: str) -> list[Doc]:
    """In its place, or behind the others; since now, if it said something else before."""
    out, is_there = [], False
    for each in known:
        if each.get("type") != wanted["type"]:
            out.append(each)
            continue
        is_there = True
        is_same = each.get("status") == wanted["status"]
        since = each.get("lastTransitionTime", now) if is_same else now
        out.append({**wanted, "lastTransitionTime": since})
    return out if is_there else [*out, {**wanted, "lastTransitionTime": now}]


# what the definition says


def migrating(definition: Doc, name: str, now: str) -> Doc:
    """While the migration of that name runs."""
    told = _condition(MIGRATING, "True", _IS_RUNNING, _text_while(name))
    return _definition_with(definition, told, now)


def migrated(definition: Doc, name: str, now: str, *, succeeded: bool) -> Doc:
    """After it: without its older stored versions, if nobody has changed it meanwhile. Unchanged
    when it does not speak of that migration: another server was faster, and may be at the next.
    """
    known = _find_migrating(definition)
    if known is None or known.get("message") != _text_while(name):
        return definition
    if not succeeded:
        told = _condition(MIGRATING, "False", "MigrationFailed", "The migration has failed")
        return _definition_with(definition, told, now)
    text = "The migration has succeeded"
    is_same = known.get("observedGeneration") == definition["metadata"].get("generation")
    if is_same:
        text += " and the stored versions have been updated"
    else:
        text += " but the stored versions have not been updated due to a generation mismatch"
    told = _condition(MIGRATING, "False", "MigrationSucceeded", text)
    after = _definition_with(definition, told, now)
    if is_same and (storage := storage_version(definition["spec"])):
        after["status"]["storedVersions"] = [storage]
    return after


def _text_while(name: str) -> str:
    return f"Migration {name} is running"


def _find_migrating(definition: Doc) -> Doc | None:
    return next((each for each in conditions(definition) if each.get("type") == MIGRATING), None)


def _definition_with(definition: Doc, wanted: Doc, now: str) -> Doc:
    generation = definition["metadata"].get("generation")
    told = {**wanted, "observedGeneration": generation}
    status = definition.get("status") or {}
    known = _set(conditions(definition), told, now)
    return {**definition, "status": {**status, "conditions": known}}
