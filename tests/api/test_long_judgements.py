"""Policies and match conditions that take long: who wrote waits, others are answered, and what
follows is the same."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.test_admission_policies import (
    MAPS,
    a_binding,
    a_map,
    a_policy,
    in_force,
    recorded,
    told,
)
from tests.api.test_webhooks import VALIDATING, configuration
from tests.fakes.api import Answered, ApiUnderTest, Doc
from tests.fakes.clock import settle
from tests.fakes.webhook_server import WebhookServer, webhook_server

LONG = "object.data.all(a, object.data.all(b, object.data.all(c, a + b != c)))"
LONG_BEFORE = LONG.replace("object", "oldObject")
HELD_UP = 3  # answers to others that a judgement on the loop leaves room for


def a_long_map(name: str = "m") -> Doc:
    return {**a_map(name), "data": {f"k{number:02}": "" for number in range(36)}}


async def meanwhile(api: ApiUnderTest, writing: asyncio.Task[Answered]) -> int:
    """How many others are answered before the write is."""
    answers = 0
    while not writing.done():
        assert (await api.get("/api/v1/namespaces/default")).code == 200
        answers += 1
        await settle(1)
    return answers


async def test_others_are_answered_while_a_policy_judges_an_object_that_is_new_or_changed(
    api: ApiUnderTest,
) -> None:
    await in_force(api, a_policy(LONG, LONG))
    creating = asyncio.create_task(api.post(MAPS, a_long_map()))
    assert await meanwhile(api, creating) > HELD_UP
    assert creating.result().code == 201, creating.result().text
    changing = asyncio.create_task(api.patch(f"{MAPS}/m", {"data": {"k00": "x"}}))
    assert await meanwhile(api, changing) > HELD_UP
    assert changing.result().code == 200, changing.result().text
    assert (await api.get(f"{MAPS}/m")).doc["data"]["k00"] == "x"


async def test_others_are_answered_while_a_policy_judges_a_deletion(api: ApiUnderTest) -> None:
    assert (await api.post(MAPS, a_long_map())).code == 201
    await in_force(api, a_policy(LONG_BEFORE, LONG_BEFORE, rule={"operations": ["DELETE"]}))
    deleting = asyncio.create_task(api.delete(f"{MAPS}/m"))
    assert await meanwhile(api, deleting) > HELD_UP
    assert deleting.result().code == 200, deleting.result().text


async def test_what_is_changed_meanwhile_is_judged_anew(api: ApiUnderTest) -> None:
    await in_force(api, a_policy(LONG, "!('no' in object.data)"))
    assert (await api.post(MAPS, a_long_map())).code == 201
    patches = [{"data": {name: "x"}} for name in ("one", "no", "two")]
    answers = await asyncio.gather(*(api.patch(f"{MAPS}/m", patch) for patch in patches))
    assert [answer.code for answer in answers] == [200, 422, 200]
    data = (await api.get(f"{MAPS}/m")).doc["data"]
    assert {"one", "two"} <= data.keys()
    assert "no" not in data


async def test_what_another_policy_says_beside_it_is_said_once(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    quick = a_policy({"expression": "false", "message": "mind"})
    quick["metadata"]["name"] = "a-quick"
    binding = a_binding("Warn", "Audit", policyName="a-quick")
    binding["metadata"]["name"] = "a-quick"
    await in_force(api, quick, binding)
    await in_force(api, a_policy(LONG))
    caplog.set_level(logging.INFO)
    answer = await api.post(MAPS, a_long_map())
    assert answer.code == 201, answer.text
    assert len(answer.warnings) == 1
    assert answer.warnings[0].endswith("with binding 'a-quick': mind")
    assert len(recorded(caplog)) == 1


async def test_what_it_denies_is_refused_in_the_same_words(api: ApiUnderTest) -> None:
    await in_force(api, a_policy(LONG, {"expression": "false", "message": "never"}))
    answer = await api.post(MAPS, a_long_map())
    assert answer.code == 422
    assert told(answer).endswith("with binding 'b' denied request: never")
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_it_may_ask_about_rights(api: ApiUnderTest) -> None:
    right = "authorizer.group('').resource('configmaps').namespace('default').check('{}').allowed()"
    await in_force(api, a_policy(LONG, right.format("create"), f"!{right.format('fly')} || true"))
    answer = await api.post(MAPS, a_long_map())
    assert answer.code == 201, answer.text


@pytest.fixture
async def hook(tmp_path: Path, api: ApiUnderTest) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        yield server
    await api.parts.backend.webhooks.close()


@pytest.mark.parametrize(("holds", "asked"), [("", 1), ("!", 0)], ids=["holds", "does not hold"])
async def test_others_are_answered_while_conditions_are_judged(
    api: ApiUnderTest, hook: WebhookServer, holds: str, asked: int
) -> None:
    conditions = [
        {"name": "long", "expression": LONG},
        {"name": "end", "expression": f"{holds}true"},
    ]
    made = await api.post(VALIDATING, configuration(hook.by_url, matchConditions=conditions))
    assert made.code == 201, made.text
    creating = asyncio.create_task(api.post(MAPS, a_long_map()))
    assert await meanwhile(api, creating) > HELD_UP
    assert creating.result().code == 201, creating.result().text
    assert len(hook.asked) == asked
