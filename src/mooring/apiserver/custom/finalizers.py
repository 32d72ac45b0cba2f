"""Finalizers of custom objects that anybody might use: allowed, and warned of."""

from collections.abc import Iterable

from mooring.apiserver.kinds.metadata import STANDARD_FINALIZERS
from mooring.model.document import Doc
from mooring.model.field_error import show

_WARNING = (
    "metadata.finalizers: {}: prefer a domain-qualified finalizer name{} to avoid accidental "
    "conflicts with other finalizer writers"
)


def finalizer_warnings(new: Doc, old: Doc | None = None) -> Iterable[str]:
    """Of those that are new."""
    before = (old or {}).get("metadata", {}).get("finalizers") or ()
    for name in new["metadata"].get("finalizers") or ():
        if "/" not in name and name not in STANDARD_FINALIZERS and name not in before:
            yield _WARNING.format(show(name), " including a path (/)" if "." in name else "")
