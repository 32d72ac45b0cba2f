"""`WWW-Authenticate`: how a registry wants to be logged in to. Pure."""

import re
from collections.abc import Iterable, Mapping

import msgspec

_MOST = 8 << 10  # characters of a header that is looked at
_SCHEME = re.compile(r"\s*,?\s*([A-Za-z][A-Za-z0-9._-]*)(?:\s+|$)")
_PARAMETER = re.compile(r'\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ESCAPED = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True):
    scheme: str  # in lower case
    parameters: Mapping[str, str] = {}


def parse(headers: Iterable[str]) -> tuple[Challenge, ...]:
    """All of them, as far as they can be understood."""
    found: list[Challenge] = []
    for header in headers:
        text, at = header[:_MOST], 0
        while scheme := _SCHEME.match(text, at):
            at = scheme.end()
            parameters: dict[str, str] = {}
            while pair := _PARAMETER.match(text, at):
                name, quoted, plain = pair.groups()
                parameters[name.lower()] = _ESCAPED.sub(r"\1", quoted) if plain is None else plain
                at = pair.end()
            found.append(Challenge(scheme.group(1).lower(), parameters))
    return tuple(found)


def choose(found: Iterable[Challenge], *, has_login: bool) -> Challenge | None:
    """The one to answer: a token where there are tokens, else the password itself."""
    every = list(found)
    for one in every:
        if one.scheme == "bearer" and one.parameters.get("realm"):
            return one
    return next((one for one in every if one.scheme == "basic" and has_login), None)
