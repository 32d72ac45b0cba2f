"""Old values of parts of a document, and whether a part has changed."""

from typing import Any

from mooring.apiserver.structural.contract import ListType, Node
from mooring.apiserver.structural.values import same

_SCALARS = (bool, float, int, str)


class Correlation:
    """A part of a document beside the same part of the document it replaces."""

    __slots__ = ("_changed", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: Node) -> None:
        self.new = new
        self.old = old
        self.node = node
        self._changed: bool | None = None

    @property
    def unchanged(self) -> bool:
        if self._changed is None:
            self._changed = not _equal(self.new, self.old, self.node)
        return not self._changed

    def key(self, name: str) -> "Correlation | None":
        if not isinstance(self.old, dict) or name not in self.old or name not in self.new:
            return None
        inner = _inner(self.node, name)
        return None if inner is None else Correlation(self.new[name], self.old[name], inner)

    def item(self, new: Any, old: Any) -> "Correlation | None":
        """An item beside the one with its keys."""
        if old is None or self.node.items is None:
            return None
        return Correlation(new, old, self.node.items)


def _inner(node: Node, name: str) -> Node | None:
    if name in node.properties:
        return node.properties[name]
    return node.additional if isinstance(node.additional, Node) else None


class OldItems:
    """Items of an old list by their keys; only those of list-type map have any."""

    def __init__(self, node: Node, old: Any) -> None:
        self._keys = node.list_keys
        self._by_key: dict[tuple[Any, ...], Any] = {}
        if node.list_type is ListType.MAP and isinstance(old, list):
            for item in old:
                key = self._key(item)
                if key is not None:
                    self._by_key.setdefault(key, item)

    def get(self, item: Any) -> Any:
        key = self._key(item) if self._by_key else None
        return None if key is None else self._by_key.get(key)

    def _key(self, item: Any) -> tuple[Any, ...] | None:
        if not isinstance(item, dict):
            return None
        key = tuple((type(item.get(name)), item.get(name)) for name in self._keys)
        return key if all(kind in _SCALARS for kind, _ in key) else None


def _equal(new: Any, old: Any, node: Node | None) -> bool:
    """Whether a part is the same; items of list-type map may have moved."""
    if node is None:
        return same(new, old)
    if isinstance(new, list) and isinstance(old, list):
        if node.list_type is not ListType.MAP or node.items is None:
            return same(new, old)
        items = OldItems(node, old)
        return len(new) == len(old) and all(
            _equal(item, items.get(item), node.items) for item in new
        )
    if isinstance(new, dict) and isinstance(old, dict):
        if len(new) != len(old):
            return False
        for name, value in new.items():
            if name not in old:
                return False
            if not _equal(value, old[name], _inner(node, name)):
                return False
        return True
    return same(new, old)
