from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.client.contract import Change, ChangeType, Listing, Unread
from mooring.errors import Unreadable
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.volume import Volume, VolumeSpec
from mooring.reconcile import cache as caching
from mooring.reconcile.cache import Cache, version_of

Told = list[tuple[str | None, str | None]]


def a_volume(name: str, version: int, uid: str = "u", storage_class: str = "") -> Volume:
    metadata = ObjectMeta(name=name, uid=uid, resource_version=str(version))
    return Volume(metadata=metadata, spec=VolumeSpec(storage_class_name=storage_class))


def added(name: str, version: int, uid: str = "u", storage_class: str = "") -> Change[Volume]:
    return Change(ChangeType.ADDED, a_volume(name, version, uid, storage_class))


def modified(name: str, version: int, storage_class: str = "") -> Change[Volume]:
    return Change(ChangeType.MODIFIED, a_volume(name, version, "u", storage_class))


def deleted(name: str, version: int) -> Change[Volume]:
    return Change(ChangeType.DELETED, a_volume(name, version))


def bookmark(version: int) -> Change[Volume]:
    return Change(ChangeType.BOOKMARK, Volume(metadata=ObjectMeta(resource_version=str(version))))


def a_list(version: int, *items: Volume) -> Listing[Volume]:
    return Listing(items, str(version))


News = Change[Volume] | Listing[Volume] | Volume
"""From the watch, from a list, from an own write."""


class Listener:
    """Notes what it is told, as `name@version`."""

    def __init__(self, cache: Cache[Volume]) -> None:
        self.told: Told = []
        cache.on_change(self)

    def __call__(self, old: Volume | None, new: Volume | None) -> None:
        self.told.append((shown(old), shown(new)))


def shown(volume: Volume | None) -> str | None:
    return None if volume is None else f"{volume.name}@{volume.metadata.resource_version}"


def take(cache: Cache[Volume], news: News) -> None:
    match news:
        case Change():
            cache.absorb(news)
        case Listing():
            cache.replace(news)
        case Volume():
            cache.fold(news)


