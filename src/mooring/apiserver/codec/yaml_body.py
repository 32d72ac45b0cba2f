"""YAML bodies, read as Kubernetes reads them: as JSON in other clothes.

Built from the parser's events, without recursion, so that neither depth nor aliases can hurt.
No value becomes a date, a number to base 60 or binary data; keys become strings. Errors are
ValueErrors.
"""

import json
from typing import Any

import msgspec
import yaml

from mooring.apiserver.codec.yaml_scalars import key_text, scalar_value
from mooring.apiserver.limits.budgets import MOST_YAML_NODES
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.pairs import Pairs, Read

_MOST_DEPTH = 100
_MOST_SIZE = 3 * 1024 * 1024
"""Characters of all scalars, after aliases were followed: no more than a body may have anyway."""


def read_yaml(body: bytes) -> Read:
    """Decode `body`, which holds one document or none. Raises: ValueError."""
    if body.lstrip().startswith(b"{"):
        try:  # kubectl sends JSON under this name
            return read_json(body)
        except ValueError:
            pass  # `{a: 1}` is YAML all the same
    try:
        builder = _follow(body)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        where = f"line {line + 1}: " if line else ""
        raise ValueError(f"yaml: {where}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError("yaml: control characters are not allowed") from error
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise ValueError("yaml: invalid UTF-8") from error
    value = _plain(builder.root)
    if builder.repeats:
        return Read(value, builder.root, tuple(builder.repeats))
    return Read(value)


def _plain(written: Any) -> Any:
    if isinstance(written, Pairs):
        return {key: _plain(value) for key, value in written}
    if isinstance(written, list):
        return [_plain(value) for value in written]
    return written


def _follow(body: bytes) -> "_Builder":
    builder = _Builder()
    for count, event in enumerate(yaml.parse(body, Loader=yaml.CSafeLoader)):
        if count > 2 * MOST_YAML_NODES:
            raise ValueError("yaml: document is too large")
        match event:
            case yaml.ScalarEvent():
                builder.scalar(event)
            case yaml.MappingStartEvent():
                builder.open(Pairs(), event.anchor)
            case yaml.SequenceStartEvent():
                builder.open([], event.anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                builder.close()
            case yaml.AliasEvent():
                builder.alias(event.anchor or "")
            case yaml.DocumentStartEvent():
                builder.begin_document()
            case _:
                pass  # the ends of documents and of the stream
    return builder


class _Node(msgspec.Struct):
    """A value: while it is being built, and when it stands behind an anchor."""

    value: Any
    anchor: str | None = None
    nodes: int = 1  # it and all below it
    size: int = 0  # characters of all scalars in it
    height: int = 0
    key: str | None = None  # of the entry whose value comes next
    merging: bool = False  # the value that comes next belongs to a `<<`
    merges: list[Pairs] = []
    keys: set[str] = set()

    @property
    def expects_key(self) -> bool:
        return isinstance(self.value, Pairs) and self.key is None and not self.merging


class _Builder:
    def __init__(self) -> None:
        self.root: Any = None
        self.line = 0  # of the last scalar
        self.repeats: list[str] = []
        self.documents = 0
        self.unfinished: list[_Node] = []
        self.anchors: dict[str, _Node | None] = {}

    def begin_document(self) -> None:
        self.documents += 1
        if self.documents > 1:
            raise ValueError("yaml: more than one document")

    def open(self, value: Any, anchor: str | None) -> None:
        if len(self.unfinished) >= _MOST_DEPTH:
            raise ValueError("yaml: exceeded max depth")
        if anchor is not None:
            self.anchors[anchor] = None  # not to be used before it is whole
        self.unfinished.append(_Node(value, anchor))

    def close(self) -> None:
        node = self.unfinished.pop()
        if node.merges:
            _merge(node.value, node.merges)
        self.finish(node)

    def scalar(self, event: yaml.ScalarEvent) -> None:
        plain = event.implicit[0]
        if plain and event.value == "<<" and self.unfinished and self.unfinished[-1].expects_key:
            self.unfinished[-1].merging = True
            return
        self.line = event.start_mark.line + 1 if event.start_mark else 0
        value = scalar_value(event.value, event.tag, plain=plain)
        self.finish(_Node(value, event.anchor, size=len(event.value)))

    def alias(self, anchor: str) -> None:
        if anchor not in self.anchors:
            raise ValueError(f"yaml: unknown anchor '{anchor}' referenced")
        node = self.anchors[anchor]
        if node is None:
            raise ValueError(f"yaml: anchor '{anchor}' value contains itself")
        if len(self.unfinished) + node.height > _MOST_DEPTH:
            raise ValueError("yaml: exceeded max depth")
        self.finish(node)

    def finish(self, node: _Node) -> None:
        """Put a whole value in its place: as a key, as a value, or as the document."""
        if node.anchor is not None:
            self.anchors[node.anchor] = node
        if not self.unfinished:
            self.root = node.value
            return
        parent = self.unfinished[-1]
        parent.nodes += node.nodes
        parent.size += node.size
        if parent.nodes > MOST_YAML_NODES or parent.size > _MOST_SIZE:
            raise ValueError("yaml: document is too large, or contains excessive aliasing")
        parent.height = max(parent.height, node.height + 1)
        if parent.expects_key:
            parent.key = key_text(node.value)
            if parent.key in parent.keys:
                shown = json.dumps(parent.key)  # of one line, whatever is in it
                self.repeats.append(f"line {self.line}: key {shown} already set in map")
            parent.keys.add(parent.key)
        elif parent.merging:
            parent.merges += _maps_to_merge(node.value)
            parent.merging = False
        elif isinstance(parent.value, Pairs):
            parent.value.append((parent.key or "", node.value))
            parent.key = None
        else:
            parent.value.append(node.value)


def _maps_to_merge(value: Any) -> list[Pairs]:
    maps = [value] if isinstance(value, Pairs) else value
    if not isinstance(maps, list) or not all(isinstance(each, Pairs) for each in maps):
        raise ValueError("yaml: map merge requires map or sequence of maps as the value")
    return maps


def _merge(target: Pairs, sources: list[Pairs]) -> None:
    """Add what `target` does not have itself; of two sources, the first one wins."""
    present = set(dict(target))
    for source in sources:
        added = [(key, value) for key, value in source if key not in present]
        target.extend(added)
        present.update(key for key, _ in added)
