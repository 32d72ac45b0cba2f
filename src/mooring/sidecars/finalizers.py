"""Finalizers as patches with the resourceVersion: two concurrent writers never lose one."""

from mooring.model.document import Doc
from mooring.model.meta import ApiObject


def has_finalizer(it: ApiObject, finalizer: str) -> bool:
    return finalizer in it.metadata.finalizers


def adding(it: ApiObject, finalizer: str) -> Doc:
    """Metadata that has it, to be merged."""
    return {"finalizers": [*it.metadata.finalizers, finalizer]}


def removing(it: ApiObject, finalizer: str) -> Doc:
    """Metadata without it, to be merged."""
    return {"finalizers": [each for each in it.metadata.finalizers if each != finalizer] or None}
