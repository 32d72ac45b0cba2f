"""Parts of versions, and how errors name them.

What is equal in all versions is moved up to the spec before upstream validates it, so errors about
it name a field of the spec that no document has. Clients match on these paths.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mooring.model.document import Doc

_MOVED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


class Part(NamedTuple):
    """A part of one version, or of all that have it alike."""

    path: str
    value: Any
    version: Doc  # the first that has it


def parts(spec: Doc, name: str) -> Iterator[Part]:
    """The values of `name` in the versions, absent ones left out."""
    versions = spec.get("versions") or []
    if not versions:
        return
    first = versions[0].get(name)
    if all(version.get(name) == first for version in versions[1:]):
        if first is not None:
            yield Part(f"spec.{_MOVED[name]}", first, versions[0])
        return
    for index, version in enumerate(versions):
        if version.get(name) is not None:
            yield Part(f"spec.versions[{index}].{name}", version[name], version)
