"""The versions that custom objects are stored in: migration, and deletion without a webhook."""

import copy
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.store.contract import Entry, Put
from tests.api.conversion import V1, V2, a_widget, converting, switch_storage, widgets
from tests.api.definitions import conditions, created, define, put_definition
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS
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


async def test_objects_are_counted_without_their_webhook(api: ApiUnderTest) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    await created(api, V1, a_widget("v1", "old", size=3))
    await switch_storage(api, "v2")
    quotas = "/api/v1/namespaces/default/resourcequotas"
    hard = {"count/widgets.example.com": "2"}
    await created(api, quotas, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    await settle()
    used = (await api.get(f"{quotas}/q")).doc["status"]["used"]
    assert used == {"count/widgets.example.com": "1"}
    await created(api, V2, a_widget("v2", "new", width=3))
    refused = await api.post(V2, a_widget("v2", "third", width=3))
    assert refused.code == 403, refused.text


async def test_a_namespace_goes_with_its_objects_and_without_their_webhook(
    api: ApiUnderTest,
) -> None:
    await define(api, widgets({"url": "https://127.0.0.1:1/convert"}))
    await created(api, "/api/v1/namespaces", {"metadata": {"name": "away"}})
    await created(api, V1.replace("default", "away"), a_widget("v1", size=3))
    await switch_storage(api, "v2")
    deleted = await api.delete("/api/v1/namespaces/away")
    assert deleted.code == 200, deleted.text
    await settle()
    assert (await api.get("/api/v1/namespaces/away")).code == 404


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


async def test_a_definition_with_an_unusable_bundle_is_served_when_it_is_put_right(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    defined = await define(api, widgets({**hook.by_url, "caBundle": "bm90aGluZw=="}))
    assert conditions(defined)["Established"] == ("False", "InvalidCABundle")
    assert (await api.get(V1)).code == 404
    defined["spec"]["conversion"]["webhook"]["clientConfig"] = hook.by_url
    assert (await put_definition(api, defined)).code == 200
    await created(api, V1, a_widget("v1", size=3))
    read = await api.get(f"{V2}/w")
    assert read.doc["spec"] == {"width": 3}, read.text
    served = (await api.get(f"{DEFINITIONS}/widgets.example.com")).doc
    served["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = "bm90aGluZw=="
    refused = await put_definition(api, served)
    assert refused.code == 422, refused.text
    assert "spec.conversion.webhookClientConfig.caBundle: Invalid value" in refused.doc["message"]


async def test_objects_that_do_not_say_their_version_are_of_the_oldest_stored_one(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    store = api.parts.backend.store
    table = "example.com/widgets"

    def as_before(entry: Entry | None) -> Put:
        """As it was written when versions were not recorded."""
        assert entry is not None
        head, _, tail = entry.value.partition(b"%d" % entry.revision)
        assert tail.endswith(b',"apiVersion":"example.com/v1"}')
        return Put(head, tail.removesuffix(b',"apiVersion":"example.com/v1"}') + b"}")

    await store.write(table, "default/w", as_before)
    await switch_storage(api, "v2")
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"size": 3}
    assert hook.asked == []
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"width": 3}
    assert hook.asked[0]["objects"][0]["apiVersion"] == "example.com/v1"
    listed = (await api.get(V1)).doc["items"]
    assert listed[0]["apiVersion"] == "example.com/v1"


async def test_without_a_webhook_an_object_keeps_the_fields_of_the_version_it_is_stored_in(
    api: ApiUnderTest,
) -> None:
    definition = widgets({})
    definition["spec"]["conversion"] = {"strategy": "None"}
    await define(api, definition)
    await created(api, V1, a_widget("v1", size=3, other="x"))
    await switch_storage(api, "v2")
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"size": 3, "other": "x"}
    assert (await api.get(f"{V2}/w")).doc["spec"] == {"other": "x"}
    written = await api.patch(f"{V1}/w", {"spec": {"other": "y"}})
    assert written.doc["spec"] == {"other": "y"}, written.text  # v2, as it is stored, has no size
    assert (await api.get(f"{V1}/w")).doc["spec"] == {"other": "y"}
