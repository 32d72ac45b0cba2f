"""Reading OpenAPI documents back, to see whether they hold together."""

from collections.abc import Iterator
from typing import Any


def references(node: Any) -> Iterator[str]:
    """Every `$ref` in a document."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list | tuple):
        for item in node:
            yield from references(item)


def resolve(document: Any, reference: str) -> Any:
    """What a reference points at; KeyError if there is nothing."""
    assert reference.startswith("#/")
    node = document
    for step in reference[2:].split("/"):
        node = node[step]
    return node
