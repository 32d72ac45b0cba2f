"""Stateful sets whose claim templates ask for more storage."""

from typing import Any

import pytest

from mooring.model.document import Doc
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, CLASSES, STATEFUL_SETS, VOLUMES, a_class, a_volume
from tests.scenarios.statefulset.sets import Sets, a_claim_template, a_set

GROWS = {"metadata": {"annotations": {"mooring.dev/grow-claims": "true"}}}


@pytest.fixture
def sets(api: ApiUnderTest) -> Sets:
    return Sets(api)


async def a_grown_up_set(sets: Sets, *, expands: bool) -> None:
    """Two pods, with bound claims of a class that allows expansion or not."""
    await sets.create(CLASSES, a_class("fast", allowVolumeExpansion=expands))
    template = a_claim_template(storageClassName="fast")
    await sets.create(STATEFUL_SETS, a_set(2, volumeClaimTemplates=[template]))
    await sets.play()
    for number in range(2):
        await sets.create(VOLUMES, a_volume(f"v{number}"))
        await sets.patch(CLAIMS, f"data-web-{number}", {"spec": {"volumeName": f"v{number}"}})
        await is_of_size(sets, number, "1Gi")


async def is_of_size(sets: Sets, number: int, size: str) -> None:
    """What binder and resizer say of a claim."""
    status = {"phase": "Bound", "capacity": {"storage": size}}
    await sets.patch(CLAIMS, f"data-web-{number}", {"status": status}, "/status")


async def grow(sets: Sets, size: str, **also: Any) -> None:
    template = a_claim_template(size, storageClassName="fast")
    change: Doc = {"spec": {"volumeClaimTemplates": [template]}, **also}
    await sets.patch(STATEFUL_SETS, "web", change)


async def asked(sets: Sets) -> list[str]:
    claims = await sets.claims()
    return [claims[n]["spec"]["resources"]["requests"]["storage"] for n in sorted(claims)]


async def condition(sets: Sets) -> tuple[str, str, str]:
    (found,) = (await sets.status())["conditions"]
    assert found["type"] == "ClaimsGrown"
    return found["status"], found["reason"], found["message"]


async def test_with_the_annotation_the_claims_grow_and_no_pod_is_touched(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=True)
        before = {name: pod["metadata"]["uid"] for name, pod in (await sets.pods()).items()}
        await grow(sets, "2Gi", **GROWS)
        assert await asked(sets) == ["2Gi", "2Gi"]
        waiting = "Waiting for data-web-0, data-web-1"
        assert await condition(sets) == ("False", "GrowingClaims", waiting)
        told = [event[2] for event in await sets.events("GrowingClaims")]
        assert told == [f"Claim data-web-{number} grows from 1Gi to 2Gi" for number in range(2)]
        await is_of_size(sets, 0, "2Gi")
        assert await condition(sets) == ("False", "GrowingClaims", "Waiting for data-web-1")
        await is_of_size(sets, 1, "2Gi")
        assert await condition(sets) == (
            "True",
            "ClaimsGrown",
            "All claims have the storage of their templates",
        )
        after = {name: pod["metadata"]["uid"] for name, pod in (await sets.pods()).items()}
        assert after == before


async def test_a_class_that_does_not_allow_it_is_named_until_it_does(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=False)
        await grow(sets, "2Gi", **GROWS)
        assert await asked(sets) == ["1Gi", "1Gi"]
        status, reason, message = await condition(sets)
        assert (status, reason) == ("False", "ClaimGrowthRefused")
        assert message == (
            "Not grown: data-web-0 has the class fast, which does not allow expansion, "
            "data-web-1 has the class fast, which does not allow expansion"
        )
        await sets.patch(CLASSES, "fast", {"allowVolumeExpansion": True})
        assert await asked(sets) == ["2Gi", "2Gi"]


async def test_a_claim_that_is_already_larger_is_left_as_it_is(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=True)
        larger = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
        await sets.patch(CLAIMS, "data-web-0", larger)
        await grow(sets, "2Gi", **GROWS)
        assert await asked(sets) == ["5Gi", "2Gi"]


async def test_pods_that_come_later_get_claims_of_the_new_size(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=True)
        await grow(sets, "2Gi", **GROWS)
        await sets.change(replicas=3)
        await sets.play()
        assert await asked(sets) == ["2Gi", "2Gi", "2Gi"]


async def test_without_the_annotation_it_is_refused_and_nothing_grows(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=True)
        template = a_claim_template("2Gi", storageClassName="fast")
        answer = await sets.api.patch(
            f"{STATEFUL_SETS}/web", {"spec": {"volumeClaimTemplates": [template]}}
        )
        assert answer.code == 422
        assert "mooring.dev/grow-claims" in answer.doc["message"]
        assert await asked(sets) == ["1Gi", "1Gi"]
        assert "conditions" not in await sets.status()


async def test_a_condition_goes_with_the_annotation(sets: Sets) -> None:
    async with sets.controlled():
        await a_grown_up_set(sets, expands=False)
        await grow(sets, "2Gi", **GROWS)
        gone = {"metadata": {"annotations": {"mooring.dev/grow-claims": None}}}
        await sets.patch(STATEFUL_SETS, "web", gone)
        assert not (await sets.status()).get("conditions")
