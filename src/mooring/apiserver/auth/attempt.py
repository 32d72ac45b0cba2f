"""What somebody tries to do, and what is said about it."""

import msgspec


class Attempt(msgspec.Struct, frozen=True, gc=False):
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


class Verdict(msgspec.Struct, frozen=True, gc=False):
    allowed: bool
    reason: str = ""


ALLOWED = Verdict(allowed=True)
NO_OPINION = Verdict(allowed=False)


def with_name(attempt: Attempt) -> Attempt:
    """A list or watch whose field selector leaves one name is about the object of that name."""
    if not attempt.field_selector or attempt.name or attempt.verb not in {"list", "watch"}:
        return attempt
    name = find_required(attempt.field_selector, "metadata.name")
    return msgspec.structs.replace(attempt, name=name) if name else attempt


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
