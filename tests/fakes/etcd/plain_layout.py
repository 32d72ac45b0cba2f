"""Values of any bytes, for tests of the engine: head, tail and mark, with zeroes between them."""

from mooring.apiserver.store.contract import Entry, Put
from mooring.apiserver.store.etcd.layout import UnreadableValue


class PlainLayout:
    prefix = b"/registry/"

    def __init__(self, seconds: dict[str, int] | None = None) -> None:
        self._seconds = seconds or {}

    def key(self, table: str, name: str) -> bytes:
        return b"%b%b/%b" % (self.prefix, table.encode(), name.encode())

    def find_place(self, key: bytes) -> tuple[str, str] | None:
        table, slash, name = key.removeprefix(self.prefix).decode().partition("/")
        return (table, name) if slash else None

    def value(self, table: str, put: Put, mark: int) -> bytes:
        del table
        return b"%b\0%b\0%d" % (put.head, put.tail, mark)

    def entry(self, table: str, name: str, value: bytes, revision: int) -> Entry:
        if value.count(b"\0") != 2:
            raise UnreadableValue(f"{table}/{name} is garbled")
        head, tail, _ = value.split(b"\0")
        return Entry(table, name, Put(head, tail).stamp(revision), revision)

    def restamped(self, entry: Entry, revision: int) -> Entry:
        value = entry.value.removesuffix(b"%d" % entry.revision) + b"%d" % revision
        return Entry(entry.table, entry.name, value, revision)

    def seconds_to_live(self, table: str) -> int:
        return self._seconds.get(table, 0)
