"""What a value was before an update, found by the same way: ratcheting compares the two.

Fields correlate by name, values of maps by key, items of lists of type `map` by their keys; items
of other lists do not.
"""

from typing import Any

from mooring.apiserver.structural.values import canonical, same
from mooring.model.document import Doc


class Before:
    """A value before the update, and the schema that says what of it correlates."""

    __slots__ = ("_by_keys", "schema", "value")

    def __init__(self, value: Any, schema: Doc) -> None:
        self.value = value
        self.schema = schema
        self._by_keys: dict[bytes | int, Any] | None = None

    def is_same(self, value: Any) -> bool:
        return same(self.value, value)

    def field(self, name: str) -> "Before | None":
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        child = (self.schema.get("properties") or {}).get(name)
        if child is None:
            child = self.schema.get("additionalProperties")
        return Before(self.value[name], child) if isinstance(child, dict) else None

    def item(self, item: Any) -> "Before | None":
        child = self.schema.get("items")
        if self.schema.get("x-kubernetes-list-type") != "map" or not isinstance(child, dict):
            return None
        if not isinstance(self.value, list) or not isinstance(item, dict):
            return None
        if self._by_keys is None:
            held = [old for old in self.value if isinstance(old, dict)]
            self._by_keys = {self._keys(old): old for old in reversed(held)}
        old = self._by_keys.get(self._keys(item))
        return None if old is None else Before(old, child)

    def _keys(self, item: Doc) -> bytes | int:
        names = self.schema.get("x-kubernetes-list-map-keys") or ()
        return canonical({name: item[name] for name in names if name in item})