NEWS: dict[str, tuple[Sequence[News], Told, set[str]]] = {
    "a list is told object by object": (
        [a_list(5, a_volume("a", 2), a_volume("b", 3))],
        [(None, "a@2"), (None, "b@3")],
        {"a@2", "b@3"},
    ),
    "the watch adds, changes and deletes": (
        [added("a", 1), modified("a", 2), deleted("a", 3)],
        [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)],
        set(),
    ),
    "a bookmark is no change": ([added("a", 1), bookmark(9)], [(None, "a@1")], {"a@1"}),
    "a change told twice by the watch is told on once": (
        [added("a", 1), added("a", 1)],
        [(None, "a@1")],
        {"a@1"},
    ),
    "an own write is told at once, its echo never": (
        [added("a", 1), a_volume("a", 2), modified("a", 2)],
        [(None, "a@1"), ("a@1", "a@2")],
        {"a@2"},
    ),
    "an own creation too": ([a_volume("a", 1), added("a", 1)], [(None, "a@1")], {"a@1"}),
    "what others wrote before our write changes nothing when it arrives after it": (
        [added("a", 1), a_volume("a", 3), modified("a", 2), modified("a", 3)],
        [(None, "a@1"), ("a@1", "a@3")],
        {"a@3"},
    ),
    "what others write after our write is news": (
        [added("a", 1), a_volume("a", 2), modified("a", 3)],
        [(None, "a@1"), ("a@1", "a@2"), ("a@2", "a@3")],
        {"a@3"},
    ),
    "versions are numbers: 10 is newer than 9": (
        [added("a", 9), modified("a", 10)],
        [(None, "a@9"), ("a@9", "a@10")],
        {"a@10"},
    ),
    "the answer to a write that comes after the deletion does not raise the dead": (
        [added("a", 1), deleted("a", 3), a_volume("a", 2)],
        [(None, "a@1"), ("a@1", None)],
        set(),
    ),
    "nor does a change that the watch repeats": (
        [added("a", 1), modified("a", 2), deleted("a", 3), modified("a", 2)],
        [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)],
        set(),
    ),
    "nor does it after a bookmark that covers both": (
        [added("a", 1), deleted("a", 3), bookmark(4), a_volume("a", 2)],
        [(None, "a@1"), ("a@1", None)],
        set(),
    ),
    "the write that removed the last finalizer carries the version of the deletion": (
        [added("a", 1), a_volume("a", 2), deleted("a", 2)],
        [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)],
        set(),
    ),
    "of an older write the later answer is no news": (
        [a_volume("a", 3), a_volume("a", 2)],
        [(None, "a@3")],
        {"a@3"},
    ),
    "a new list tells only what differs": (
        [
            a_list(5, a_volume("a", 2), a_volume("b", 3), a_volume("c", 4)),
            a_list(9, a_volume("a", 2), a_volume("b", 7), a_volume("d", 8)),
        ],
        [(None, "a@2"), (None, "b@3"), (None, "c@4"), ("c@4", None), ("b@3", "b@7"), (None, "d@8")],
        {"a@2", "b@7", "d@8"},
    ),
    "an own write that is younger than the list stays": (
        [
            a_list(5, a_volume("a", 2)),
            a_volume("a", 8),
            a_volume("b", 9),
            a_list(7, a_volume("a", 6)),
        ],
        [(None, "a@2"), ("a@2", "a@8"), (None, "b@9")],
        {"a@8", "b@9"},
    ),
    "an own write that the list has already overtaken goes": (
        [a_volume("a", 6), a_list(7)],
        [(None, "a@6"), ("a@6", None)],
        set(),
    ),
    "another object of the same name: one goes, one comes": (
        [added("a", 1, uid="old"), a_list(5, a_volume("a", 4, uid="new"))],
        [(None, "a@1"), ("a@1", None), (None, "a@4")],
        {"a@4"},
    ),
    "also when we made it ourselves, before its predecessor's end is heard of": (
        [added("a", 1, uid="old"), a_volume("a", 4, uid="new"), deleted("a", 3), added("a", 4)],
        [(None, "a@1"), ("a@1", None), (None, "a@4")],
        {"a@4"},
    ),
    "a server set back to an earlier state is believed": (
        [
            a_list(90, a_volume("a", 80), a_volume("b", 2), a_volume("c", 70)),
            a_list(5, a_volume("a", 3), a_volume("b", 2)),
        ],
        [(None, "a@80"), (None, "b@2"), (None, "c@70"), ("c@70", None), ("a@80", "a@3")],
        {"a@3", "b@2"},
    ),
}


@pytest.mark.parametrize(("news", "told", "held"), NEWS.values(), ids=NEWS)
def test_news(news: Sequence[News], told: Told, held: set[str]) -> None:
    cache: Cache[Volume] = Cache()
    listener = Listener(cache)
    for item in news:
        take(cache, item)
    assert listener.told == told
    assert {shown(volume) for volume in cache.all()} == held
    assert len(cache) == len(held)


def test_an_object_that_did_not_change_is_kept_not_replaced() -> None:
    cache: Cache[Volume] = Cache()
    first = a_volume("a", 2)
    cache.replace(a_list(5, first))
    cache.replace(a_list(6, a_volume("a", 2)))
    assert cache.get(Key("", "a")) is first


def test_a_late_listener_is_told_of_all_that_is_here() -> None:
    cache: Cache[Volume] = Cache()
    cache.replace(a_list(5, a_volume("a", 2), a_volume("b", 3)))
    late = Listener(cache)
    cache.absorb(deleted("a", 6))
    assert late.told == [(None, "a@2"), (None, "b@3"), ("a@2", None)]


def test_a_listener_sees_the_whole_list_from_its_first_word() -> None:
    cache: Cache[Volume] = Cache()
    seen: list[int] = []
    cache.on_change(lambda _old, _new: seen.append(len(cache.by_index("class", "fast"))))
    cache.add_index("class", by_class)
    cache.replace(a_list(5, *(a_volume(name, 2, storage_class="fast") for name in "abc")))
    assert seen == [3, 3, 3]


