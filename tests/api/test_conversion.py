"""Versions of a kind that a webhook converts: when it is asked, what it may answer, and what its
failures cost. In v1 a widget has a size; in v2, a width."""

import asyncio
import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.api.definitions import created, define, put_definition
from tests.fakes.api import ApiUnderTest, Doc, Watching
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS, a_definition, a_version
from tests.fakes.waiting import until
from tests.fakes.webhook_server import WebhookServer, webhook_server

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
NAMED = "conversion webhook for example.com/v1, Kind=Widget"
_FIELDS = {"example.com/v1": "size", "example.com/v2": "width"}


def _schema(field: str) -> Doc:
    spec = {
        "type": "object",
        "properties": {
            field: {"type": "integer"},
            "other": {"type": "string"},
            "replicas": {"type": "integer"},
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}


def widgets(client: Doc, storage: str = "v1", **changes: Any) -> Doc:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    parts = {"status": {}, "scale": scale}
    versions = [
        a_version(name, storage=name == storage, schema=_schema(field), subresources=parts)
        for name, field in (("v1", "size"), ("v2", "width"))
    ]
    definition = a_definition(versions=versions)
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    definition["spec"].update(changes)
    return definition


def a_widget(version: str, name: str = "w", **spec: Any) -> Doc:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }


def convert(doc: Doc, wanted: str) -> Doc:
    """What a right webhook makes of an object."""
    out = copy.deepcopy(doc)
    was, now = _FIELDS[doc["apiVersion"]], _FIELDS[wanted]
    spec = out.setdefault("spec", {})
    if was in spec:
        spec[now] = spec.pop(was)
    out["apiVersion"] = wanted
    return out


def converting(request: Doc) -> Doc:
    wanted = request["desiredAPIVersion"]
    objects = [convert(doc, wanted) for doc in request["objects"]]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        server.respond = converting
        yield server


@pytest.fixture(autouse=True)
async def closed(api: ApiUnderTest) -> AsyncIterator[None]:
    yield
    await api.parts.backend.webhooks.close()


async def seen(watching: Watching, count: int) -> None:
    """The webhook is a real program: its answers come when they come."""
    await until(lambda: len(watching.events) >= count or watching.ended)


async def switch_storage(api: ApiUnderTest, to: str) -> None:
    path = f"{DEFINITIONS}/widgets.example.com"
    definition = (await api.get(path)).doc
    for version in definition["spec"]["versions"]:
        version["storage"] = version["name"] == to
    changed = await put_definition(api, definition)
    assert changed.code == 200, changed.text


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
    patched = await api.patch(f"{V2}/w", {"spec": {"width": 6}})
    assert patched.doc["spec"] == {"width": 6, "replicas": 1}, patched.text
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
    patched = await api.patch(f"{V2}/w?fieldManager=b", {"spec": {"width": 5}})
    assert owned(patched.doc) == {
        ("a", "v1"): {".": {}, "f:other": {}},
        ("b", "v2"): {"f:width": {}},
    }, patched.text


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


# what it may answer


def lying(change: Any) -> Any:
    """Answers rightly, but for what `change` does to the first object."""

    def respond(request: Doc) -> Doc:
        response = converting(request)
        change(response["convertedObjects"][0])
        return response

    return respond


LIES: dict[str, tuple[Any, str]] = {
    "a failure with a message": (
        lambda _: {"result": {"status": "Failed", "message": "not today"}},
        "failed: not today",
    ),
    "a failure without a message": (
        lambda _: {"result": {"status": "Failed"}},
        "failed: response.result.status was 'Failed', not 'Success'",
    ),
    "too few objects": (
        lambda _: {"convertedObjects": [], "result": {"status": "Success"}},
        "returned 0 objects, expected 1",
    ),
    "another uid of the review": (
        lambda request: {**converting(request), "uid": "other"},
        'got "other"',
    ),
    "the version that was sent": (
        lying(lambda doc: doc.update(apiVersion="example.com/v1")),
        "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, "
        "received example.com/v1)",
    ),
    "another kind": (
        lying(lambda doc: doc.update(kind="Gadget")),
        "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
    ),
    "another name": (
        lying(lambda doc: doc["metadata"].update(name="x")),
        "returned invalid object: must have the same name: w != x",
    ),
    "another namespace": (
        lying(lambda doc: doc["metadata"].update(namespace="x")),
        "returned invalid object: must have the same namespace: default != x",
    ),
    "another uid": (
        lying(lambda doc: doc["metadata"].update(uid="x")),
        "!= x",
    ),
    "no metadata": (
        lying(lambda doc: doc.pop("metadata")),
        "missing metadata in converted object",
    ),
    "labels that are no texts": (
        lying(lambda doc: doc["metadata"].update(labels={"a": 1})),
        "metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    "labels that are none": (
        lying(lambda doc: doc["metadata"].update(labels={"a b": "c"})),
        "metadata.labels: Invalid value",
    ),
    "no object": (
        lambda _: {"convertedObjects": [7], "result": {"status": "Success"}},
        "returned invalid object at index 0: it is no JSON object",
    ),
    "more values than a document may hold": (
        lying(lambda doc: doc["spec"].update(other=[0] * 30_000)),
        "a document may hold at most 20000 values",
    ),
}


