"""Privilege escalation: only a user with all rights may write roles and role bindings.

Kubernetes also admits a user who has just the rights in question; that is not computed here.
"""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.auth.user import MASTERS
from mooring.apiserver.request.refusals import forbidden
from mooring.model.document import Doc
from mooring.model.field_error import show

_GARBAGE_COLLECTION = frozenset({"ownerReferences", "finalizers"})
_VOLATILE = frozenset({"resourceVersion", "managedFields", "selfLink"})


def check(attributes: AdmissionAttributes, _: Objects) -> None:
    if MASTERS in attributes.user.groups or not _gives(attributes):
        return
    groups = " ".join(map(show, attributes.user.groups))
    raise forbidden(
        attributes.kind,
        attributes.name,
        f"user {show(attributes.user.name)} (groups=[{groups}]) is attempting to grant RBAC "
        "permissions not currently held",
    )


def _gives(attributes: AdmissionAttributes) -> bool:
    """Only the metadata that garbage collection changes gives nothing: a label may be what an
    aggregated role looks for, and any other change may give again what its writer never had."""
    new, old = attributes.new or {}, attributes.old
    if old is None:
        return True
    return _content(new) != _content(old)


def _content(doc: Doc) -> Doc:
    """What counts; an empty value is no value."""
    metadata = doc.get("metadata") or {}
    counted = metadata.keys() - _GARBAGE_COLLECTION - _VOLATILE
    own = {field: value for field, value in doc.items() if field != "metadata"}
    whole = {**own, "metadata": {field: metadata[field] for field in counted if metadata[field]}}
    return {field: value for field, value in whole.items() if value}
