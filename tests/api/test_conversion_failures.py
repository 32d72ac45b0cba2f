"""What a conversion webhook may answer, and what its failures cost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.api.conversion import NAMED, V1, V2, a_widget, converting, widgets
from tests.api.definitions import created, define
from tests.fakes.api import ApiUnderTest, Doc
from tests.fakes.waiting import until
from tests.fakes.webhook_server import WebhookServer, webhook_server


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        server.respond = converting
        yield server


@pytest.fixture(autouse=True)
async def closed(api: ApiUnderTest) -> AsyncIterator[None]:
    yield
    await api.parts.backend.webhooks.close()


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


async def test_an_answer_of_millions_of_values_is_not_read(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    hook.respond = lambda _: {"convertedObjects": [0] * 250_000, "result": {"status": "Success"}}
    refused = await api.get(f"{V2}/w")
    assert refused.doc["message"] == f"{NAMED} failed: the answer holds more than 200000 values"
    text = "," * 250_000
    hook.respond = lying(lambda doc: doc["spec"].update(other=text))
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3, "other": text}
