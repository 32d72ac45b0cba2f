"""Versions of a kind that a webhook converts: reads, lists, writes, watches, admission, and who
owns which fields."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conversion import NAMED, V1, V2, a_widget, converting, seen, switch_storage, widgets
from tests.api.definitions import created, define
from tests.fakes.api import ApiUnderTest, Doc
from tests.fakes.webhook_server import WebhookServer, patched, webhook_server


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        server.respond = converting
        yield server


@pytest.fixture(autouse=True)
async def closed(api: ApiUnderTest) -> AsyncIterator[None]:
    yield
    await api.parts.backend.webhooks.close()


# reading and writing


async def test_who_uses_the_storage_version_asks_nobody(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    await api.patch(f"{V1}/w", {"spec": {"other": "x"}})
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"size": 3, "other": "x"}
    assert (await api.get(V1)).doc["items"][0]["spec"]["size"] == 3
    assert (await api.delete(f"{V1}/w")).code == 200
    assert hook.asked == []


async def test_an_object_is_read_in_the_other_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    made = await created(api, V1, a_widget("v1", size=3))
    read = await api.get(f"{V2}/w")
    assert read.code == 200, read.text
    assert read.doc["apiVersion"] == "example.com/v2"
    assert read.doc["spec"] == {"width": 3}
    assert read.doc["metadata"] == made["metadata"]
    assert hook.asked[0]["desiredAPIVersion"] == "example.com/v2"
    assert hook.asked[0]["objects"][0]["spec"] == {"size": 3}


async def test_what_is_written_in_another_version_is_stored_in_the_storage_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    made = await created(api, V2, a_widget("v2", width=4))
    assert (made["apiVersion"], made["spec"]) == ("example.com/v2", {"width": 4})
    asked = len(hook.asked)
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"size": 4}
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 4}
    assert len(hook.asked) == asked  # v1 is what is stored, v2 was shown when it was written


async def test_update_patch_status_and_scale_work_in_the_other_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3, replicas=1))
    doc = (await api.get(f"{V2}/w")).doc
    doc["spec"]["width"] = 5
    updated = await api.put(f"{V2}/w", doc)
    assert (updated.code, updated.doc["spec"]["width"]) == (200, 5), updated.text
    changed = await api.patch(f"{V2}/w", {"spec": {"width": 6}})
    assert changed.doc["spec"] == {"width": 6, "replicas": 1}, changed.text
    status = await api.patch(f"{V2}/w/status", {"status": {"replicas": 1}})
    assert status.doc["status"] == {"replicas": 1}, status.text
    scaled = await api.patch(f"{V2}/w/scale", {"spec": {"replicas": 7}})
    assert scaled.doc["spec"] == {"replicas": 7}, scaled.text
    stored = (await api.get(f"{V1}/w")).doc
    assert stored["spec"] == {"size": 6, "replicas": 7}
    assert stored["status"] == {"replicas": 1}
    assert stored["metadata"]["generation"] == 4


async def test_a_list_is_one_question_about_the_objects_of_another_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    for number in range(5):
        await created(api, V1, a_widget("v1", f"w{number}", size=number))
    await switch_storage(api, "v2")
    await created(api, V2, a_widget("v2", "w5", width=5))
    assert hook.asked == []
    listed = await api.get(V2)
    assert [item["spec"]["width"] for item in listed.doc["items"]] == [0, 1, 2, 3, 4, 5]
    (asked,) = hook.asked
    assert [doc["metadata"]["name"] for doc in asked["objects"]] == [f"w{n}" for n in range(5)]
    assert (await api.get(V2)).doc["items"] == listed.doc["items"]
    assert len(hook.asked) == 1  # known until they change


async def test_a_long_list_is_several_questions_of_a_bounded_size(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    for number in range(5):
        await created(api, V1, a_widget("v1", f"w{number}", size=number, other="x" * 400_000))
    listed = await api.get(V2)
    assert [item["spec"]["width"] for item in listed.doc["items"]] == [0, 1, 2, 3, 4]
    assert sorted(len(asked["objects"]) for asked in hook.asked) == [1, 2, 2]


async def test_selectors_look_at_what_the_webhook_made(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def labelled(request: Doc) -> Doc:
        response = converting(request)
        for doc in response["convertedObjects"]:
            doc["metadata"]["labels"] = {"as": request["desiredAPIVersion"].rpartition("/")[2]}
        return response

    hook.respond = labelled
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=1))
    assert len((await api.get(f"{V2}?labelSelector=as=v2")).doc["items"]) == 1
    assert len((await api.get(f"{V1}?labelSelector=as=v2")).doc["items"]) == 0


async def test_a_table_has_the_columns_of_its_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    definition = widgets(hook.by_url)
    column = {"name": "Width", "type": "integer", "jsonPath": ".spec.width"}
    definition["spec"]["versions"][1]["additionalPrinterColumns"] = [column]
    await define(api, definition)
    await created(api, V1, a_widget("v1", size=9))
    table = await api.get(V2, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert table.doc["rows"][0]["cells"] == ["w", 9]


async def test_a_dry_run_converts_and_writes_nothing(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    dry = await api.patch(f"{V2}/w?dryRun=All", {"spec": {"width": 8}})
    assert dry.doc["spec"] == {"width": 8}, dry.text
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"size": 3}


# owners of fields


def owned(doc: Doc) -> dict[tuple[str, str], Any]:
    return {
        (entry["manager"], entry["apiVersion"].rpartition("/")[2]): entry["fieldsV1"].get("f:spec")
        for entry in doc["metadata"]["managedFields"]
    }


async def test_a_field_that_is_owned_by_another_name_is_a_conflict(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    first = await api.apply(f"{V1}/w?fieldManager=a", a_widget("v1", size=3))
    assert first.code == 201, first.text
    same = await api.apply(f"{V2}/w?fieldManager=b", a_widget("v2", width=3))
    assert same.code == 200, same.text
    conflict = await api.apply(f"{V2}/w?fieldManager=b", a_widget("v2", width=4))
    assert conflict.code == 409, conflict.text
    assert conflict.doc["message"] == 'Apply failed with 1 conflict: conflict with "a": .spec.size'
    forced = await api.apply(f"{V2}/w?fieldManager=b&force=true", a_widget("v2", width=4))
    assert forced.code == 200, forced.text
    assert forced.doc["spec"] == {"width": 4}
    assert owned(forced.doc) == {("b", "v2"): {"f:width": {}}}


async def test_what_a_manager_applied_in_another_version_is_removed_when_it_applies_it_no_more(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await api.apply(f"{V1}/w?fieldManager=a", a_widget("v1", size=3, other="x", replicas=1))
    await api.apply(f"{V1}/w?fieldManager=b", a_widget("v1", replicas=1))
    applied = await api.apply(f"{V2}/w?fieldManager=a", a_widget("v2", other="x"))
    assert applied.code == 200, applied.text
    assert applied.doc["spec"] == {"other": "x", "replicas": 1}
    assert owned(applied.doc) == {("a", "v2"): {"f:other": {}}, ("b", "v1"): {"f:replicas": {}}}
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"other": "x", "replicas": 1}


async def test_applying_the_same_in_another_version_removes_nothing(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await api.apply(f"{V1}/w?fieldManager=a", a_widget("v1", size=3))
    applied = await api.apply(f"{V2}/w?fieldManager=a", a_widget("v2", width=3))
    assert applied.doc["spec"] == {"width": 3}, applied.text
    assert owned(applied.doc) == {("a", "v2"): {"f:width": {}}}
    again = await api.apply(f"{V2}/w?fieldManager=a", a_widget("v2", width=3))
    assert again.doc == applied.doc


async def test_an_update_takes_the_fields_that_it_changes_from_their_owners_of_other_versions(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await api.post(f"{V1}?fieldManager=a", a_widget("v1", size=3, other="x"))
    changed = await api.patch(f"{V2}/w?fieldManager=b", {"spec": {"width": 5}})
    assert owned(changed.doc) == {
        ("a", "v1"): {".": {}, "f:other": {}},
        ("b", "v2"): {"f:width": {}},
    }, changed.text


# watching


async def test_a_watch_shows_all_changes_in_its_version_and_in_order(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", "first", size=0))
    watching = await api.watch(f"{V2}?watch=1")
    for number in range(1, 4):
        await created(api, V1, a_widget("v1", f"w{number}", size=number))
    await api.patch(f"{V1}/w1", {"spec": {"size": 10}})
    await api.delete(f"{V1}/w2")
    await seen(watching, 6)
    assert [(e["type"], e["object"]["spec"]["width"]) for e in watching.events] == [
        ("ADDED", 0),
        ("ADDED", 1),
        ("ADDED", 2),
        ("ADDED", 3),
        ("MODIFIED", 10),
        ("DELETED", 2),
    ]
    assert {e["object"]["apiVersion"] for e in watching.events} == {"example.com/v2"}
    watching.cut()


async def test_watchers_of_the_same_version_share_one_question(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    watchings = [await api.watch(f"{V2}?watch=1") for _ in range(4)]
    await created(api, V1, a_widget("v1", size=3))
    for watching in watchings:
        await seen(watching, 1)
        assert watching.events[0]["object"]["spec"] == {"width": 3}
        watching.cut()
    assert len(hook.asked) == 1


async def test_a_watch_with_a_selector_sees_objects_come_and_go(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    watching = await api.watch(f"{V2}?watch=1&labelSelector=a=b")
    await created(api, V1, a_widget("v1", size=3))
    await api.patch(f"{V1}/w", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(f"{V1}/w", {"metadata": {"labels": {"a": "c"}}})
    await seen(watching, 2)
    assert watching.types == ["ADDED", "DELETED"]
    watching.cut()


async def test_a_watch_ends_with_the_error_when_an_object_cannot_be_converted(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    watching = await api.watch(f"{V2}?watch=1")
    hook.respond = lambda _: {"result": {"status": "Failed", "message": "no"}}
    await created(api, V1, a_widget("v1", size=3))
    await seen(watching, 1)
    assert watching.types == ["ERROR"]
    assert watching.events[0]["object"]["message"] == f"{NAMED} failed: no"
    assert watching.ended


# admission


async def test_an_admission_webhook_is_shown_the_version_that_its_rules_name(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def respond(request: Doc) -> Doc:
        if "desiredAPIVersion" in request:
            return converting(request)
        if request["operation"] == "DELETE":
            return {"allowed": True}
        size = request["object"]["spec"]["size"]
        return patched({"op": "replace", "path": "/spec/size", "value": size + 1})

    hook.respond = respond
    await define(api, widgets(hook.by_url, storage="v2"))
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"]}
    configuration = {
        "kind": "MutatingWebhookConfiguration",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "one"},
        "webhooks": [
            {
                "name": "one.example.com",
                "clientConfig": hook.by_url,
                "rules": [{**rule, "resources": ["widgets"]}],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
    hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await created(api, hooks, configuration)
    made = await created(api, V2, a_widget("v2", width=3))
    assert made["spec"] == {"width": 4}
    deleted = await api.delete(f"{V2}/w")
    assert deleted.code == 200, deleted.text
    about = [request for request in hook.asked if "operation" in request]
    assert [request["kind"]["version"] for request in about] == ["v1", "v1"]
    assert [request["requestKind"]["version"] for request in about] == ["v2", "v2"]
    assert about[1]["oldObject"]["spec"] == {"size": 4}
