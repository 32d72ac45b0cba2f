"""A definition is replaced while clients write: no write is lost or judged by half of each, and
who watches misses nothing."""

import asyncio
import copy
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.definitions import created, define, put_definition
from tests.fakes.api import ApiUnderTest, Doc
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS, WIDGETS, a_definition, a_version, a_widget
from tests.fakes.webhook_server import WebhookServer, patched, webhook_server

WIDGET_DEFINITION = f"{DEFINITIONS}/widgets.example.com"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
WRITERS = 8
ROUNDS = 6
EDITIONS = ("even", "odd")


def edition(name: str) -> Doc:
    """Its defaults satisfy its own rules, and those of no other edition; each prunes the fields
    of the others."""
    marks = {"type": "object", "additionalProperties": {"type": "string"}}
    spec = {
        "type": "object",
        "required": ["by", name],
        "properties": {
            "by": {"type": "string", "default": name, "enum": [name]},
            name: {"type": "integer", "default": 1},
            "marks": marks,
        },
        "x-kubernetes-validations": [{"rule": f"self.by == '{name}' && self.{name} == 1"}],
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    return a_version(schema={"openAPIV3Schema": schema})


def other(number: int) -> Doc:
    return {"name": f"v{number}", "storage": False}


def changed(definition: Doc, *versions: Doc) -> Doc:
    new = copy.deepcopy(definition)
    new["spec"]["versions"] = list(versions)
    return new


async def replace(api: ApiUnderTest, *versions: Doc) -> None:
    answer = await put_definition(api, changed((await api.get(WIDGET_DEFINITION)).doc, *versions))
    assert answer.code == 200, answer.text


def is_of_one(doc: Doc) -> bool:
    by = doc["spec"]["by"]
    return bool(by in EDITIONS and doc["spec"] == {"by": by, by: 1})


def uid_of(doc: Doc) -> str:
    return str(doc["metadata"]["uid"])


def bare(name: str = "w") -> Doc:
    """What it has comes from the edition that it is made by."""
    return {**a_widget(name), "spec": {}}


async def test_every_object_is_of_one_edition_and_none_is_lost(api: ApiUnderTest) -> None:
    await define(api, a_definition(versions=[edition("even")]))
    made: list[Doc] = []
    is_done = False

    async def write(writer: int) -> None:
        while not is_done:
            made.append(await created(api, WIDGETS, bare(f"w-{writer}-{len(made)}")))
            await settle()

    async def exchange() -> None:
        nonlocal is_done
        for at in range(ROUNDS):
            await replace(api, edition(EDITIONS[(at + 1) % 2]))
        is_done = True

    await asyncio.gather(exchange(), *(write(writer) for writer in range(WRITERS)))
    assert {doc["spec"]["by"] for doc in made} == set(EDITIONS)
    assert [doc for doc in made if not is_of_one(doc)] == []
    listed = (await api.get(WIDGETS)).doc["items"]
    assert sorted(map(uid_of, listed)) == sorted(map(uid_of, made))


async def test_of_one_object_no_writers_part_is_lost(api: ApiUnderTest) -> None:
    """Also as another version is added, and is the one to be stored in from then on."""
    await define(api, a_definition(versions=[edition("even")]))
    await created(api, WIDGETS, bare())

    marks: set[str] = set()
    is_done = False

    async def write(writer: int) -> None:
        while not is_done:
            mark = f"m-{writer}-{len(marks)}"
            answer = await api.patch(f"{WIDGETS}/w", {"spec": {"marks": {mark: "x"}}})
            assert answer.code == 200, answer.text
            marks.add(mark)
            await settle()

    async def exchange() -> None:
        nonlocal is_done
        first, second = edition("even"), edition("even")
        await replace(api, first, {**second, **other(2)})
        await replace(api, {**first, "storage": False}, {**second, "name": "v2"})
        second["schema"]["openAPIV3Schema"]["properties"]["note"] = {"type": "string"}
        await replace(api, {**first, "storage": False}, {**second, "name": "v2"})
        is_done = True

    await asyncio.gather(exchange(), *(write(writer) for writer in range(WRITERS)))
    assert len(marks) > WRITERS
    for url in (WIDGETS, WIDGETS.replace("/v1/", "/v2/")):
        assert (await api.get(f"{url}/w")).doc["spec"]["marks"].keys() == marks


EXCHANGES = {
    "its schema changes": [(edition(EDITIONS[(at + 1) % 2]),) for at in range(ROUNDS)],
    "versions are added": [
        (edition("even"), *({**edition("odd"), **other(at)} for at in range(2, count)))
        for count in range(3, ROUNDS + 3)
    ],
}


@pytest.mark.parametrize("exchanges", EXCHANGES.values(), ids=EXCHANGES)
async def test_whoever_watches_goes_on_and_misses_nothing(
    api: ApiUnderTest, exchanges: list[tuple[Doc, ...]]
) -> None:
    """Watches of the kind end, as those of upstream do, and others do not."""
    await define(api, a_definition(versions=[edition("even")]))
    others = await api.watch("/api/v1/configmaps?watch=1")
    seen: list[tuple[str, str]] = []
    is_done, ended = False, 0

    async def watch() -> None:
        nonlocal ended
        version = "0"
        while not is_done:
            watching = await api.watch(f"{WIDGETS}?watch=1&resourceVersion={version}")
            while not watching.ended and not is_done:
                await settle()
            ended += watching.ended
            seen.extend(watching.names)
            if watching.events:
                version = watching.events[-1]["object"]["metadata"]["resourceVersion"]

    async def write() -> None:
        nonlocal is_done
        for at, versions in enumerate(exchanges):
            await asyncio.gather(
                created(api, WIDGETS, bare(f"before-{at}")),
                replace(api, *versions),
                created(api, WIDGETS, bare(f"after-{at}")),
            )
        await settle()
        is_done = True

    await asyncio.gather(watch(), write())
    names = {f"{when}-{at}" for when in ("before", "after") for at in range(ROUNDS)}
    assert sorted(seen) == sorted(("ADDED", name) for name in names)
    assert ended >= 1
    assert not others.ended


# a write that waits for a webhook


@pytest.fixture
async def hook(tmp_path: Path, api: ApiUnderTest) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        yield server
    await api.parts.backend.webhooks.close()


def asking(client: Doc) -> Doc:
    rule = {
        "operations": ["*"],
        "apiGroups": ["example.com"],
        "apiVersions": ["*"],
        "resources": ["widgets"],
    }
    return {
        "metadata": {"name": "one"},
        "webhooks": [
            {
                "name": "one.example.com",
                "clientConfig": client,
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


@pytest.mark.parametrize("is_new", [True, False], ids=["created", "changed"])
async def test_a_write_that_waits_for_a_webhook_ends_by_what_it_began_with(
    api: ApiUnderTest, hook: WebhookServer, *, is_new: bool
) -> None:
    await define(api, a_definition(versions=[edition("even")]))
    if not is_new:
        await created(api, WIDGETS, bare())
    asked, answered = asyncio.Event(), asyncio.Event()

    async def held(_review: Doc) -> Doc:
        asked.set()
        await answered.wait()
        return patched({"op": "add", "path": "/spec/marks", "value": {"hook": "x"}})

    hook.respond = held
    await created(api, MUTATING, asking(hook.by_url))
    mark = {"metadata": {"labels": {"a": "b"}}}
    writing = asyncio.create_task(
        api.post(WIDGETS, bare()) if is_new else api.patch(f"{WIDGETS}/w", mark)
    )
    await asked.wait()
    await replace(api, edition("odd"))
    answered.set()
    written = await writing
    assert written.code == (201 if is_new else 200), written.text
    assert written.doc["spec"] == {"by": "even", "even": 1, "marks": {"hook": "x"}}
    read = (await api.get(f"{WIDGETS}/w")).doc["spec"]
    assert read == {"by": "even", "odd": 1, "marks": {"hook": "x"}}  # as what is stored is shown