def by_class(volume: Volume) -> list[str]:
    return [volume.spec.storage_class_name]


def names(volumes: Sequence[Volume]) -> list[str]:
    return [volume.name for volume in volumes]


def test_an_index_follows_its_objects() -> None:
    cache: Cache[Volume] = Cache()
    cache.absorb(added("early", 1, storage_class="fast"))
    cache.add_index("class", by_class)
    cache.absorb(added("a", 2, storage_class="slow"))
    cache.fold(a_volume("a", 3, storage_class="fast"))
    assert names(cache.by_index("class", "fast")) == ["early", "a"]
    assert names(cache.by_index("class", "slow")) == []
    cache.absorb(deleted("early", 4))
    assert names(cache.by_index("class", "fast")) == ["a"]
    cache.replace(a_list(5))
    assert names(cache.by_index("class", "fast")) == []


def test_an_object_may_have_several_values_or_none() -> None:
    cache: Cache[Volume] = Cache()
    cache.add_index("letters", lambda volume: volume.name)
    for version, name in enumerate(("ab", "bb", "c"), 1):
        cache.absorb(added(name, version))
    assert names(cache.by_index("letters", "b")) == ["ab", "bb"]
    assert names(cache.by_index("letters", "x")) == []


def test_an_index_returns_the_newest_version() -> None:
    cache: Cache[Volume] = Cache()
    cache.add_index("class", by_class)
    cache.absorb(added("a", 1, storage_class="fast"))
    cache.absorb(modified("a", 2, storage_class="fast"))
    assert [shown(v) for v in cache.by_index("class", "fast")] == ["a@2"]


def test_an_unknown_index_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Cache[Volume]().by_index("colour", "red")


MISSING = {
    "all there": ({"a": 2, "b": 3}, 5, set(), 0),
    "newer than the list is there too": ({"a": 1, "b": 3}, 5, set(), 0),
    "an object never heard of": ({"a": 2, "b": 3, "c": 4}, 5, set(), 1),
    "one that was deleted since": ({"a": 2, "b": 3, "c": 4}, 5, {"c"}, 0),
    "an older version": ({"a": 4, "b": 3}, 5, set(), 1),
    "a deletion never heard of": ({"a": 2}, 5, set(), 1),
    "made after the list": ({"a": 2}, 2, set(), 0),
}


@pytest.mark.parametrize(("listed", "at", "excused", "count"), MISSING.values(), ids=MISSING)
def test_what_a_list_shows_to_be_missing(
    listed: dict[str, int], at: int, excused: set[str], count: int
) -> None:
    cache: Cache[Volume] = Cache()
    cache.replace(a_list(5, a_volume("a", 2), a_volume("b", 3)))
    versions = {Key("", name): version for name, version in listed.items()}
    assert cache.count_missing(versions, at, {Key("", name) for name in excused}) == count


# The law: whatever overtakes what, the cache ends as the server is, and what listeners were told
# adds up to it.

Write = tuple[str, str]  # (name, class); an empty class deletes
WRITES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])), max_size=15)


class Server:
    """Makes versions, and remembers every change and every state."""

    def __init__(self) -> None:
        self.state: dict[str, Volume] = {}
        self.states: list[dict[str, Volume]] = [{}]
        self.changes: list[Change[Volume]] = []

    def write(self, name: str, storage_class: str) -> None:
        version = len(self.changes) + 1
        held = self.state.get(name)
        if storage_class:
            uid = held.uid if held else f"uid-{version}"
            self.state[name] = a_volume(name, version, uid, storage_class)
            type_ = ChangeType.MODIFIED if held else ChangeType.ADDED
            self.changes.append(Change(type_, self.state[name]))
        elif held:
            del self.state[name]
            self.changes.append(Change(ChangeType.DELETED, a_volume(name, version, held.uid)))
        else:
            self.changes.append(bookmark(version))
        self.states.append(dict(self.state))


