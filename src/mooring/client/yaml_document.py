"""Reading one YAML document from an untrusted file.

The YAML library recurses: a deeply nested document would crash this process, and aliases of aliases
would expand without limit. So the parser's events are counted before anything is built.
"""

from typing import Any

import yaml

MOST_BYTES = 8 << 20
MOST_DEPTH = 100
MOST_NODES = 100_000  # an alias counts as the nodes it stands for

_BROKEN = (
    yaml.YAMLError,
    ValueError,  # an invalid date, a number of 5,000 digits, invalid Unicode
    LookupError,  # a tag that contradicts its value
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class NotYaml(Exception):
    """The document cannot be read; `where` names the line, if known, and never its content."""

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
    """Raises: NotYaml for a document with too many nodes, and what the parser raises."""
    sizes: dict[str, int] = {}  # nodes of each complete anchor
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
