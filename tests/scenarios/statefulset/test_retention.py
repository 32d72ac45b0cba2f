"""Who the claims of a stateful set are deleted with."""

import pytest

from mooring.model.document import Doc
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, STATEFUL_SETS
from tests.scenarios.statefulset.sets import Sets, a_set

KEPT = ["data-web-0", "data-web-1"]


@pytest.fixture
def sets(api: ApiUnderTest) -> Sets:
    return Sets(api)


def policy(scaled: str, deleted: str) -> Doc:
    said = {"whenScaled": scaled, "whenDeleted": deleted}
    return {"persistentVolumeClaimRetentionPolicy": said}


# scaled, deleted: owners while wanted, owners once scaled away, left after scaling, after deletion
ROWS = {
    "kept in any case": ("Retain", "Retain", [], [], KEPT, ["data-web-0", "data-web-1"]),
    "deleted with the set": ("Retain", "Delete", ["StatefulSet"], ["StatefulSet"], KEPT, []),
    "deleted when scaled away": ("Delete", "Retain", [], ["Pod"], KEPT[:1], KEPT[:1]),
    "deleted in any case": ("Delete", "Delete", ["StatefulSet"], ["Pod"], KEPT[:1], []),
}


@pytest.mark.parametrize(
    ("scaled", "deleted", "wanted", "condemned", "after_scaling", "after_deletion"),
    ROWS.values(),
    ids=ROWS,
)
async def test_claims_are(
    sets: Sets,
    scaled: str,
    deleted: str,
    wanted: list[str],
    condemned: list[str],
    after_scaling: list[str],
    after_deletion: list[str],
) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, **policy(scaled, deleted)))
        await sets.play()
        assert await sets.owners() == dict.fromkeys(KEPT, wanted)
        await sets.change(replicas=1)
        assert await sets.owners() == {"data-web-0": wanted, "data-web-1": condemned}
        await sets.play()
        assert sorted(await sets.claims()) == after_scaling
        await sets.delete(STATEFUL_SETS, "web")
        await sets.play()
        assert sorted(await sets.claims()) == after_deletion


async def test_references_to_an_owner_are_those_of_a_controller(sets: Sets) -> None:
    async with sets.controlled():
        made = await sets.create(STATEFUL_SETS, a_set(1, **policy("Retain", "Delete")))
        await sets.play()
        assert (await sets.claims())["data-web-0"]["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "web",
                "uid": made["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]


async def test_a_policy_that_changes_rewrites_the_references(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        await sets.change(**policy("Retain", "Delete"))
        assert await sets.owners() == {key: ["StatefulSet"] for key in KEPT}
        await sets.change(**policy("Retain", "Retain"))
        assert await sets.owners() == {key: [] for key in KEPT}


async def test_scaled_up_again_while_a_claim_goes_with_its_pod_both_are_made_anew(
    sets: Sets,
) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, **policy("Delete", "Retain")))
        await sets.play()
        before = (await sets.claims())["data-web-1"]["metadata"]["uid"]
        await sets.change(replicas=1)
        await sets.change(replicas=2)
        await sets.play()
        assert await sets.pod_names() == ["web-0", "web-1"]
        claims = await sets.claims()
        assert claims["data-web-1"]["metadata"]["uid"] != before
        assert await sets.owners() == {key: [] for key in KEPT}


OTHER = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "manager",
    "controller": True,
    "blockOwnerDeletion": True,
}


async def test_the_claim_of_another_controller_is_left_alone_with_an_event(sets: Sets) -> None:
    manager = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "manager"}}
    made = await sets.create("/api/v1/namespaces/default/configmaps", manager)
    owner = {**OTHER, "uid": made["metadata"]["uid"]}
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(0, podManagementPolicy="Parallel"))
        claim = a_set()["spec"]["volumeClaimTemplates"][0]
        named = {"name": "data-web-0", "ownerReferences": [owner]}
        await sets.create(CLAIMS, {**claim, "metadata": named})
        await sets.change(replicas=1, **policy("Delete", "Delete"))
        await sets.play()
        assert await sets.owners() == {"data-web-0": ["ConfigMap"]}
        told, *_ = await sets.events("ConflictingController")
        assert told[2] == (
            "PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a "
            "manging controller, the retention policy is ignored for this claim"
        )
        await sets.change(replicas=0)
        await sets.play()
        assert await sets.owners() == {"data-web-0": ["ConfigMap"]}


@pytest.mark.parametrize("writes", range(6))
async def test_killed_while_scaling_down_the_next_one_finishes(sets: Sets, writes: int) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, **policy("Delete", "Delete")))
        await sets.play()
    async with sets.controlled(writes):
        await sets.change(replicas=1)
    async with sets.controlled():
        await sets.play()
        assert await sets.owners() == {"data-web-0": ["StatefulSet"]}
