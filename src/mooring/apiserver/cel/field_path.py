"""`fieldPath` of a rule: which field the error names, as `.a.b['c']`."""

import re

from mooring.apiserver.structural.contract import Node

_part = re.compile(r"\.([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]")
_escape = re.compile(r"\\(.)")
_ESCAPES = {
    **{"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"},
    **{"'": "'", "\\": "\\"},
}


def resolve(path: str, node: Node) -> str | None:
    """The path as errors write it; None: it leads nowhere in the schema."""
    at, found = 0, ""
    while at < len(path):
        match = _part.match(path, at)
        if match is None:
            return None
        name = match.group(1) or _unquoted(match.group(2) or "")
        if name is None:
            return None
        if node.properties:
            if name not in node.properties:
                return None
            found, node = f"{found}.{name}" if found else name, node.properties[name]
        elif isinstance(node.additional, Node):
            found, node = f"{found}[{name}]", node.additional
        else:
            return None
        at = match.end()
    return found or None


def _unquoted(text: str) -> str | None:
    if any(escape not in _ESCAPES for escape in _escape.findall(text)):
        return None
    return _escape.sub(lambda match: _ESCAPES[match.group(1)], text)
