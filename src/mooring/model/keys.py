"""Keys of objects in caches and queues: namespace and name."""

import msgspec


class Key(msgspec.Struct, frozen=True, order=True, cache_hash=True):
    """`namespace` is empty for cluster-scoped objects."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def parse_key(text: str) -> Key:
    """The reverse of `str`. Raises: ValueError when there is more than one slash or no name."""
    namespace, _, name = text.rpartition("/")
    if not name or "/" in namespace:
        raise ValueError(f"not a key: {text!r}")
    return Key(namespace, name)
