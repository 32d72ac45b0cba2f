"""The subresources of a kind, `status` included, and the group and version of their documents."""

from mooring.apiserver.kinds.contract import Kind, Subresource

_STATUS_VERBS = ("get", "patch", "update")


def subresources(kind: Kind) -> list[Subresource]:
    """All parts of an object that have a path of their own, by name."""
    parts = list(kind.subresources)
    if kind.status:
        parts.append(Subresource("status", _STATUS_VERBS, kind.kind))
    return sorted(parts, key=lambda part: part.name)


def answers_in(kind: Kind, part: Subresource) -> tuple[str, str]:
    """The group and version of the documents that a subresource deals in."""
    return (part.group or kind.group, part.version or kind.version)
