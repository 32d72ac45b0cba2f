"""The attributes of a request that authorization decides on, and its verdict."""

from collections.abc import Callable

import msgspec

from mooring.apiserver.auth.user import User


class AccessAttributes(msgspec.Struct, frozen=True, gc=False):
    """One request in the words of authorization: a verb on a resource, or on a path.

    `name` is the object's; a list or watch that is limited to one name has it by `with_name`.
    `path` is given for what is no resource (`/version`), and then `resource` is empty.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""


AccessCheck = Callable[[User, AccessAttributes], None]
"""Raises Forbidden."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    allowed: bool
    reason: str = ""


ALLOWED = Verdict(allowed=True)
NO_OPINION = Verdict(allowed=False)


def with_name(attributes: AccessAttributes) -> AccessAttributes:
    """A list or watch whose field selector leaves one name is about the object of that name."""
    if not attributes.field_selector or attributes.name or attributes.verb not in {"list", "watch"}:
        return attributes
    name = find_required(attributes.field_selector, "metadata.name")
    return msgspec.structs.replace(attributes, name=name) if name else attributes


def find_required(selector: str, field: str) -> str | None:
    """The one value that a field selector demands of `field`; None when it leaves a choice.

    Only what is certain counts: a selector with escapes proves nothing here.
    """
    if "\\" in selector:
        return None
    for term in selector.split(","):
        key, equals, value = term.partition("=")
        if equals and key == field:
            return value.removeprefix("=")
    return None
