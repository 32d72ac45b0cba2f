"""The metadata of a resource that is embedded in another: `x-kubernetes-embedded-resource`."""

from collections.abc import Iterable

from mooring.apiserver.kinds.metadata import validate_annotations, validate_labels
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from mooring.model.names import dns_subdomain


def validate_embedded(metadata: Doc, path: str) -> Iterable[FieldError]:
    name = metadata.get("name")
    if isinstance(name, str) and name:
        for problem in dns_subdomain(name):
            yield invalid(f"{path}.name", name, problem)
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, dict):
        yield from validate_labels(labels, f"{path}.labels")
    if isinstance(annotations, dict):
        yield from validate_annotations(annotations, f"{path}.annotations")
