"""Names of properties as names in expressions, which have fewer characters."""

import re

_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
_MARKS = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_NAMES = {name: mark for mark, name in _MARKS.items()}
_escaped = re.compile(r"__|[-./]")
_marks = re.compile(r"__([^_]+)__")
_can_be = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII).fullmatch


def escape(name: str) -> str | None:
    """The name in expressions; None: it has none."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _can_be(name):
        return None
    return _escaped.sub(lambda match: f"__{_MARKS[match.group()]}__", name)


def is_reserved(name: str) -> bool:
    """Whether it is an escaped word of the language."""
    whole = _marks.fullmatch(name)
    return whole is not None and whole.group(1) in _RESERVED


def unescape(name: str) -> str:
    """The name of the property."""
    if is_reserved(name):
        return name[2:-2]
    return _marks.sub(lambda match: _NAMES.get(match.group(1), match.group()), name)
