"""Writers at the same time: one wins, the others are told, and nothing is lost."""

import asyncio
from typing import Any

from tests.api.answers import refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, CONFIG_MAPS, PODS, a_claim, a_config_map, a_pod

Doc = dict[str, Any]

X = f"{CONFIG_MAPS}/x"


async def test_of_many_who_create_one_does(api: ApiUnderTest) -> None:
    docs = [a_config_map("x", by=str(n)) for n in range(10)]
    answers = await asyncio.gather(*(api.post(CONFIG_MAPS, doc) for doc in docs))
    assert sorted(answer.code for answer in answers) == [201] + [409] * 9
    winner = next(answer for answer in answers if answer.code == 201)
    assert (await api.get(X)).doc == winner.doc


async def test_of_many_who_update_one_version_one_does(api: ApiUnderTest) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    docs = [{**stored, "data": {"by": str(n)}} for n in range(10)]
    answers = await asyncio.gather(*(api.put(X, doc) for doc in docs))
    assert sorted(answer.code for answer in answers) == [200] + [409] * 9
    winner = next(answer for answer in answers if answer.code == 200)
    assert (await api.get(X)).doc == winner.doc


async def test_of_many_who_apply_what_is_absent_all_do(api: ApiUnderTest) -> None:
    def configuration(n: int) -> Doc:
        return a_config_map("x", **{f"k{n}": "v"})

    answers = await asyncio.gather(
        *(api.apply(f"{X}?fieldManager=m{n}", configuration(n)) for n in range(10))
    )
    assert sorted(answer.code for answer in answers) == [200] * 9 + [201]
    assert (await api.get(X)).doc["data"].keys() == {f"k{n}" for n in range(10)}


async def test_of_many_who_delete_one_does(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answers = await asyncio.gather(*(api.delete(X) for _ in range(10)))
    assert sorted(answer.code for answer in answers) == [200] + [404] * 9


async def test_finalizers_taken_away_at_the_same_time_all_go(api: ApiUnderTest) -> None:
    names = [f"example.com/h{n}" for n in range(5)]
    doc = a_config_map("x")
    doc["metadata"]["finalizers"] = names
    await api.post(CONFIG_MAPS, doc)
    await api.delete(X)
    patches = [{"metadata": {"$deleteFromPrimitiveList/finalizers": [name]}} for name in names]
    answers = await asyncio.gather(
        *(api.patch(X, patch, "strategic-merge-patch+json") for patch in patches)
    )
    assert [answer.code for answer in answers] == [200] * 5
    assert (await api.get(X)).code == 404


async def test_of_many_who_bind_a_pod_one_does(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod("web"))
    bindings = [{"target": {"kind": "Node", "name": f"n{n}"}} for n in range(5)]
    answers = await asyncio.gather(
        *(api.post(f"{PODS}/web/binding", binding) for binding in bindings)
    )
    assert sorted(answer.code for answer in answers) == [201] + [409] * 4
    assert (await api.get(f"{PODS}/web")).doc["spec"]["nodeName"] == "n0"


async def test_versions_rise_with_every_write_of_any_kind(api: ApiUnderTest) -> None:
    answers = await asyncio.gather(
        *(api.post(CONFIG_MAPS, a_config_map(f"x{n}")) for n in range(50)),
        *(api.post(CLAIMS, a_claim(f"x{n}")) for n in range(50)),
    )
    versions = [int(answer.doc["metadata"]["resourceVersion"]) for answer in answers]
    assert len(set(versions)) == 100
    assert max(versions) - min(versions) == 99


async def test_an_update_that_lost_is_told_by_name(api: ApiUnderTest) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    await api.delete(X)
    assert refusal(await api.put(X, stored)) == (404, "NotFound")
