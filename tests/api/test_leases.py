"""Leases, by which leaders are elected."""

import asyncio
from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import LEASES, a_lease

Doc = dict[str, Any]


async def test_of_concurrent_writers_one_wins_each_version(api: ApiUnderTest) -> None:
    """Two contenders, 1000 writes: each is based on what its writer read last."""
    await api.post(LEASES, a_lease(holder="nobody", leaseTransitions=0))
    watching = await api.watch(f"{LEASES}?watch=true&resourceVersion={revision(api)}")
    won: dict[str, list[str]] = {}

    async def contend(me: str) -> None:
        for _ in range(500):
            lease = (await api.get(f"{LEASES}/leader")).doc
            seen = lease["metadata"]["resourceVersion"]
            lease["spec"]["holderIdentity"] = me
            lease["spec"]["leaseTransitions"] += 1
            answer = await api.put(f"{LEASES}/leader", lease)
            assert answer.code in {200, 409}, answer.text
            if answer.code == 200:
                won.setdefault(seen, []).append(me)

    async with asyncio.TaskGroup() as contenders:
        for me in ("a", "b"):
            contenders.create_task(contend(me))
    assert all(len(winners) == 1 for winners in won.values())
    lease = (await api.get(f"{LEASES}/leader")).doc
    assert lease["spec"]["leaseTransitions"] == len(won) == len(watching.events)


async def test_of_1000_writes_based_on_one_version_one_wins(api: ApiUnderTest) -> None:
    lease = (await api.post(LEASES, a_lease())).doc

    async def take(number: int) -> int:
        mine = lease | {"spec": lease["spec"] | {"holderIdentity": f"c{number}"}}
        return (await api.put(f"{LEASES}/leader", mine)).code

    async with asyncio.TaskGroup() as contenders:
        writes = [contenders.create_task(take(number)) for number in range(1000)]
    codes = [write.result() for write in writes]
    assert (codes.count(200), codes.count(409)) == (1, 999)
    winner = f"c{codes.index(200)}"
    assert (await api.get(f"{LEASES}/leader")).doc["spec"]["holderIdentity"] == winner


async def test_of_two_that_create_it_one_succeeds(api: ApiUnderTest) -> None:
    answers = await asyncio.gather(*(api.post(LEASES, a_lease(holder=me)) for me in "ab"))
    assert sorted(answer.code for answer in answers) == [201, 409]


TIMES = {
    "without a fraction": ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
    "as Python spells it": ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.000000Z"),
    "with six digits": ("2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.123456Z"),
    "with three digits": ("2026-01-02T03:04:05.123Z", "2026-01-02T03:04:05.123000Z"),
    "with nine digits": ("2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456Z"),
    "in another zone": ("2026-01-02T05:04:05.5+02:00", "2026-01-02T03:04:05.500000Z"),
}


@pytest.mark.parametrize(("given", "shown"), TIMES.values(), ids=TIMES)
async def test_times_are_read_kindly_and_written_with_six_digits(
    api: ApiUnderTest, given: str, shown: str
) -> None:
    created = await api.post(LEASES, a_lease(renewTime=given, acquireTime=given))
    assert created.code == 201, created.text
    spec = (await api.get(f"{LEASES}/leader")).doc["spec"]
    assert (spec["renewTime"], spec["acquireTime"]) == (shown, shown)


@pytest.mark.parametrize("given", ["yesterday", "2026-13-01T00:00:00Z", 5, "2026-01-02"])
async def test_what_is_no_time_is_400(api: ApiUnderTest, given: Any) -> None:
    answer = await api.post(LEASES, a_lease(renewTime=given))
    assert answer.code == 400, answer.text


async def test_a_renewal_by_put_of_what_is_missing_creates_it(api: ApiUnderTest) -> None:
    answer = await api.put(f"{LEASES}/leader", a_lease())
    assert answer.code == 201


async def test_a_renewal_must_say_what_it_is_based_on(api: ApiUnderTest) -> None:
    await api.post(LEASES, a_lease())
    answer = await api.put(f"{LEASES}/leader", a_lease(holder="other"))
    assert answer.code == 422
    assert (
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        in (answer.doc["message"])
    )


async def test_a_release_leaves_an_empty_holder(api: ApiUnderTest) -> None:
    lease = (await api.post(LEASES, a_lease())).doc
    lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
    answer = await api.put(f"{LEASES}/leader", lease)
    assert answer.code == 200
    assert answer.doc["spec"]["holderIdentity"] == ""


REFUSED = {
    "a lease of no time": ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: "),
    "fewer than no transitions": ({"leaseTransitions": -1}, "spec.leaseTransitions: "),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
async def test_refused_leases(api: ApiUnderTest, spec: Doc, message: str) -> None:
    answer = await api.post(LEASES, a_lease(**spec))
    assert answer.code == 422
    assert message in answer.doc["message"]


def revision(api: ApiUnderTest) -> int:
    return api.parts.backend.store.revision
