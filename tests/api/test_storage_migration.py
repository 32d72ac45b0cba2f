"""Storage version migrations: objects written anew, and a definition that may drop a version."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.documents.document import decode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.storage_migration import run
from mooring.apiserver.store.contract import Entry
from mooring.model.kubernetes_version import V1_35
from tests.api.conversion import V1, V2, a_widget, converting, switch_storage, widgets
from tests.api.definitions import created, define, put_definition
from tests.fakes.api import ApiUnderTest, Doc, running_api
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS
from tests.fakes.objects import (
    ADMISSION_POLICIES,
    MIGRATIONS,
    PODS,
    POLICY_BINDINGS,
    a_migration,
    a_pod,
)
from tests.fakes.waiting import until
from tests.fakes.webhook_server import WebhookServer, webhook_server

VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
WIDGETS = f"{DEFINITIONS}/widgets.example.com"
TABLE = "example.com/widgets"


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        server.respond = converting
        yield server


@pytest.fixture(autouse=True)
async def closed(api: ApiUnderTest) -> AsyncIterator[None]:
    yield
    await api.parts.backend.webhooks.close()


def judging(client: Doc) -> Doc:
    """A webhook that is asked about every write of a widget."""
    rule = {
        "operations": ["*"],
        "apiGroups": ["example.com"],
        "apiVersions": ["*"],
        "resources": ["widgets"],
    }
    webhook = {
        "name": "one.example.com",
        "clientConfig": client,
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": "one"}, "webhooks": [webhook]}


async def ended(api: ApiUnderTest, name: str = "m") -> dict[str, tuple[str, str]]:
    """The conditions, by their types, when it says that it runs no more."""
    told: dict[str, tuple[str, str]] = {}

    async def look() -> bool:
        doc = (await api.get(f"{MIGRATIONS}/{name}")).doc
        told.update(
            {
                one["type"]: (one["status"], one["message"])
                for one in doc.get("status", {}).get("conditions", ())
            }
        )
        return told.get("Running", ("", ""))[0] == "False"

    for _ in range(1000):
        if await look():
            return told
        await settle()
    raise AssertionError(told)


def stored_as(api: ApiUnderTest) -> dict[str, bytes]:
    """The version that each widget is stored in."""
    entries = api.parts.backend.store.range(TABLE).entries
    return {
        entry.name.partition("/")[2]: b"v2" if b'"example.com/v2"' in entry.value else b"v1"
        for entry in entries
    }


async def test_all_objects_are_written_in_the_new_version_and_the_old_one_can_go(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    for number in range(40):
        await created(api, V1, a_widget("v1", f"w{number}", size=number))
    await switch_storage(api, "v2")
    await created(api, V2, a_widget("v2", "new", width=3))
    assert set(stored_as(api).values()) == {b"v1", b"v2"}
    assert (await api.post(MIGRATIONS, a_migration())).code == 201
    told = await ended(api)
    assert told == {
        "Running": ("False", "Migration completed"),
        "Succeeded": ("True", "Migration completed"),
    }
    assert set(stored_as(api).values()) == {b"v2"}
    assert (await api.get(f"{V2}/w7")).doc["spec"] == {"width": 7}
    definition = (await api.get(WIDGETS)).doc
    assert definition["status"]["storedVersions"] == ["v2"]
    found = [one for one in definition["status"]["conditions"] if one["type"] == "StorageMigrating"]
    assert found[0]["status"] == "False"
    assert found[0]["message"] == (
        "The migration has succeeded and the stored versions have been updated"
    )
    definition["spec"]["versions"] = [
        version for version in definition["spec"]["versions"] if version["name"] == "v2"
    ]
    assert (await put_definition(api, definition)).code == 200
    assert (await api.get(f"{V2}/w7")).doc["spec"] == {"width": 7}


async def test_a_definition_that_changes_meanwhile_keeps_its_stored_versions(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    await switch_storage(api, "v2")

    hook.respond = lambda _: {"result": {"status": "Failure", "message": "not now"}}
    await api.post(MIGRATIONS, a_migration())
    await until(lambda: bool(hook.asked))
    changed = await api.patch(WIDGETS, {"spec": {"names": {"shortNames": ["wd"]}}})
    assert changed.code == 200, changed.text
    hook.respond = converting
    await api.clock.advance(60)
    assert (await ended(api))["Succeeded"][0] == "True"
    assert (await api.get(WIDGETS)).doc["status"]["storedVersions"] == ["v1", "v2"]


@pytest.mark.parametrize("is_new", [True, False], ids=["created", "changed"])
async def test_a_write_that_a_webhook_holds_until_it_is_over_comes_in_no_older_version(
    api: ApiUnderTest, hook: WebhookServer, *, is_new: bool
) -> None:
    await define(api, widgets(hook.by_url))
    if not is_new:
        await created(api, V1, a_widget("v1", size=3))
    asked, answered = asyncio.Event(), asyncio.Event()

    async def respond(review: Doc) -> Doc:
        if "objects" in review:
            return converting(review)
        if not asked.is_set():  # the first is the one that is held
            asked.set()
            await answered.wait()
        return {"allowed": True}

    hook.respond = respond
    await created(api, VALIDATING, judging(hook.by_url))
    writing = asyncio.create_task(
        api.post(V1, a_widget("v1", size=3))
        if is_new
        else api.patch(f"{V1}/w", {"spec": {"other": "x"}})
    )
    await asked.wait()
    await switch_storage(api, "v2")
    await api.post(MIGRATIONS, a_migration())
    assert (await ended(api))["Succeeded"][0] == "True"
    assert (await api.get(WIDGETS)).doc["status"]["storedVersions"] == ["v2"]
    answered.set()
    written = await writing
    assert written.code == 429, written.text
    assert b"v1" not in stored_as(api).values()


async def test_a_webhook_that_is_away_holds_it_up(api: ApiUnderTest, hook: WebhookServer) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    await switch_storage(api, "v2")
    hook.respond = lambda _: {"result": {"status": "Failure", "message": "not now"}}
    await api.post(MIGRATIONS, a_migration())

    async def message() -> str:
        conditions = (await api.get(f"{MIGRATIONS}/m")).doc.get("status", {}).get("conditions")
        return str(conditions[0]["message"]) if conditions else ""

    for _ in range(1000):
        if "transient error" in await message():
            break
        await settle()
    assert "1/1 objects not yet migrated; transient error: conversion webhook" in await message()
    assert (await api.get(WIDGETS)).doc["status"]["storedVersions"] == ["v1", "v2"]
    hook.respond = converting
    await api.clock.advance(60)
    assert (await ended(api))["Succeeded"][0] == "True"


async def test_it_has_succeeded_since_its_end(api: ApiUnderTest, hook: WebhookServer) -> None:
    await define(api, widgets(hook.by_url))
    await created(api, V1, a_widget("v1", size=3))
    await switch_storage(api, "v2")
    answered = asyncio.Event()

    async def respond(review: Doc) -> Doc:
        await answered.wait()
        return converting(review)

    hook.respond = respond
    await api.post(MIGRATIONS, a_migration())
    await until(lambda: bool(hook.asked))
    await api.clock.advance(20)
    answered.set()
    assert (await ended(api))["Succeeded"][0] == "True"
    running, succeeded = (await api.get(f"{MIGRATIONS}/m")).doc["status"]["conditions"]
    assert succeeded["lastTransitionTime"] == running["lastTransitionTime"]


async def test_an_object_that_may_not_be_written_ends_it(api: ApiUnderTest) -> None:
    definition = widgets({})
    definition["spec"]["conversion"] = {"strategy": "None"}
    await define(api, definition)
    await created(api, V1, a_widget("v1", size=3))
    await switch_storage(api, "v2")
    rule = {"operations": ["UPDATE"], "apiGroups": ["example.com"], "apiVersions": ["*"]}
    match = {"resourceRules": [{**rule, "resources": ["widgets"]}]}
    spec = {"matchConstraints": match, "validations": [{"expression": "false"}]}
    await created(api, ADMISSION_POLICIES, {"metadata": {"name": "p"}, "spec": spec})
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    await created(api, POLICY_BINDINGS, {"metadata": {"name": "b"}, "spec": binding})
    await api.post(MIGRATIONS, a_migration())
    told = await ended(api)
    assert told["Failed"][0] == "True"
    assert told["Failed"][1].startswith(
        "1/1 not yet migrated. migration encountered unhandled error: widgets.example.com"
    ), told
    assert (await api.get(WIDGETS)).doc["status"]["storedVersions"] == ["v1", "v2"]


async def test_others_have_their_turn_after_each_object(api: ApiUnderTest) -> None:
    definition = widgets({})
    definition["spec"]["conversion"] = {"strategy": "None"}
    await define(api, definition)
    for number in range(40):
        await created(api, V1, a_widget("v1", f"w{number}", size=number))
    await switch_storage(api, "v2")
    await api.post(MIGRATIONS, a_migration())
    written = [list(stored_as(api).values()).count(b"v2")]
    while written[-1] < 40:
        await api.parts.backend.turns.next()
        written.append(list(stored_as(api).values()).count(b"v2"))
    assert max(after - before for before, after in pairwise(written)) <= 2


async def test_objects_of_built_in_kinds_get_the_defaults_of_today(api: ApiUnderTest) -> None:
    assert (await api.post(PODS, a_pod("web"))).code == 201
    await api.post(MIGRATIONS, a_migration(group="", resource="pods"))
    assert (await ended(api))["Succeeded"][0] == "True"


async def test_two_of_one_resource_take_turns(api: ApiUnderTest) -> None:
    for name in ("one", "two"):
        await api.post(MIGRATIONS, a_migration(name, group="", resource="configmaps"))
    for name in ("one", "two"):
        assert (await ended(api, name))["Succeeded"][0] == "True"


async def test_those_of_other_resources_cost_nothing(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(kind: Kind, entry: Entry) -> Doc:
        read.append(entry.name)
        return decode(kind, entry)

    monkeypatch.setattr(run, "decode", counted)
    for number in range(50):
        await api.post(MIGRATIONS, a_migration(f"m{number}", resource=f"things{number}"))
    await api.clock.advance(61)
    for number in range(50):
        assert "Failed" in await ended(api, f"m{number}")
    assert max(map(read.count, set(read))) < 60  # as often as it is looked at


async def test_one_made_anew_for_another_resource_is_that_ones(api: ApiUnderTest) -> None:
    await api.post(MIGRATIONS, a_migration(resource="things"))
    await settle()
    assert (await api.delete(f"{MIGRATIONS}/m")).code == 200
    await api.post(MIGRATIONS, a_migration(group="", resource="configmaps"))
    assert (await ended(api))["Succeeded"][0] == "True"
    await api.post(MIGRATIONS, a_migration("next", resource="things"))
    await api.clock.advance(61)
    assert "Failed" in await ended(api, "next")


async def test_a_resource_that_nobody_defines_is_waited_for_a_while(api: ApiUnderTest) -> None:
    await api.post(MIGRATIONS, a_migration())
    await settle()
    doc = (await api.get(f"{MIGRATIONS}/m")).doc
    assert [one["type"] for one in doc["status"]["conditions"]] == ["Running"]
    await api.clock.advance(61)
    assert (await ended(api))["Failed"] == ("True", "resource does not exist in discovery")


async def test_a_resource_that_cannot_be_listed_has_nothing_to_migrate(api: ApiUnderTest) -> None:
    resource = {"group": "authentication.k8s.io", "resource": "tokenreviews"}
    await api.post(MIGRATIONS, a_migration(**resource))
    assert (await ended(api))["Failed"] == (
        "True",
        'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery '
        "operations: [update patch list]",
    )


async def test_1_35_has_none(pki: Pki, tmp_path: Path) -> None:
    async with running_api(pki, tmp_path, release=V1_35) as api:
        assert (await api.post(MIGRATIONS, a_migration())).code == 404
        groups = [group["name"] for group in (await api.get("/apis")).doc["groups"]]
        assert "storagemigration.k8s.io" not in groups
