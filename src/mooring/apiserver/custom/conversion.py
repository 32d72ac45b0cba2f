"""From the version that an object is stored in to the one that a client reads.

Strategy None: only `apiVersion` is another, which the reader of a stored document sets. What the
schema of either version does not know goes, and its defaults come. A stored document may be older
than today's schema, so this is done even where both are the same version.
"""

from collections.abc import Callable

from mooring.apiserver.custom.structure import VersionStructure
from mooring.model.document import Doc


def conversion(stored: VersionStructure, wanted: VersionStructure) -> Callable[[Doc], None]:
    """Brings a document from the store, in place, to what readers of `wanted` see."""
    if stored is wanted:
        return stored.renew

    def convert(doc: Doc) -> None:
        stored.renew(doc)
        wanted.renew(doc)

    return convert
