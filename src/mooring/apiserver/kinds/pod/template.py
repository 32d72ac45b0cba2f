"""Pod templates inside other kinds: defaults and validation of the pods that they will make."""

from collections.abc import Iterable

import msgspec

from mooring.apiserver.kinds.metadata import validate_annotations, validate_labels
from mooring.apiserver.kinds.pod.defaults import default_pod_spec
from mooring.apiserver.kinds.pod.validation import validate_pod
from mooring.apiserver.kinds.pod.warnings import warnings
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden


def default_template(template: Doc) -> None:
    default_pod_spec(template.setdefault("spec", {}))


def validate_template(template: Doc, path: str) -> Iterable[FieldError]:
    metadata = template.get("metadata", {})
    yield from validate_labels(metadata.get("labels", {}), f"{path}.labels")
    yield from validate_annotations(metadata.get("annotations", {}), f"{path}.annotations")
    spec = {k: v for k, v in template.get("spec", {}).items() if k != "ephemeralContainers"}
    for error in validate_pod({"metadata": {}, "spec": spec}):
        yield msgspec.structs.replace(error, field=f"{path}.{error.field}")
    if template.get("spec", {}).get("ephemeralContainers"):
        yield forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def template_warnings(template: Doc, path: str) -> Iterable[str]:
    named = {"metadata": {"name": "template"}, "spec": template.get("spec", {})}
    for warning in warnings(named):
        yield f"{path}.{warning}" if warning.startswith("spec.") else warning
