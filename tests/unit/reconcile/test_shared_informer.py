"""A kind that several roles look at is listed and watched once; each has a share of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mooring.client.contract import Change, ChangeType, Scope
from mooring.errors import Unreadable
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wire import read_document
from mooring.reconcile.informer import Informer
from mooring.reconcile.reflector import AT_ONCE
from mooring.reconcile.shared_informer import (
    SelectedInformer,
    Selection,
    SharedInformer,
    SharedInformers,
)
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.lagging import reflector_of
from tests.unit.reconcile.reflector_world import a_volume

GOLD: Selection[Volume] = Selection(
    Scope(labels="colour=gold"), lambda volume: volume.metadata.labels.get("colour") == "gold"
)
DISK = Key("", "disk")


def class_of(volume: Volume) -> tuple[str, ...]:
    return (volume.spec.storage_class_name,)


def colour_of(volume: Volume) -> tuple[str, ...]:
    return (volume.metadata.labels.get("colour", ""),)


class Listener:
    """What a role is told: `disk: None -> x` says that a disk of class x is new."""

    def __init__(self, informer: Informer[Volume]) -> None:
        self.told: list[str] = []
        informer.on_change(self._hear)

    def _hear(self, old: Volume | None, new: Volume | None) -> None:
        was, now = (each.spec.storage_class_name if each else None for each in (old, new))
        self.told.append(f"{(old or new or Volume()).name}: {was} -> {now}")


class World:
    def __init__(self, *, whole_kinds: bool = True) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311 - repeatable, not secret
        self.informers = SharedInformers(self.client, self.clock, rng, whole_kinds=whole_kinds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informers.run())
        await settle()
        yield
        task.cancel()
        await asyncio.wait({task})
        assert self.server.streams == [], "no stream outlives it"

    def share(self) -> SharedInformer[Volume]:
        share = self.informers.share(Volume)
        assert isinstance(share, SharedInformer)
        return share

    def selected(self) -> SelectedInformer[Volume]:
        share = self.informers.share(Volume, GOLD)
        assert isinstance(share, SelectedInformer)
        return share

    def create(self, name: str, storage_class: str = "x", **labels: str) -> Volume:
        return self.server.create(Volume, a_volume(name, storage_class, **labels))

    def modify(self, name: str, storage_class: str) -> Volume:
        change = {"spec": {"storageClassName": storage_class}}
        return self.server.patch(self.server.get(Volume, Key("", name)), change, {})

    def label(self, name: str, colour: str) -> Volume:
        change = {"metadata": {"labels": {"colour": colour}}}
        return self.server.patch(self.server.get(Volume, Key("", name)), change, {})

    def delete(self, name: str) -> None:
        self.server.delete(self.server.get(Volume, Key("", name)))

    def count(self, family: str) -> float | None:
        registry = CollectorRegistry()
        for collector in self.informers.collectors():
            registry.register(collector)
        return registry.get_sample_value(family, {"resource": "persistentvolumes"})


@pytest.fixture
def world() -> World:
    return World()


def indexes_of(share: SharedInformer[Volume]) -> dict[Any, Any]:
    return reflector_of(share)._indexes


def unreadable(written: Volume, version: int) -> Change[Volume]:
    metadata = {"name": written.name, "uid": written.uid, "resourceVersion": str(version)}
    return Change(ChangeType.UNREADABLE, read_document({"metadata": metadata}, Volume), "nonsense")


# shares


async def test_two_shares_see_the_same_objects_of_one_list_and_one_watch(world: World) -> None:
    world.create("disk")
    ours, theirs = world.share(), world.share()
    we, they = Listener(ours), Listener(theirs)
    async with world.running():
        world.create("other")
        await settle()
        assert ours.get(DISK) is theirs.get(DISK) is not None
        assert list(ours.all()) == list(theirs.all())
        assert len(ours) == len(theirs) == 2
        assert we.told == they.told == ["disk: None -> x", "other: None -> x"]
        assert world.client.calls == ["list PersistentVolume", "watch PersistentVolume"]


async def test_a_late_share_is_told_of_everything(world: World) -> None:
    world.create("disk")
    world.share()
    async with world.running():
        late = world.share()
        late.add_index("class", class_of)
        told = Listener(late).told
        assert late.synced.is_set()
        assert told == ["disk: None -> x"]
        assert [volume.name for volume in late.by_index("class", "x")] == ["disk"]
        world.modify("disk", "y")
        await settle()
        assert told == ["disk: None -> x", "disk: x -> y"]


async def test_a_late_share_of_very_many_objects_is_told_in_slices_and_synced_after_them(
    world: World,
) -> None:
    for number in range(2 * AT_ONCE + 1):
        world.create(f"disk-{number}")
    world.share()
    async with world.running():
        late, selected = world.share(), world.selected()
        told = Listener(late).told
        assert not late.synced.is_set()
        assert not selected.synced.is_set()
        world.modify("disk-0", "y")
        await asyncio.wait_for(late.synced.wait(), 60)
        await asyncio.wait_for(selected.synced.wait(), 60)
        await settle()
        assert len(set(told)) == len(told) >= 2 * AT_ONCE + 1
        assert {line.partition(":")[0] for line in told} == {each.name for each in late.all()}
        assert told[-1].endswith("-> x") or told[-1] == "disk-0: x -> y"


async def test_a_first_list_of_very_many_objects_lets_others_run_in_between(world: World) -> None:
    for number in range(2 * AT_ONCE + 1):
        world.create(f"disk-{number}")
    share = world.share()
    told = Listener(share).told
    seen: set[int] = set()
    task = asyncio.create_task(world.informers.run())
    while not share.synced.is_set():
        await settle(1)
        seen.add(len(told))
    assert len(told) == 2 * AT_ONCE + 1
    assert len(seen) > 2, "told in several goes"
    task.cancel()
    await asyncio.wait({task})


async def test_a_share_that_comes_in_the_middle_of_a_first_list_is_synced_after_all_of_it(
    world: World,
) -> None:
    most = 6 * AT_ONCE + 1
    for number in range(most):
        world.create(f"disk-{number}")
    first = world.share()
    task = asyncio.create_task(world.informers.run())
    while len(first) <= AT_ONCE:
        await settle(1)
    assert len(first) < most, "the list is being taken in"
    late, selected = world.share(), world.selected()
    told = Listener(late).told
    for share in (late, selected):
        await asyncio.wait_for(share.synced.wait(), 60)
        assert len(late) == most
        assert len(told) == len(set(told)) == most
    task.cancel()
    await asyncio.wait({task})


async def test_what_one_role_folds_the_other_sees_at_once(world: World) -> None:
    seen = world.create("disk")
    ours, theirs = world.share(), world.share()
    selected = world.selected()
    they, of_selected = Listener(theirs), Listener(selected)
    async with world.running():
        world.client.is_held = True
        written = world.server.patch(
            seen,
            {"spec": {"storageClassName": "y"}, "metadata": {"labels": {"colour": "gold"}}},
            {},
        )
        ours.fold(written)
        assert theirs.get(DISK) is written
        assert selected.get(DISK) is written
        assert they.told[-1] == "disk: x -> y"
        assert of_selected.told == ["disk: None -> y"]


async def test_a_closed_share_is_told_nothing_more(world: World) -> None:
    world.create("disk")
    ours, theirs = world.share(), world.share()
    we, they = Listener(ours), Listener(theirs)
    async with world.running():
        ours.close()
        world.delete("disk")
        await settle()
        assert we.told == ["disk: None -> x"]
        assert they.told == ["disk: None -> x", "disk: x -> None"]


async def test_the_indexes_of_a_closed_share_are_gone_and_those_of_others_stay(
    world: World,
) -> None:
    world.create("disk", colour="gold")
    ours, theirs = world.share(), world.share()
    ours.add_index("by class", class_of)
    ours.add_index("by colour", colour_of)
    theirs.add_index("class", class_of)
    async with world.running():
        ours.close()
        ours.close()  # nothing more
        assert list(indexes_of(theirs)) == [class_of]
        assert [volume.name for volume in theirs.by_index("class", "x")] == ["disk"]
        with pytest.raises(KeyError):
            ours.by_index("by class", "x")
        theirs.close()
        assert not indexes_of(theirs)


async def test_an_index_of_the_same_function_is_kept_once_whatever_its_names(world: World) -> None:
    ours, theirs = world.share(), world.share()
    ours.add_index("mine", class_of)
    theirs.add_index("yours", class_of)
    assert list(indexes_of(ours)) == [class_of]
    async with world.running():
        world.create("disk")
        await settle()
        assert ours.by_index("mine", "x") == theirs.by_index("yours", "x") != []


def test_a_name_belongs_to_one_share(world: World) -> None:
    ours, theirs = world.share(), world.share()
    ours.add_index("name", class_of)
    theirs.add_index("name", colour_of)
    volume = read_document(
        {**a_volume("disk", "x", colour="gold"), "kind": "PersistentVolume"}, Volume
    )
    reflector_of(ours).show(volume.key, volume)
    assert ours.by_index("name", "x") == theirs.by_index("name", "gold") == [volume]


def test_an_index_that_replaces_another_of_its_name_leaves_nothing_of_it(world: World) -> None:
    share = world.share()
    share.add_index("name", class_of)
    share.add_index("name", class_of)
    share.add_index("name", colour_of)
    assert list(indexes_of(share)) == [colour_of]
    share.close()
    assert not indexes_of(share)


# a selection


async def test_an_object_enters_changes_in_and_leaves_a_selection(world: World) -> None:
    world.create("disk")
    gold = world.selected()
    gold.add_index("class", class_of)
    told = Listener(gold).told
    async with world.running():
        assert (told, len(gold), gold.get(DISK)) == ([], 0, None)
        entered = world.label("disk", "gold")
        await settle()
        assert told == ["disk: None -> x"]
        found = gold.get(DISK)
        assert found is not None
        assert found.metadata.resource_version == entered.metadata.resource_version
        assert list(gold.all()) == [found] == gold.by_index("class", "x")
        world.modify("disk", "y")
        await settle()
        assert told[1:] == ["disk: x -> y"]
        assert not gold.by_index("class", "x")
        world.label("disk", "red")
        await settle()
        assert told[2:] == ["disk: y -> None"]
        assert (list(gold.all()), gold.get(DISK), gold.by_index("class", "y")) == ([], None, [])
        world.delete("disk")
        await settle()
        assert len(told) == 3, "it was not selected any more"


async def test_a_selected_object_that_is_deleted_is_told_of(world: World) -> None:
    world.create("disk", colour="gold")
    told = Listener(world.selected()).told
    async with world.running():
        world.delete("disk")
        world.create("disk", "y", colour="gold")
        await settle()
        assert told == ["disk: None -> x", "disk: x -> None", "disk: None -> y"]


async def test_a_late_selection_is_told_of_all_that_it_selects(world: World) -> None:
    world.create("disk", colour="gold")
    world.create("other")
    world.share()
    async with world.running():
        gold = world.selected()
        assert gold.synced.is_set()
        assert Listener(gold).told == ["disk: None -> x"]


async def test_a_selection_and_a_share_have_one_watch(world: World) -> None:
    world.selected(), world.share(), world.selected()
    async with world.running():
        assert world.client.calls == ["list PersistentVolume", "watch PersistentVolume"]


async def test_a_closed_selection_is_told_nothing_more(world: World) -> None:
    gold, other = world.selected(), world.selected()
    told, of_other = Listener(gold).told, Listener(other).told
    async with world.running():
        gold.close()
        world.create("disk", colour="gold")
        await settle()
        assert (told, of_other) == ([], ["disk: None -> x"])


async def test_what_cannot_be_read_is_not_taken_for_gone(world: World) -> None:
    known = world.create("disk", colour="gold")
    share, gold = world.share(), world.selected()
    told = Listener(gold).told
    async with world.running():
        unknown = world.create("other", colour="gold")
        reflector = reflector_of(share)
        reflector.absorb(unreadable(known, world.server.revision + 1))
        reflector.absorb(unreadable(unknown, world.server.revision + 2))
        for informer in (share, gold):
            assert set(informer.unread) == {DISK, Key("", "other")}
            assert informer.get(DISK) is not None, "as it was known before"
            with pytest.raises(Unreadable):
                informer.get(Key("", "other"))
        assert told == ["disk: None -> x"]


# what runs them


async def test_a_reflector_asked_for_while_they_run_starts_at_once(world: World) -> None:
    world.create("disk")
    async with world.running():
        assert world.client.calls == []
        told = Listener(world.share()).told
        await settle()
        assert told == ["disk: None -> x"]
        await world.informers.synced()


async def test_they_are_synced_when_all_are(world: World) -> None:
    world.share()
    world.client.stall()
    async with world.running():
        synced = asyncio.create_task(world.informers.synced())
        await settle()
        assert not synced.done()
        world.client.go_on()
        await settle()
        assert synced.done()


async def test_for_one_role_alone_the_server_selects() -> None:
    world = World(whole_kinds=False)
    world.create("disk", colour="gold")
    world.create("other")
    gold = world.informers.share(Volume, GOLD)
    told = Listener(gold).told
    async with world.running():
        assert told == ["disk: None -> x"]
        assert isinstance(gold, SharedInformer)
        assert reflector_of(gold)._scope == GOLD.scope
        assert [volume.name for volume in gold.all()] == ["disk"]
        world.label("disk", "red")
        await settle()
        assert told == ["disk: None -> x", "disk: x -> None"]


async def test_informers_of_one_kind_are_counted_together() -> None:
    world = World(whole_kinds=False)
    world.share(), world.informers.share(Volume, GOLD)
    async with world.running():
        assert world.count("mooring_informer_lists_total") == 2
        assert world.count("mooring_informer_watches_total") == 2