@pytest.mark.parametrize(("respond", "told"), LIES.values(), ids=LIES)
async def test_a_webhook_that_lies_is_not_believed(
    api: ApiUnderTest, hook: WebhookServer, respond: Any, told: str
) -> None:
    await define(api, widgets(hook.by_url))
    before = await created(api, V1, a_widget("v1", size=3))
    hook.respond = respond
    for refused in (await api.get(f"{V2}/w"), await api.get(V2)):
        assert refused.code == 500, refused.text
        assert refused.doc["message"].startswith(NAMED), refused.text
        assert told in refused.doc["message"], refused.text
    assert (await api.patch(f"{V2}/w", {"spec": {"width": 1}})).code == 500
    assert (await api.get(f"{V1}/w")).doc == before
    hook.respond = converting
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3}


async def test_of_metadata_only_labels_and_annotations_may_change(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def change(doc: Doc) -> None:
        doc["metadata"].update(
            labels={"new": "l"}, annotations={"new": "a"}, finalizers=["x/y"], generation=99
        )

    await define(api, widgets(hook.by_url))
    before = await created(api, V1, a_widget("v1", size=3))
    hook.respond = lying(change)
    metadata = (await api.get(f"{V2}/w")).doc["metadata"]
    assert metadata.pop("labels") == {"new": "l"}
    assert metadata.pop("annotations") == {"new": "a"}
    assert metadata == before["metadata"]


async def test_what_the_other_version_does_not_know_is_pruned(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    hook.respond = lying(lambda doc: doc["spec"].update(unknown=1))
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3}


async def test_an_answer_that_is_no_review_is_told(api: ApiUnderTest, hook: WebhookServer) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    hook.raw = web.json_response({"kind": "Other", "apiVersion": "v1", "response": {}})
    refused = await api.get(f"{V2}/w")
    told = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got v1"
    assert (refused.code, told in refused.text) == (500, True), refused.text
    hook.raw = web.Response(text="[]")
    assert f"{NAMED} failed: the answer cannot be read" in (await api.get(f"{V2}/w")).text


# failures


async def test_a_webhook_that_is_down_fails_its_requests_alone(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    before = await created(api, V1, a_widget("v1", size=3))
    told = f'{NAMED} failed: Post "https://127.0.0.1:1/convert?timeout=30s": dial tcp'
    assert (await api.get(f"{V2}/w")).doc["message"].startswith(told)
    assert (await api.get(V2)).code == 500
    refused = await api.post(V2, a_widget("v2", "new", width=1))
    assert refused.code == 500, refused.text
    assert "conversion webhook for example.com/v2, Kind=Widget failed" in refused.text
    assert [doc["metadata"]["name"] for doc in (await api.get(V1)).doc["items"]] == ["w"]
    assert (await api.get(f"{V1}/w")).doc == before


async def test_a_write_whose_result_could_not_be_shown_does_not_happen(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def one_way(request: Doc) -> Doc:
        if request["desiredAPIVersion"] == "example.com/v2":
            return {"result": {"status": "Failed", "message": "no way back"}}
        return converting(request)

    await define(api, widgets(hook.by_url))
    hook.respond = one_way
    assert "no way back" in (await api.post(V2, a_widget("v2", width=1))).text
    assert (await api.get(V1)).doc["items"] == []


async def test_a_webhook_that_hangs_holds_up_nobody_else(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    released = asyncio.Event()

    async def hang(request: Doc) -> Doc:
        await released.wait()
        return converting(request)

    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    hook.respond = hang
    reads = [asyncio.create_task(api.get(f"{V2}/w")) for _ in range(20)]
    lists = [asyncio.create_task(api.get(V2)) for _ in range(20)]
    await until(lambda: bool(hook.asked))
    assert (await api.get(f"{V1}/w")).code == 200
    assert await api.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
    assert (await api.patch(f"{V1}/w", {"spec": {"other": "x"}})).code == 200
    assert len(hook.asked) == 1  # all forty wait for one answer
    reads[0].cancel()  # a client that goes takes nobody's answer with it
    released.set()
    for task in (*reads[1:], *lists):
        assert (await task).code == 200


async def test_one_bad_object_fails_lists_but_no_reads_of_others(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def respond(request: Doc) -> Doc:
        if any(doc["metadata"]["name"] == "bad" for doc in request["objects"]):
            return {"result": {"status": "Failed", "message": "bad one"}}
        return converting(request)

    await define(api, widgets(hook.by_url))
    for name in ("bad", "good"):
        await created(api, V1, a_widget("v1", name, size=3))
    hook.respond = respond
    listed, read = await asyncio.gather(api.get(V2), api.get(f"{V2}/good"))
    assert (listed.code, read.code) == (500, 200), (listed.text, read.text)


# deleting


async def test_objects_are_deleted_without_their_webhook(api: ApiUnderTest) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    await created(api, V1, a_widget("v1", size=3))
    held = a_widget("v1", "held", size=3)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await created(api, V1, held)
    assert (await api.delete(f"{V2}/w")).doc["status"] == "Success"
    assert (await api.delete(f"{V2}/held")).doc["status"] == "Success"
    assert "deletionTimestamp" in (await api.get(f"{V1}/held")).doc["metadata"]


async def test_a_definition_goes_with_objects_of_all_versions_and_without_its_webhook(
    api: ApiUnderTest,
) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    await created(api, V1, a_widget("v1", "old", size=3))
    await switch_storage(api, "v2")
    await created(api, V2, a_widget("v2", "new", width=3))
    deleted = await api.delete(f"{DEFINITIONS}/widgets.example.com")
    assert deleted.code == 200, deleted.text
    await settle()
    assert (await api.get(f"{DEFINITIONS}/widgets.example.com")).code == 404


async def test_dependents_are_collected_without_their_webhook(api: ApiUnderTest) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    maps = "/api/v1/namespaces/default/configmaps"
    owner = await created(api, maps, {"metadata": {"name": "owner"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    owned = a_widget("v1", size=3)
    owned["metadata"]["ownerReferences"] = [reference]
    await created(api, V1, owned)
    await switch_storage(api, "v2")
    await api.delete(f"{maps}/owner")
    await settle()
    assert (await api.get(f"{V1}/w")).code == 404


# stored versions


async def test_an_update_that_changes_nothing_stores_the_object_in_the_storage_version(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    before = await created(api, V1, a_widget("v1", size=3))
    unchanged = await api.put(f"{V1}/w", before)
    assert unchanged.doc == before
    await switch_storage(api, "v2")
    migrated = (await api.put(f"{V1}/w", before)).doc
    version = migrated["metadata"].pop("resourceVersion")
    assert version != before["metadata"].pop("resourceVersion")
    assert migrated == before
    hook.asked.clear()
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3}
    assert hook.asked == []  # it is stored so
    again = await api.put(f"{V1}/w", (await api.get(f"{V1}/w")).doc)
    assert again.doc["metadata"]["resourceVersion"] == version


async def test_a_version_that_objects_are_stored_in_stays_until_they_are_migrated(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    await switch_storage(api, "v2")
    path = f"{DEFINITIONS}/widgets.example.com"
    definition = (await api.get(path)).doc
    assert definition["status"]["storedVersions"] == ["v1", "v2"]
    without = copy.deepcopy(definition)
    del without["spec"]["versions"][0]
    refused = await api.put(path, without)
    assert refused.code == 422, refused.text
    assert "status.storedVersions[0]: Invalid value: " in refused.doc["message"]
    assert "must remain in spec.versions until a storage migration" in refused.doc["message"]
    await api.put(f"{V2}/w", (await api.get(f"{V2}/w")).doc)
    done = await api.patch(f"{path}/status", {"status": {"storedVersions": ["v2"]}})
    assert done.code == 200, done.text
    without["metadata"]["resourceVersion"] = done.doc["metadata"]["resourceVersion"]
    removed = await api.put(path, without)
    assert removed.code == 200, removed.text
    await settle()
    hook.asked.clear()
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3}
    assert hook.asked == []


async def test_it_is_reached_by_a_service_as_well(api: ApiUnderTest, hook: WebhookServer) -> None:
    await define(api, widgets(hook.by_service))
    await created(api, V1, a_widget("v1", size=3))
    refused = await api.get(f"{V2}/w")
    assert 'service "hook" not found' in refused.doc["message"], refused.text