@given(writes=WRITES, data=st.data())
@settings(max_examples=300)
def test_whatever_overtakes_what_the_end_is_the_servers_state(
    writes: list[Write], data: st.DataObject
) -> None:
    server = Server()
    for name, storage_class in writes:
        server.write(name, storage_class)
    cache: Cache[Volume] = Cache()
    cache.add_index("class", by_class)
    picture: dict[str, Volume] = {}

    def follow(old: Volume | None, new: Volume | None) -> None:
        name = (old or new or Volume()).name
        assert picture.get(name) is old, "told of every change, in order"
        if new is None:
            del picture[name]
        else:
            assert old is None or version_of(old) < version_of(new)
            assert old is None or old.uid == new.uid
            picture[name] = new

    cache.on_change(follow)
    ours = [c.object for c in server.changes if c.type in (ChangeType.ADDED, ChangeType.MODIFIED)]
    done = 0  # how far the watch is
    while done < len(server.changes):
        match data.draw(st.sampled_from(["watch", "list", "fold"])):
            case "watch":
                cache.absorb(server.changes[done])
                done += 1
            case "list":
                done = data.draw(st.integers(done, len(server.changes)))
                cache.replace(Listing(list(server.states[done].values()), str(done)))
            case "fold" if ours:
                cache.fold(ours.pop(data.draw(st.integers(0, len(ours) - 1))))
            case _:
                pass
    assert picture == server.state
    assert {volume.name: volume for volume in cache.all()} == server.state
    for value in ("x", "y"):
        expected = {n for n, v in server.state.items() if v.spec.storage_class_name == value}
        assert set(names(cache.by_index("class", value))) == expected


# what cannot be read, and who stumbles


def unreadable(name: str, version: int) -> Change[Volume]:
    metadata = ObjectMeta(name=name, uid="u", resource_version=str(version))
    return Change(ChangeType.UNREADABLE, Volume(metadata=metadata), "spec makes no sense")


def a_partial_list(version: int, unread: str, *items: Volume) -> Listing[Volume]:
    return Listing(items, str(version), [Unread(Key("", unread), "spec makes no sense")])


UNREAD: dict[str, Sequence[News]] = {
    "a list": [a_partial_list(5, "odd", a_volume("a", 2))],
    "the watch": [a_list(1), added("a", 2), unreadable("odd", 5)],
}


@pytest.mark.parametrize("news", UNREAD.values(), ids=UNREAD)
def test_an_object_that_cannot_be_read_is_not_absent_and_hides_no_other(
    news: Sequence[News],
) -> None:
    cache: Cache[Volume] = Cache()
    listener = Listener(cache)
    for one in news:
        take(cache, one)
    take(cache, added("b", 6))
    assert listener.told == [(None, "a@2"), (None, "b@6")]
    assert set(cache.unread) == {Key("", "odd")}
    with pytest.raises(Unreadable, match="makes no sense"):
        cache.get(Key("", "odd"))
    assert cache.get(Key("", "missing")) is None


READABLE_AGAIN: dict[str, tuple[News, Told]] = {
    "written anew it is told": (modified("odd", 7), [(None, "odd@7")]),
    "listed anew it is told": (a_list(7, a_volume("odd", 7)), [(None, "odd@7")]),
    "an own write mends it": (a_volume("odd", 7), [(None, "odd@7")]),
    "deleted it is nobody's business": (deleted("odd", 7), []),
    "missing from a list it is gone": (a_list(7), []),
}


@pytest.mark.parametrize(("news", "told"), READABLE_AGAIN.values(), ids=READABLE_AGAIN)
def test_an_object_that_could_not_be_read(news: News, told: Told) -> None:
    cache: Cache[Volume] = Cache()
    listener = Listener(cache)
    take(cache, a_partial_list(5, "odd"))
    take(cache, news)
    assert listener.told == told
    assert not cache.unread


@pytest.mark.parametrize("news", [unreadable("a", 5), a_partial_list(5, "a")])
def test_what_was_known_of_an_object_stays_while_it_cannot_be_read(news: News) -> None:
    cache: Cache[Volume] = Cache()
    listener = Listener(cache)
    take(cache, a_list(2, a_volume("a", 2)))
    take(cache, news)
    assert shown(cache.get(Key("", "a"))) == "a@2"
    assert cache.count_missing({}, 5, ()) == 0
    take(cache, deleted("a", 6))
    assert listener.told == [(None, "a@2"), ("a@2", None)]


