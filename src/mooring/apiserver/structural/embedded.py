"""Embedded resources: their apiVersion, kind and metadata (signatures)."""
from collections.abc import Callable, Iterable

from mooring.apiserver.structural.contract import Node
from mooring.model.document import Doc
from mooring.model.field_error import FieldError

MetadataCheck = Callable[[Doc, str], Iterable[FieldError]]
"""Complaints about a metadata object, at a path (`spec.template.metadata`)."""


def embedded_problems(doc: Doc, node: Node, check: MetadataCheck) -> list[FieldError]:
    """What is wrong with the type and metadata of the resources embedded in a document."""
    raise NotImplementedError
