"""Garbage collection: which objects owner references let go, decided over what exists. Pure.

A dependent goes when none of its owners exists any more. An owner that is deleted in the foreground
waits for the dependents that block it; one that orphans lets go of them first.
"""

from collections.abc import Sequence

import msgspec

from mooring.model.document import Doc

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class StoreKey(msgspec.Struct, frozen=True):
    """Where an object is stored: its table, and its name there."""

    table: str
    name: str  # `namespace/name`, or `name`


class Reference(msgspec.Struct, frozen=True):
    """One owner reference of an object, and what was found at its end."""

    uid: str
    exists: bool  # also when it cannot be known: what cannot be looked up is never taken for gone
    blocks: bool = False  # blockOwnerDeletion
    foreground: bool = False  # that owner is being deleted in the foreground


class Dependent(msgspec.Struct, frozen=True):
    key: StoreKey
    uid: str
    deleting: bool
    references: tuple[Reference, ...]
    foreground: bool = False  # it waits for dependents of its own

    def blocks(self, owner: str) -> bool:
        return any(r.uid == owner and r.blocks for r in self.references)


class Delete(msgspec.Struct, frozen=True):
    key: StoreKey
    uid: str
    because: str
    foreground: bool = False  # an owner waits: its own dependents go before it


class DropReferences(msgspec.Struct, frozen=True):
    """Take these owners out of the object's owner references."""

    key: StoreKey
    owners: frozenset[str]
    because: str


class DropFinalizer(msgspec.Struct, frozen=True):
    key: StoreKey
    finalizer: str
    because: str


Step = Delete | DropReferences | DropFinalizer


def decide_dependent(dependent: Dependent) -> tuple[Step, ...]:
    """What becomes of an object, seen from its owners."""
    if dependent.deleting or not dependent.references:
        return ()
    key, uid = dependent.key, dependent.uid
    leaving = [r for r in dependent.references if r.foreground or not r.exists]
    if not leaving:
        return ()
    if len(leaving) < len(dependent.references):
        owners = frozenset(r.uid for r in leaving)
        return (DropReferences(key, owners, "other owners remain"),)
    if any(r.foreground for r in leaving):
        return (Delete(key, uid, "its owner goes, dependents first", foreground=True),)
    return (Delete(key, uid, "none of its owners exists"),)


def decide_owner(
    key: StoreKey, uid: str, finalizers: Sequence[str], dependents: Sequence[Dependent]
) -> tuple[Step, ...]:
    """What a terminating owner waits for."""
    if ORPHAN in finalizers:
        drops = [
            DropReferences(d.key, frozenset({uid}), "its owner lets go of it") for d in dependents
        ]
        return (*drops, DropFinalizer(key, ORPHAN, "no dependent refers to it any more"))
    if FOREGROUND in finalizers:
        steps = [step for d in dependents for step in decide_dependent(d)]
        if not any(d.blocks(uid) for d in dependents):
            steps.append(DropFinalizer(key, FOREGROUND, "no dependent blocks it"))
        return tuple(steps)
    return ()


def without_references(doc: Doc, owners: frozenset[str]) -> Doc:
    metadata = dict(doc["metadata"])
    kept = [r for r in metadata.get("ownerReferences", ()) if r["uid"] not in owners]
    if kept:
        metadata["ownerReferences"] = kept
    else:
        metadata.pop("ownerReferences", None)
    return {**doc, "metadata": metadata}


def without_finalizer(doc: Doc, finalizer: str) -> Doc:
    metadata = dict(doc["metadata"])
    kept = [f for f in metadata.get("finalizers", ()) if f != finalizer]
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)
    return {**doc, "metadata": metadata}