@pytest.mark.poisons
def test_a_handler_that_stumbles_misses_one_change_and_others_none() -> None:
    cache: Cache[Volume] = Cache()
    told: list[str] = []

    def stumbles(_: Volume | None, new: Volume | None) -> None:
        assert new is not None
        if new.name == "bad":
            raise KeyError("bad")
        told.append(new.name)

    cache.on_change(stumbles)
    listener = Listener(cache)
    take(cache, a_list(3, a_volume("a", 1), a_volume("bad", 2), a_volume("b", 3)))
    assert told == ["a", "b"]
    assert len(listener.told) == 3


@pytest.mark.poisons
def test_an_index_that_stumbles_over_an_object_finds_it_nowhere() -> None:
    cache: Cache[Volume] = Cache()

    def classes(volume: Volume) -> Sequence[str]:
        if volume.spec.storage_class_name == "bad":
            raise ValueError("bad")
        return (volume.spec.storage_class_name,)

    cache.add_index("class", classes)

    def found(storage_class: str) -> list[str | None]:
        return [shown(one) for one in cache.by_index("class", storage_class)]

    take(cache, added("a", 1, storage_class="x"))
    take(cache, modified("a", 2, storage_class="bad"))
    assert found("x") == []
    take(cache, modified("a", 3, storage_class="y"))
    assert found("y") == ["a@3"]
    take(cache, modified("a", 4, storage_class="bad"))
    take(cache, deleted("a", 5))
    assert found("y") == []
    assert len(cache) == 0


def told_to(cache: Cache[Volume]) -> tuple[Told, caching.Listener[Volume]]:
    told: Told = []
    listener = cache.on_change_in_slices(lambda old, new: told.append((shown(old), shown(new))))
    return told, listener


def test_a_late_listener_may_be_told_in_slices_of_what_is_here() -> None:
    cache: Cache[Volume] = Cache()
    cache.replace(a_list(3, a_volume("a", 1), a_volume("b", 2), a_volume("c", 3)))
    told, listener = told_to(cache)
    assert cache.tell_some(listener, 2)
    assert told == [(None, "a@1"), (None, "b@2")]
    assert not cache.tell_some(listener, 2)
    assert told[2:] == [(None, "c@3")]


def test_what_changes_before_a_listener_knows_it_is_told_as_new_or_not_at_all() -> None:
    cache: Cache[Volume] = Cache()
    cache.replace(a_list(3, a_volume("a", 1), a_volume("b", 2), a_volume("c", 3)))
    told, listener = told_to(cache)
    cache.tell_some(listener, 1)
    cache.absorb(modified("a", 4))
    cache.absorb(modified("b", 5))
    cache.absorb(deleted("c", 6))
    cache.absorb(added("d", 7))
    assert not cache.tell_some(listener, 10)
    assert told == [(None, "a@1"), ("a@1", "a@4"), (None, "b@5"), (None, "d@7")]


def test_a_first_list_may_be_taken_in_in_slices() -> None:
    cache: Cache[Volume] = Cache()
    told, _ = told_to(cache)
    slices = cache.fill(a_list(3, a_volume("a", 1), a_volume("b", 2), a_volume("c", 3)), 2)
    next(slices)
    assert (len(cache), told) == (2, [])
    cache.fold(a_volume("a", 4))
    assert [*slices] == [None]
    assert told == [(None, "a@4")], "an own write meanwhile"
    late, _ = told_to(cache)
    while cache.tell_fresh(1):
        pass
    assert told == [(None, "a@4"), (None, "b@2"), (None, "c@3")]
    assert late == told[1:], "of the first, `tell_some` tells it"


def test_a_listener_that_is_gone_is_told_no_more() -> None:
    cache: Cache[Volume] = Cache()
    cache.replace(a_list(2, a_volume("a", 1), a_volume("b", 2)))
    told, listener = told_to(cache)
    cache.remove_handler(listener.handler)
    assert not cache.tell_some(listener, 1)
    assert told == []
