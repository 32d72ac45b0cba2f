"""Owners of fields in other versions of an object, where a webhook converts between these.

Each entry of managedFields names fields of the version that its manager wrote. So what a write does
to them is worked out in that version. Converting is not for here: what is not known yet is raised
as `Unconverted`, and the whole is begun again when it is.
"""

from collections.abc import Iterable
from typing import Protocol

from mooring.apiserver.patching.changes import Changes, compare
from mooring.apiserver.patching.shape import Shape
from mooring.model.document import Doc


class Unconverted(Exception):
    """A document is needed in another version."""

    def __init__(self, doc: Doc, api_version: str) -> None:
        super().__init__(api_version)
        self.doc = doc
        self.api_version = api_version


class Versions(Protocol):
    """The versions of one kind."""

    def exists(self, api_version: str) -> bool: ...

    def shape(self, api_version: str) -> Shape | None:
        """None when nobody reads or writes that version any more."""
        ...

    def seen(self, doc: Doc, api_version: str) -> Doc:
        """The document in that version. Raises: Unconverted."""
        ...


def changes_elsewhere(
    versions: Versions | None, wanted: Iterable[str], old: Doc, new: Doc, subresource: str
) -> dict[str, Changes]:
    """How two documents of one version differ in others. Raises: Unconverted."""
    out: dict[str, Changes] = {}
    if versions is None:
        return out
    for version in wanted:
        shape = versions.shape(version)
        if version == new["apiVersion"] or version in out:
            continue
        if shape is None:
            out[version] = Changes({}, {})
        else:
            was, now = versions.seen(old, version), versions.seen(new, version)
            out[version] = compare(was, now, shape, subresource)
    return out
