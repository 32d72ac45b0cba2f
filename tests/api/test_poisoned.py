"""One object that nothing can be done with costs nobody else anything."""

from typing import Any

import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.garbage_collector.run import GarbageCollector
from mooring.apiserver.store.contract import Decide, Entry
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import StoreError
from mooring.reconcile.poison import POISONED
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    PODS,
    a_config_map,
    a_namespace,
    a_pod,
    an_event,
)

Doc = dict[str, Any]

MOST = 2**63 - 1
GONE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}
HOUR = 3600.0


def patient(name: str, namespace: str = "default") -> Doc:
    """A pod on a node that has longer to end than dates go on."""
    doc = a_pod(name)
    doc["metadata"]["namespace"] = namespace
    doc["spec"] |= {"terminationGracePeriodSeconds": MOST, "nodeName": "n1"}
    return doc


def owned(doc: Doc) -> Doc:
    doc["metadata"]["ownerReferences"] = [GONE]
    return doc


async def test_a_grace_beyond_all_dates_ends_with_the_last_of_upstreams(api: ApiUnderTest) -> None:
    """Go's longest duration, 292 years; the seconds are told as they were asked for."""
    await api.post(PODS, patient("p"))
    answer = await api.delete(f"{PODS}/p")
    assert answer.code == 200, answer.text
    metadata = answer.doc["metadata"]
    assert metadata["deletionTimestamp"] == "2318-04-14T02:51:21Z"
    assert metadata["deletionGracePeriodSeconds"] == MOST


@pytest.mark.parametrize("asked", [MOST, MOST - 1, 2**62])
async def test_a_delete_may_ask_for_any_grace(api: ApiUnderTest, asked: int) -> None:
    await api.post(PODS, patient("p"))
    answer = await api.delete(f"{PODS}/p", {"gracePeriodSeconds": asked})
    assert answer.doc["metadata"]["deletionGracePeriodSeconds"] == asked


