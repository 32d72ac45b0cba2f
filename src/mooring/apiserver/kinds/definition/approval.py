"""Groups of the Kubernetes project: a definition in one of them says who approved it."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required

ANNOTATION = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "https://github.com/kubernetes/enhancements/pull/1111"


class Approval(Enum):
    """The reason of the condition."""

    APPROVED = "ApprovedAnnotation"
    UNAPPROVED = "UnapprovedAnnotation"
    MISSING = "MissingAnnotation"
    INVALID = "InvalidAnnotation"


class Verdict(NamedTuple):
    approval: Approval
    message: str


def is_protected(group: str) -> bool:
    return any(group == name or group.endswith(f".{name}") for name in _PROTECTED)


def approval(definition: Doc) -> Verdict:
    """What the annotation says. Before: the group is protected."""
    said = (definition["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    if not said:
        return Verdict(
            Approval.MISSING,
            f'protected groups must have approval annotation "{ANNOTATION}", see {_SEE}',
        )
    if said.startswith("unapproved"):
        return Verdict(Approval.UNAPPROVED, f'not approved: "{said}"')
    try:
        url = urlsplit(said)
    except ValueError:
        url = urlsplit("")
    if url.scheme and url.netloc:
        return Verdict(Approval.APPROVED, f"approved in {said}")
    return Verdict(
        Approval.INVALID,
        f'protected groups must have approval annotation "{ANNOTATION}" with either a URL or a '
        f'reason starting with "unapproved", see {_SEE}',
    )


def validate_approval(definition: Doc, old: Doc | None = None) -> Iterable[FieldError]:
    """An old definition without the annotation may go on without it."""
    if not is_protected(definition["spec"].get("group", "")):
        return
    found = approval(definition)
    if found.approval in (Approval.APPROVED, Approval.UNAPPROVED):
        return
    if old is not None and approval(old) == found:
        return
    path = f"metadata.annotations[{ANNOTATION}]"
    if found.approval is Approval.MISSING:
        yield required(path, found.message)
    else:
        said = definition["metadata"]["annotations"][ANNOTATION]
        yield invalid(path, said, found.message)
