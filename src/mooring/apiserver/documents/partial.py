"""Objects reduced to their metadata: `PartialObjectMetadata` and its list."""

from collections.abc import Iterable

from mooring.apiserver.request.negotiation import META_V1
from mooring.model.document import Doc


def partial(doc: Doc, api_version: str = META_V1) -> Doc:
    """Shares the metadata of `doc`: encode it before either of the two changes."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": api_version,
        "metadata": doc["metadata"],
    }


def partial_list(docs: Iterable[Doc], list_metadata: Doc, api_version: str = META_V1) -> Doc:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": api_version,
        "metadata": list_metadata,
        "items": [partial(doc, api_version) for doc in docs],
    }