async def test_a_grace_beyond_all_dates_can_be_shortened(api: ApiUnderTest) -> None:
    await api.post(PODS, patient("p"))
    await api.delete(f"{PODS}/p")
    metadata = (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 60})).doc["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-02T03:05:05Z"
    assert metadata["deletionGracePeriodSeconds"] == 60


async def test_a_patient_pod_without_owners_is_collected_and_others_too(api: ApiUnderTest) -> None:
    await api.post(PODS, owned(patient("p")))
    await api.post(CONFIG_MAPS, owned(a_config_map("c")))
    await api.settle()
    assert "deletionTimestamp" in (await api.get(f"{PODS}/p")).doc["metadata"]
    assert (await api.get(f"{CONFIG_MAPS}/c")).code == 404


async def test_a_namespace_with_a_patient_pod_is_emptied(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    await api.post("/api/v1/namespaces/team/pods", patient("p", "team"))
    await api.delete(f"{NAMESPACES}/team")
    await api.settle()
    found = await api.get("/api/v1/namespaces/team/pods/p")
    assert "deletionTimestamp" in found.doc["metadata"]
    await api.delete("/api/v1/namespaces/team/pods/p", {"gracePeriodSeconds": 0})
    await api.settle()
    assert (await api.get(f"{NAMESPACES}/team")).code == 404


class Poison:
    """A deletion of the object of one name meets a bug."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.is_on = True
        delete = InProcessWriter.delete

        async def deleted(
            writer: InProcessWriter, kind: Kind, namespace: str, named: str, options: DeleteOptions
        ) -> None:
            if self.is_on and named == name:
                raise OverflowError("date value out of range")
            await delete(writer, kind, namespace, named, options)

        monkeypatch.setattr(InProcessWriter, "delete", deleted)


@pytest.mark.poisons
async def test_a_bug_met_in_collecting_one_object_keeps_no_other(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = Poison(monkeypatch, "bad")
    before = POISONED.count(GarbageCollector.__name__)
    for name in ("bad", "good"):
        await api.post(CONFIG_MAPS, owned(a_config_map(name)))
    await api.settle()
    assert (await api.get(f"{CONFIG_MAPS}/good")).code == 404
    assert api.parts.garbage.queue.set_aside == 1
    assert POISONED.count(GarbageCollector.__name__) == before + 1
    poison.is_on = False
    await api.clock.advance(1)
    assert (await api.get(f"{CONFIG_MAPS}/bad")).code == 404
    assert api.parts.garbage.queue.set_aside == 0


@pytest.mark.poisons
async def test_a_bug_met_in_emptying_a_namespace_keeps_nothing_else_in_it_or_elsewhere(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = Poison(monkeypatch, "bad")
    for name in ("team", "other"):
        await api.post(NAMESPACES, a_namespace(name))
        await api.settle()
    for name in ("bad", "good"):
        doc = a_config_map(name)
        doc["metadata"]["namespace"] = "team"
        await api.post("/api/v1/namespaces/team/configmaps", doc)
    for name in ("team", "other"):
        await api.delete(f"{NAMESPACES}/{name}")
    await api.settle()
    left = (await api.get("/api/v1/namespaces/team/configmaps")).doc["items"]
    assert [one["metadata"]["name"] for one in left] == ["bad"]
    assert (await api.get("/api/v1/namespaces/team/serviceaccounts")).doc["items"] == []
    assert (await api.get(f"{NAMESPACES}/other")).code == 404
    conditions = (await api.get(f"{NAMESPACES}/team")).doc["status"]["conditions"]
    assert any("configmaps. has 1 resource" in one["message"] for one in conditions)
    poison.is_on = False
    await api.clock.advance(60)
    assert (await api.get(f"{NAMESPACES}/team")).code == 404


@pytest.mark.poisons
async def test_a_follower_that_stumbles_over_one_change_hears_of_the_next(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = GarbageCollector._see

    def stumble(collector: GarbageCollector, kind: Kind, entry: Entry) -> None:
        if entry.name == "default/bad":
            raise KeyError("uid")
        seen(collector, kind, entry)

    monkeypatch.setattr(GarbageCollector, "_see", stumble)
    assert (await api.post(CONFIG_MAPS, owned(a_config_map("bad")))).code == 201
    await api.post(CONFIG_MAPS, owned(a_config_map("good")))
    await api.settle()
    assert (await api.get(f"{CONFIG_MAPS}/bad")).code == 200
    assert (await api.get(f"{CONFIG_MAPS}/good")).code == 404


class FullDisk:
    """A store that refuses every write while it is on."""

    def __init__(self, api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = False
        self.refused = 0
        store = api.parts.backend.store
        write = store.write

        async def written(table: str, name: str, decide: Decide) -> Entry | None:
            if self.is_on:
                self.refused += 1
                raise StoreError("the database could not be written: database or disk is full")
            return await write(table, name, decide)

        monkeypatch.setattr(store, "write", written)


async def test_events_outlive_a_full_disk_and_expire_when_there_is_room(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(api, monkeypatch)
    for name in ("a", "b", "c"):
        await api.post(EVENTS, an_event(name))
    disk.is_on = True
    await api.clock.advance(HOUR + 60)
    assert len((await api.get(EVENTS)).doc["items"]) == 3
    assert 1 <= disk.refused < 20  # all of them wait for the disk, not each of them
    disk.is_on = False
    await api.clock.advance(20)
    assert (await api.get(EVENTS)).doc["items"] == []


async def test_garbage_outlives_a_full_disk(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(api, monkeypatch)
    await api.post(NAMESPACES, a_namespace("team"))
    owner = (await api.post(CONFIG_MAPS, a_config_map("owner"))).doc["metadata"]
    doc = owned(a_config_map("c"))
    doc["metadata"]["ownerReferences"][0] |= {"name": "owner", "uid": owner["uid"]}
    await api.post(CONFIG_MAPS, doc)
    await api.delete(f"{CONFIG_MAPS}/owner")
    disk.is_on = True
    await api.clock.advance(60)
    disk.is_on = False
    await api.clock.advance(60)
    assert (await api.get(f"{CONFIG_MAPS}/c")).code == 404
