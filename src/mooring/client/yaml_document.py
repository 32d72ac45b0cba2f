"""One YAML document from a file, whatever is in it.

Somebody else's parser recurses: what is nested deeply ends this process, and aliases of aliases
would grow without limit. So the events of the file are counted before anything is built.
"""

from typing import Any

import yaml

MOST_BYTES = 8 << 20
MOST_DEPTH = 100
MOST_NODES = 100_000  # aliases count as what they stand for

_BROKEN = (
    yaml.YAMLError,
    ValueError,  # a date that is none, a number of 5,000 digits, text that is not Unicode
    LookupError,  # a tag that contradicts its value
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class NotYaml(Exception):
    """It cannot be read; `where` says at which line, if that is known, and never what is there."""

    def __init__(self, where: str = "") -> None:
        super().__init__(f"is not YAML{where}")


def read_yaml(content: bytes) -> Any:
    """Raises: NotYaml."""
    if len(content) > MOST_BYTES:
        raise NotYaml(f" of at most {MOST_BYTES} bytes")
    try:
        _count(content)
        return yaml.load(content, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise NotYaml("" if mark is None else f" (line {mark.line + 1})") from None
    except _BROKEN:
        raise NotYaml from None


def _count(content: bytes) -> None:
    """Raises: NotYaml for a document that would cost too much; what the parser raises."""
    sizes: dict[str, int] = {}  # of what has an anchor, when it is complete
    open_nodes: list[tuple[str | None, int]] = []  # anchor, and the count when it began
    nodes = 0
    for event in yaml.parse(content, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor or "")
            if size is None:
                raise NotYaml(" without loops")
            nodes += size
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, nodes))
            nodes += 1
            if event.anchor is not None:
                sizes.pop(event.anchor, None)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, began = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = nodes - began
        if len(open_nodes) > MOST_DEPTH or nodes > MOST_NODES:
            raise NotYaml(f" of at most {MOST_NODES} values, {MOST_DEPTH} deep")
