"""Spec and status have different writers: the main path may not touch status, `/status` no more.

The kept part is shared with the stored document, not copied: neither is changed afterwards.
"""

from mooring.apiserver.kinds.contract import Context
from mooring.model.document import Doc

_OF_EVERY_KIND = frozenset(("apiVersion", "kind", "metadata", "status"))


def keep_status(new: Doc, old: Doc, _: Context) -> None:
    """On the main path: the status stays as it was."""
    keep(new, old, "status")


def keep_all_but_status(new: Doc, old: Doc, _: Context) -> None:
    """On the status path: everything but status (and metadata, a matter of manners) stays."""
    for field in (new.keys() | old.keys()) - _OF_EVERY_KIND:
        keep(new, old, field)


def keep(new: Doc, old: Doc, field: str) -> None:
    """One field stays as it was, be it that it was absent."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)
