"""What a controller knows of one kind: objects by key, indexes over them, handlers of changes.

News comes from three sides: lists, the watch, and the controller's own writes (`fold`). They
overlap, and each side may be behind another; resource versions, which are whole numbers, decide
what is news. Whatever the order of arrival, an object never goes back to an older version, and
handlers are called once for every change.

Everything here is synchronous: between two awaits the picture stands still. Of very many objects
handlers may be told in slices (`fill`, then `tell_fresh`; `on_change_in_slices`, then
`tell_some`), so that others run in between; a change of an object that a handler does not know yet
is told as a new object.

What cannot be read is set aside: what was known of it before stays, and if that is nothing, asking
for it raises. So no loop takes it for gone, and all other objects of its kind are served. A handler
or an index that stumbles over an object is logged, and goes on with the next one.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Generic

from mooring import log
from mooring.client.contract import Change, ChangeType, Listing, T
from mooring.errors import Unreadable
from mooring.model.keys import Key
from mooring.reconcile.poison import shielded

_log = log.get("mooring.cache")

Handler = Callable[[T | None, T | None], None]
"""Called with (before, after): None before for a new object, None after for a deleted one."""


class Cache(Generic[T]):
    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes: dict[Hashable, _Index[T]] = {}
        self._listeners: tuple[Listener[T], ...] = ()  # replaced whole: a role may go meanwhile
        self.is_catching_up = False  # handlers get a list: what it lacks may have changed unseen
        self._fresh: dict[Key, None] = {}  # objects of the first list that nobody was told of yet
        self._unread: dict[Key, str] = {}  # what cannot be read, and why
        self._seen = 0  # every change up to this version has arrived

    # reading

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: Key) -> T | None:
        """Raises: Unreadable, where None would say that it does not exist."""
        held = self._objects.get(key)
        if held is None and key in self._unread:
            raise Unreadable(self._unread[key])
        return held

    @property
    def unread(self) -> Collection[Key]:
        """The objects that cannot be read as they are now."""
        return self._unread.keys()

    @property
    def seen(self) -> int:
        """Every change up to this version has arrived."""
        return self._seen

    def all(self) -> Collection[T]:
        """A live view: to change anything while going through it, copy it first."""
        return self._objects.values()

    def by_index(self, name: Hashable, value: Hashable) -> Sequence[T]:
        """The objects for which the index function gave `value`. Raises: KeyError, no such index"""
        return [self._objects[key] for key in self._indexes[name].keys_of(value)]

    # setting up

    def add_index(self, name: Hashable, values_of: Callable[[T], Iterable[Hashable]]) -> None:
        """Find objects by what `values_of`, a pure function, says about them."""
        index = self._indexes[name] = _Index(values_of)
        for key, held in self._objects.items():
            index.move(key, None, held)

    def remove_index(self, name: Hashable) -> None:
        del self._indexes[name]

    def on_change(self, handler: Handler[T]) -> None:
        """Call `handler` for every change, in order, beginning with all objects in the cache.

        It is called when cache and indexes show the change, must be quick, must not raise, and
        must not call `fold`. If it does raise, it misses that change.
        """
        listener: Listener[T] = Listener(handler)
        self._listeners = (*self._listeners, listener)
        for key, held in list(self._objects.items()):
            if key not in self._fresh:
                listener.hear(key, None, held)

    def on_change_in_slices(self, handler: Handler[T]) -> "Listener[T]":
        """The same, but what is in the cache is told by `tell_some`, some at a time."""
        listener: Listener[T] = Listener(handler)
        listener.untold = dict.fromkeys(key for key in self._objects if key not in self._fresh)
        self._listeners = (*self._listeners, listener)
        return listener

    def remove_handler(self, handler: Handler[T]) -> None:
        kept = list(self._listeners)
        kept.remove(next(each for each in kept if each.handler == handler))
        self._listeners = tuple(kept)

    def tell_some(self, listener: "Listener[T]", most: int) -> bool:
        """Tell it of some objects that it does not know yet; whether there are more."""
        if listener not in self._listeners:
            return False
        self.is_catching_up = True
        try:
            for key in list(islice(listener.untold, most)):
                del listener.untold[key]
                listener.hear(key, None, self._objects[key])
        finally:
            self.is_catching_up = False
        return bool(listener.untold)

    def tell_fresh(self, most: int) -> bool:
        """Tell all handlers of some objects of the first list; whether there are more."""
        self.is_catching_up = True
        try:
            for key in list(islice(self._fresh, most)):
                self._tell(((None, self._objects[key]),))
        finally:
            self.is_catching_up = False
        return bool(self._fresh)

    # news

    def show(self, key: Key, now: T | None) -> None:
        """Hold `now` under this key, whatever its version; None: hold nothing there."""
        held = self._objects.get(key)
        if held is not now:
            self._tell(self._store(key, held, now))

    def fold(self, written: T) -> None:
        """Take in the answer to an own write, ahead of the watch.

        `written` must belong to what is listed and watched here. Older than what is known, it
        changes nothing.
        """
        version = version_of(written)
        if version > self._seen:  # else the watch brought it already, and perhaps its deletion too
            self._take(written, version)

    def absorb(self, change: Change[T]) -> None:
        """Take in the next change of the watch."""
        version = version_of(change.object)
        if version <= self._seen:
            return
        self._seen = version
        match change.type:
            case ChangeType.ADDED | ChangeType.MODIFIED:
                self._take(change.object, version)
            case ChangeType.DELETED:
                key = change.object.key
                self._unread.pop(key, None)
                held = self._objects.get(key)
                if held is not None and version_of(held) <= version:
                    self._tell(self._store(key, held, None))
            case ChangeType.BOOKMARK:
                pass
            case ChangeType.UNREADABLE:
                self._set_aside(change.object.key, change.why)

    def replace(self, listing: Listing[T]) -> None:
        """Take in a full list: what it does not hold is gone, unless it is younger than the list.

        A list older than what the watch brought is no mistake of ours: the server's history was
        set back, so the list is the truth and all that it contradicts is forgotten.
        """
        at = int(listing.version)
        was_set_back = at < self._seen
        self._seen = at
        gone = {
            key: held
            for key, held in self._objects.items()
            if was_set_back or version_of(held) <= at
        }
        before, self._unread = self._unread, {}
        for one in listing.unread:
            gone.pop(one.key, None)
            self._set_aside(one.key, one.why, before.get(one.key))
        news: list[tuple[Key, T | None, T]] = []
        for listed in listing.readable:
            key = listed.key
            gone.pop(key, None)
            held = self._objects.get(key)
            if held is None or _is_news(held, listed, was_set_back=was_set_back):
                news.append((key, held, listed))
        changes = [pair for key, held in gone.items() for pair in self._store(key, held, None)]
        changes += [pair for key, held, new in news for pair in self._store(key, held, new)]
        self.is_catching_up = True
        try:
            self._tell(changes)  # only now: a handler may look at any other object
        finally:
            self.is_catching_up = False

    def fill(self, listing: Listing[T], most: int) -> Iterator[None]:
        """Take in the first full list, some objects at a time: for an empty cache.

        When all are in, `tell_fresh` tells handlers, which may look at any of them.
        """
        self._seen = int(listing.version)
        for one in listing.unread:
            self._set_aside(one.key, one.why)
        for number, listed in enumerate(listing.readable, 1):
            held = self._objects.get(listed.key)
            if held is None:
                self._store(listed.key, None, listed)
                self._fresh[listed.key] = None
            elif version_of(held) < version_of(listed):  # an own write, and another after it
                self._tell(self._store(listed.key, held, listed))
            if number % most == 0:
                yield
        yield

    def count_missing(self, versions: Mapping[Key, int], at: int, excused: Collection[Key]) -> int:
        """How much of a list has not arrived here: `versions` of objects, taken at version `at`.

        Objects deleted since the list was asked for are `excused`.
        """
        behind = sum(
            1
            for key, version in versions.items()
            if key not in excused and key not in self._unread and self._version(key) < version
        )
        kept = sum(
            1
            for key, held in self._objects.items()
            if key not in versions and key not in self._unread and version_of(held) <= at
        )
        return behind + kept

    def _version(self, key: Key) -> int:
        held = self._objects.get(key)
        return -1 if held is None else version_of(held)

    def _take(self, new: T, version: int) -> None:
        key = new.key
        self._unread.pop(key, None)
        held = self._objects.get(key)
        if held is None or version_of(held) < version:
            self._tell(self._store(key, held, new))

    def _set_aside(self, key: Key, why: str, known: str | None = None) -> None:
        self._unread[key] = why
        if why != known:
            _log.warning("an object is set aside", key=key, because=why)

    def _store(self, key: Key, old: T | None, new: T | None) -> Iterable[tuple[T | None, T | None]]:
        """Make it so, in cache and indexes; returns what handlers are called with."""
        if new is None:
            del self._objects[key]
        else:
            self._objects[key] = new
        for index in self._indexes.values():
            index.move(key, old, new)
        if old is not None and new is not None and old.uid != new.uid:
            return ((old, None), (None, new))  # another object of the same name
        return ((old, new),)

    def _tell(self, changes: Iterable[tuple[T | None, T | None]]) -> None:
        for change in changes:
            old, new = self._as_known(*change) if self._fresh else change
            key = _key_of(old, new)
            if key is None:
                continue
            for listener in self._listeners:
                listener.hear(key, old, new)

    def _as_known(self, old: T | None, new: T | None) -> tuple[T | None, T | None]:
        """What a change is to handlers that may not have been told of the object yet."""
        key = _key_of(old, new)
        if key is None or key not in self._fresh:
            return old, new
        del self._fresh[key]
        return None, new


class Listener(Generic[T]):
    """A handler, and the objects in the cache that it was not told of yet."""

    def __init__(self, handler: Handler[T]) -> None:
        self.handler = handler
        self.untold: dict[Key, None] = {}

    def hear(self, key: Key, old: T | None, new: T | None) -> None:
        if self.untold and key in self.untold:
            del self.untold[key]
            if new is None:
                return
            old = None
        shielded(key, self.handler, old, new)


class _Index(Generic[T]):
    """Keys by value. A value with one key, the common case, costs no container."""

    def __init__(self, values_of: Callable[[T], Iterable[Hashable]]) -> None:
        self._values_of = values_of
        self._keys: dict[Hashable, Key | dict[Key, None]] = {}

    def keys_of(self, value: Hashable) -> Iterable[Key]:
        keys = self._keys.get(value, ())
        return (keys,) if isinstance(keys, Key) else keys

    def move(self, key: Key, old: T | None, new: T | None) -> None:
        if not shielded(key, self._move, key, old, new):
            self._move_one(key, old, None)
            self._move_one(key, None, new)

    def _move_one(self, key: Key, old: T | None, new: T | None) -> None:
        """An object that the index stumbles over has no values, now and whenever it is asked."""
        shielded(key, self._move, key, old, new)

    def _move(self, key: Key, old: T | None, new: T | None) -> None:
        before = set() if old is None else set(self._values_of(old))
        after = set() if new is None else set(self._values_of(new))
        for value in before - after:
            self._remove(value, key)
        for value in after - before:
            self._insert(value, key)

    def _insert(self, value: Hashable, key: Key) -> None:
        keys = self._keys.setdefault(value, key)
        if isinstance(keys, dict):
            keys[key] = None
        elif keys != key:
            self._keys[value] = {keys: None, key: None}

    def _remove(self, value: Hashable, key: Key) -> None:
        keys = self._keys[value]
        if isinstance(keys, dict) and len(keys) > 1:
            del keys[key]
        else:
            del self._keys[value]


def _key_of(old: T | None, new: T | None) -> Key | None:
    known = old if new is None else new
    return None if known is None else known.key


def version_of(held: T) -> int:
    return int(held.metadata.resource_version)


def _is_news(held: T, listed: T, *, was_set_back: bool) -> bool:
    if was_set_back:
        return version_of(held) != version_of(listed) or held.uid != listed.uid
    return version_of(held) < version_of(listed)
