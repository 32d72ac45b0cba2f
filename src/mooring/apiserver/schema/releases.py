"""Messages as each release has them: without the fields that came later, or had gone.

A message that differs exists once more, in a package that is marked with the release:
`core.v1.Pod` as 1.35 had it is `core.v1@35.Pod`. So do all messages that refer to one that differs.
"""

from collections.abc import Iterable, Mapping

import msgspec

from mooring.apiserver.schema.contract import Field, Message
from mooring.model.kubernetes_version import NEWEST

_MARK = "@"


def newest_messages(messages: Mapping[str, Message]) -> dict[str, Message]:
    """Under their own names; those that nobody refers to any more are kept."""
    return {
        name: msgspec.structs.replace(
            message, fields={n: f for n, f in message.fields.items() if _is_in(f, NEWEST.minor)}
        )
        for name, message in messages.items()
    }


def older_messages(messages: Mapping[str, Message], minors: Iterable[int]) -> dict[str, Message]:
    """By their marked names, those that differ in these releases."""
    found: dict[str, Message] = {}
    for minor in minors:
        differing = _differing(messages, minor)
        for name in differing:
            older = _older(messages[name], minor, differing)
            found[older.name] = older
    return found


def name_at(message: str, minor: int) -> str:
    """The marked name, whether or not the message differs there."""
    package, _, name = message.rpartition(".")
    return f"{package}{_MARK}{minor}.{name}"


def newest_name(message: str) -> str:
    """Without the mark."""
    package, mark, rest = message.partition(_MARK)
    return f"{package}.{rest.partition('.')[2]}" if mark else message


def _is_in(field: Field, minor: int) -> bool:
    return field.since <= minor <= field.until


def _differing(messages: Mapping[str, Message], minor: int) -> set[str]:
    differing = {
        name
        for name, message in messages.items()
        if any(_is_in(f, minor) != _is_in(f, NEWEST.minor) for f in message.fields.values())
    }
    found = differing
    while found:
        found = {
            name
            for name, message in messages.items()
            if name not in differing
            and any(field.type in differing for field in message.fields.values())
        }
        differing |= found
    return differing


def _older(message: Message, minor: int, differing: set[str]) -> Message:
    fields = {
        name: _marked(field, minor) if field.type in differing else field
        for name, field in message.fields.items()
        if _is_in(field, minor)
    }
    return msgspec.structs.replace(message, name=name_at(message.name, minor), fields=fields)


def _marked(field: Field, minor: int) -> Field:
    return msgspec.structs.replace(field, type=name_at(str(field.type), minor))
