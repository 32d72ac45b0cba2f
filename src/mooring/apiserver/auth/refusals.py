"""Refusals that name a resource by its words alone: it may not be served, or be a path."""

from mooring.errors import Conflict, Forbidden, NotFound
from mooring.model.field_error import show


def forbidden(group: str, resource: str, name: str, why: str) -> Forbidden:
    """403; an empty resource is a path."""
    if not resource:
        return Forbidden(f"forbidden: {why}")
    what = f"{_qualified(group, resource)} {show(name)}" if name else _qualified(group, resource)
    return Forbidden(f"{what} is forbidden: {why}", details=_details(group, resource, name))


def not_found(group: str, resource: str, name: str) -> NotFound:
    return NotFound(
        f"{_qualified(group, resource)} {show(name)} not found",
        details=_details(group, resource, name),
    )


def conflict(group: str, resource: str, name: str, why: str) -> Conflict:
    what = f"{_qualified(group, resource)} {show(name)}"
    return Conflict(
        f"Operation cannot be fulfilled on {what}: {why}", details=_details(group, resource, name)
    )


def replaced(uid: str) -> str:
    """Why a reference with a uid does not hold: its name is now another object's."""
    return (
        f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )


def _qualified(group: str, resource: str) -> str:
    """`storageclasses.storage.k8s.io`; core resources stand alone."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str) -> dict[str, str]:
    return {key: v for key, v in (("name", name), ("group", group), ("kind", kind)) if v}
