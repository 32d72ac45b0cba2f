"""Following tables: what is there now, then every change; kinds that join later included, and
until they leave.

A callback that raises is logged, and misses one object: commits, and other followers, go on.
"""

from collections.abc import Callable
from types import TracebackType

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.store.contract import Entry, Event, Store, Watch
from mooring.errors import Compacted
from mooring.reconcile.poison import shielded

MOST_AT_ONCE = 1000

See = Callable[[Kind, Entry], None]
Change = Callable[[Kind, Event], None]


class Follower:
    """While entered, calls back for every object of the kinds chosen. Callbacks must be quick."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        see: See,
        change: Change,
        wanted: Callable[[Kind], bool] = lambda _: True,
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._see = see
        self._change = change
        self._wanted = wanted
        self._watches: dict[str, Watch] = {}

    def start(self) -> None:
        for kind in self._kinds.stored():
            self._follow(kind)
        self._kinds.subscribe(self._follow)

    def stop(self) -> None:
        self._kinds.unsubscribe(self._follow)
        for watch in self._watches.values():
            watch.close()

    def __enter__(self) -> "Follower":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _follow(self, kind: Kind) -> None:
        """Kinds that show another kind's objects, or store none, have nothing to follow."""
        table = kind.store_table
        if self._kinds.of_table(table) is None:
            if watch := self._watches.pop(table, None):
                watch.close()
            return
        is_stored = "get" in kind.verbs and kind.from_stored is None
        if is_stored and self._wanted(kind) and table not in self._watches:
            self._start(kind)

    def _start(self, kind: Kind) -> None:
        page = self._store.range(kind.store_table)
        for entry in page.entries:
            shielded((entry.table, entry.name), self._see, kind, entry)
        self._watches[kind.store_table] = self._store.watch(
            kind.store_table, page.revision, lambda: self._poll(kind.store_table)
        )

    def _poll(self, table: str) -> None:
        watch, kind = self._watches.get(table), self._kinds.of_table(table)
        if watch is None or kind is None:
            return
        try:
            while events := watch.poll(MOST_AT_ONCE):
                for event in events:
                    entry = event.entry
                    shielded((entry.table, entry.name), self._change, kind, event)
                if len(events) < MOST_AT_ONCE:
                    return
        except Compacted:
            watch.close()
            self._start(kind)
