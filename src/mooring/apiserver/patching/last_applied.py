"""The annotation in which `kubectl apply` keeps what it sent, before there was server-side apply.

When the same client applies on the server's side, what the annotation says and the live document
still has is its own doing, and no conflict; and the annotation is kept up to date, for an older
`kubectl` to find.
"""

import json
from typing import Any

from mooring.apiserver.patching import field_set
from mooring.apiserver.patching.changes import compare
from mooring.apiserver.patching.conformity import complaints
from mooring.apiserver.patching.field_set import FieldSet
from mooring.apiserver.patching.overlay import settled
from mooring.apiserver.patching.shape import Shape
from mooring.model.document import Doc

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

MOST_ANNOTATION_BYTES = 256 * 1024


def agreed_fields(live: Doc, api_version: str, shape: Shape, subresource: str) -> FieldSet:
    """The fields that are live as the annotation has them; none, if it cannot be understood."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return {}
    try:
        last = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return {}
    if next(complaints(last, shape), None) is not None:
        return {}
    last = settled(last, shape)
    changes = compare(last, live, shape, subresource)
    fields = field_set.mentioned(last, shape)
    return field_set.difference(field_set.difference(fields, changes.written), changes.removed)


def with_last_applied(doc: Doc, applied: Doc) -> Doc:
    """The document; its annotation, if it has one, says what was applied now."""
    annotations = _annotations(doc)
    if not annotations.get(ANNOTATION):
        return doc
    metadata = applied.get("metadata") or {}
    rest = {k: v for k, v in _annotations(applied).items() if k != ANNOTATION}
    if "annotations" in metadata:
        metadata = {**metadata, "annotations": rest}
    text = json.dumps(
        {**applied, "metadata": metadata}, ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    size = sum(
        len(k.encode()) + len(v.encode()) for k, v in {**annotations, ANNOTATION: text}.items()
    )
    if size < MOST_ANNOTATION_BYTES:
        annotations[ANNOTATION] = f"{text}\n"
    else:
        del annotations[ANNOTATION]
    return doc


def _annotations(doc: Doc) -> dict[str, Any]:
    annotations = (doc.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}
