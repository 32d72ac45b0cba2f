"""metadata.managedFields on writes other than apply."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CONFIG_MAPS,
    STORED,
    a_claim,
    a_config_map,
)

Doc = dict[str, Any]

X = f"{CONFIG_MAPS}/x"


def owners(doc: Doc) -> dict[str, Doc]:
    """manager -> what it owns."""
    entries = doc["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


async def test_who_creates_owns_everything(api: ApiUnderTest) -> None:
    doc = a_config_map("x", a="1")
    doc["metadata"]["labels"] = {"l": "1"}
    answer = await api.post(f"{CONFIG_MAPS}?fieldManager=m1", doc)
    assert answer.doc["metadata"]["managedFields"] == [
        {
            "manager": "m1",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:a": {}},
                "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            },
        }
    ]


MANAGERS = {
    "as the request says": ("?fieldManager=me", "kubectl/v1.35.0 (linux/amd64)", "me"),
    "as the client calls itself": ("", "kubectl/v1.35.0 (linux/amd64)", "kubectl"),
    "a client without a version": ("", "curl", "curl"),
    "a client without a name": ("", "", "unknown"),
    "a client with a long name": ("", "a" * 200 + "/1", "a" * 128),
}


@pytest.mark.parametrize(("query", "agent", "manager"), MANAGERS.values(), ids=MANAGERS)
async def test_who_the_manager_is(api: ApiUnderTest, query: str, agent: str, manager: str) -> None:
    answer = await api.post(f"{CONFIG_MAPS}{query}", a_config_map("x"), user_agent=agent)
    assert owners(answer.doc).keys() == {manager}


@pytest.mark.parametrize(("url", "make"), STORED.values(), ids=STORED)
async def test_what_only_the_server_writes_is_owned_by_nobody(
    api: ApiUnderTest, url: str, make: Any
) -> None:
    stored = (await api.post(f"{url}?fieldManager=m1", make())).doc
    fields = owners(stored).get("m1", {})
    assert not fields.keys() & {"f:apiVersion", "f:kind", "f:status"}
    never = {"name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion"}
    assert not fields.get("f:metadata", {}).keys() & {f"f:{name}" for name in never}


async def test_what_the_server_decides_is_owned_by_nobody(api: ApiUnderTest) -> None:
    """The finalizer of a namespace, a class that is chosen, a source that is copied."""
    created = await api.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    (fields,) = owners(created.doc).values()
    assert fields.keys() == {"f:metadata"}
    claim = a_claim()
    claim["spec"]["dataSource"] = {"kind": "PersistentVolumeClaim", "name": "other"}
    (fields,) = owners((await api.post(CLAIMS, claim)).doc).values()
    assert "f:dataSource" in fields["f:spec"]
    assert "f:dataSourceRef" not in fields["f:spec"]


async def test_zeroes_that_are_always_shown_are_owned_by_nobody(api: ApiUnderTest) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    created = (await api.post("/api/v1/namespaces/default/events", event)).doc
    assert created["firstTimestamp"] is None
    (fields,) = owners(created).values()
    assert fields == {"f:involvedObject": {}}


async def test_what_changes_changes_hands_and_the_rest_stays(api: ApiUnderTest) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=m1", a_config_map("x", a="1", b="1"))
    await api.clock.advance(60)
    after = (await api.patch(f"{X}?fieldManager=m2", {"data": {"b": "2", "c": "2"}})).doc
    assert owners(after) == {
        "m1": {"f:data": {".": {}, "f:a": {}}},
        "m2": {"f:data": {"f:b": {}, "f:c": {}}},
    }
    times = {e["manager"]: e["time"] for e in after["metadata"]["managedFields"]}
    assert times == {"m1": "2026-01-02T03:04:05Z", "m2": "2026-01-02T03:05:05Z"}


async def test_what_is_removed_is_owned_by_nobody(api: ApiUnderTest) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=m1", a_config_map("x", a="1", b="1"))
    after = (await api.patch(f"{X}?fieldManager=m2", {"data": {"b": None}})).doc
    assert owners(after) == {"m1": {"f:data": {".": {}, "f:a": {}}}}


async def test_the_status_is_owned_by_who_writes_it_there(api: ApiUnderTest) -> None:
    await api.post(f"{CLAIMS}?fieldManager=m1", a_claim())
    patch = {"status": {"phase": "Bound"}}
    after = (await api.patch(f"{CLAIMS}/data/status?fieldManager=m2", patch)).doc
    entry = next(e for e in after["metadata"]["managedFields"] if e["manager"] == "m2")
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})


async def test_more_than_ten_updaters_are_folded_into_one(api: ApiUnderTest) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=m0", a_config_map("x"))
    for n in range(1, 13):
        await api.clock.advance(1)
        await api.patch(f"{X}?fieldManager=m{n}", {"data": {f"k{n}": "1"}})
    after = (await api.get(X)).doc
    assert len(after["metadata"]["managedFields"]) == 10
    ancient = owners(after)["ancient-changes"]
    assert ancient["f:data"].keys() == {".", "f:colour", "f:k1", "f:k2", "f:k3"}


FORGETTING: dict[str, tuple[str, Any]] = {
    "a merge patch": ("merge-patch+json", {"metadata": {"managedFields": [{}]}}),
    "a JSON patch": (
        "json-patch+json",
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    ),
}


@pytest.mark.parametrize(("media", "patch"), FORGETTING.values(), ids=FORGETTING)
async def test_an_empty_entry_forgets_all_owners(api: ApiUnderTest, media: str, patch: Any) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    assert "managedFields" not in (await api.patch(X, patch, media)).doc["metadata"]
    after = (await api.patch(X, {"data": {"a": "2"}})).doc
    assert "managedFields" not in after["metadata"]


async def test_an_empty_entry_in_a_put_forgets_all_owners(api: ApiUnderTest) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    stored["metadata"]["managedFields"] = [{}]
    assert "managedFields" not in (await api.put(X, stored)).doc["metadata"]


KEEPING: dict[str, Any] = {
    "absent": None,
    "as they are": "as they are",
    "not managedFields at all": [{"manager": "x", "operation": "Eat"}],
    "half an entry": [{"manager": "x"}],
}


@pytest.mark.parametrize("given", KEEPING.values(), ids=KEEPING)
async def test_clients_that_do_not_know_the_owners_cannot_lose_them(
    api: ApiUnderTest, given: Any
) -> None:
    stored = (await api.post(f"{CONFIG_MAPS}?fieldManager=m1", a_config_map("x"))).doc
    doc = a_config_map("x")
    if given == "as they are":
        doc["metadata"]["managedFields"] = stored["metadata"]["managedFields"]
    elif given is not None:
        doc["metadata"]["managedFields"] = given
    after = (await api.put(X, doc)).doc
    assert after["metadata"]["managedFields"] == stored["metadata"]["managedFields"]


async def test_owners_cannot_be_set_through_the_status(api: ApiUnderTest) -> None:
    stored = (await api.post(f"{CLAIMS}?fieldManager=m1", a_claim())).doc
    doc = {**stored, "metadata": stored["metadata"] | {"managedFields": [{}]}}
    assert (await api.put(f"{CLAIMS}/data/status", doc)).doc == stored
