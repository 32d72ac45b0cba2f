"""Stateful sets: their pods in order, and the claims of each."""

import pytest

from mooring.model.document import Doc
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, PODS, STATEFUL_SETS, a_pod
from tests.scenarios.statefulset.sets import Sets, a_set


@pytest.fixture
def sets(api: ApiUnderTest) -> Sets:
    return Sets(api)


async def test_pods_are_made_one_after_another_each_with_its_claim(sets: Sets) -> None:
    async with sets.controlled():
        made = await sets.create(STATEFUL_SETS, a_set(3))
        assert await sets.pod_names() == ["web-0"]
        assert sorted(await sets.claims()) == ["data-web-0"]
        await sets.start("web-0", ready=False)
        assert await sets.pod_names() == ["web-0"]
        await sets.start("web-0")
        await sets.play()
        assert sets.born == ["web-0", "web-1", "web-2"]
        assert sorted(await sets.claims()) == ["data-web-0", "data-web-1", "data-web-2"]
        pod = (await sets.pods())["web-1"]
        status = await sets.status()
        assert pod["metadata"]["labels"] == {
            "app": "web",
            "statefulset.kubernetes.io/pod-name": "web-1",
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": status["currentRevision"],
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "web")
        (volume,) = [each for each in pod["spec"]["volumes"] if each["name"] == "data"]
        assert volume["persistentVolumeClaim"] == {"claimName": "data-web-1"}
        (owner,) = pod["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (made["metadata"]["uid"], True)
        claim = (await sets.claims())["data-web-1"]
        assert claim["metadata"]["labels"] == {"app": "web", "tier": "a"}
        assert "ownerReferences" not in claim["metadata"]
        revision = status["currentRevision"]
        assert status == {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": 3,
            "currentRevision": revision,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        assert await sets.revisions() == {revision: 1}


async def test_what_is_told_of_it(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.play()
        await sets.change(replicas=0)
        told = [event[2] for event in await sets.events("SuccessfulCreate")]
        assert told == [
            "Create Claim data-web-0 Pod web-0 in StatefulSet web success",
            "Create Pod web-0 in StatefulSet web successful",
        ]
        (gone,) = await sets.events("SuccessfulDelete")
        assert gone[1:] == (
            "StatefulSet/web",
            "Delete Pod web-0 in StatefulSet web successful",
            "statefulset-controller",
        )


async def test_a_pod_that_is_deleted_comes_back_with_its_claim(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        pods, claims = await sets.pods(), await sets.claims()
        await sets.delete(PODS, "web-0")
        assert (await sets.pods())["web-0"]["metadata"]["uid"] == pods["web-0"]["metadata"]["uid"]
        await sets.play()
        assert (await sets.pods())["web-0"]["metadata"]["uid"] != pods["web-0"]["metadata"]["uid"]
        after = await sets.claims()
        assert {name: claim["metadata"]["uid"] for name, claim in after.items()} == {
            name: claim["metadata"]["uid"] for name, claim in claims.items()
        }


async def test_a_pod_on_a_lost_node_blocks_its_place_until_its_object_is_gone(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        await sets.delete(PODS, "web-1")
        await sets.api.clock.advance(3600)
        await sets.settle()
        assert "deletionTimestamp" in (await sets.pods())["web-1"]["metadata"]
        await sets.stop("web-1")
        assert "deletionTimestamp" not in (await sets.pods())["web-1"]["metadata"]


async def test_scaled_down_from_the_highest_one_at_a_time_and_up_to_the_same_claims(
    sets: Sets,
) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(3))
        await sets.play()
        before = (await sets.claims())["data-web-2"]["metadata"]["uid"]
        await sets.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}}, "/scale")
        going = [n for n, p in (await sets.pods()).items() if "deletionTimestamp" in p["metadata"]]
        assert going == ["web-2"]
        await sets.play()
        assert await sets.pod_names() == ["web-0"]
        assert len(await sets.claims()) == 3
        await sets.change(replicas=3)
        await sets.play()
        assert (await sets.claims())["data-web-2"]["metadata"]["uid"] == before


async def test_in_parallel_all_at_once(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(4, podManagementPolicy="Parallel"))
        assert len(await sets.pods()) == 4
        await sets.play()
        await sets.change(replicas=1)
        going = [n for n, p in (await sets.pods()).items() if "deletionTimestamp" in p["metadata"]]
        assert sorted(going) == ["web-1", "web-2", "web-3"]


async def test_numbers_begin_where_the_set_says(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, ordinals={"start": 5}))
        await sets.play()
        assert await sets.pod_names() == ["web-5", "web-6"]
        await sets.change(ordinals={"start": 6})
        assert await sets.pod_names() == ["web-5", "web-6", "web-7"]
        await sets.play()
        assert await sets.pod_names() == ["web-6", "web-7"]


async def test_the_next_waits_until_a_pod_was_ready_for_long_enough(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, minReadySeconds=10))
        await sets.start("web-0")
        assert await sets.pod_names() == ["web-0"]
        assert (await sets.status())["readyReplicas"] == 1
        await sets.api.clock.advance(9)
        await sets.settle()
        assert await sets.pod_names() == ["web-0"]
        await sets.api.clock.advance(2)
        await sets.settle()
        assert await sets.pod_names() == ["web-0", "web-1"]
        assert (await sets.status())["availableReplicas"] == 1


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_ended_is_replaced(sets: Sets, phase: str) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.play()
        before = (await sets.pods())["web-0"]["metadata"]["uid"]
        await sets.say("web-0", phase)
        await sets.play()
        assert (await sets.pods())["web-0"]["metadata"]["uid"] != before


async def test_a_claim_that_is_being_deleted_is_waited_for(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        await sets.patch(CLAIMS, "data-web-1", held)
        await sets.change(replicas=1)
        await sets.play()
        before = (await sets.claims())["data-web-1"]["metadata"]["uid"]
        await sets.delete(CLAIMS, "data-web-1")
        await sets.change(replicas=2)
        assert await sets.pod_names() == ["web-0"]
        told = [event[2] for event in await sets.events("FailedCreate")]
        assert told == [
            "Create Pod web-1 in StatefulSet web failed error: pvc data-web-1 is being deleted"
        ]
        await sets.patch(CLAIMS, "data-web-1", {"metadata": {"finalizers": None}})
        assert await sets.pod_names() == ["web-0", "web-1"]
        assert (await sets.claims())["data-web-1"]["metadata"]["uid"] != before


async def test_a_lost_claim_of_a_pod_that_waits_is_made_again(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.patch(CLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
        await sets.delete(CLAIMS, "data-web-0")
        assert sorted(await sets.claims()) == ["data-web-0"]


async def test_pods_of_its_name_are_adopted_others_are_not(sets: Sets) -> None:
    def lone(name: str) -> Doc:
        pod = a_pod(name)
        pod["metadata"]["labels"] = {"app": "web"}
        return pod

    await sets.create(PODS, lone("web-0"))
    await sets.create(PODS, lone("web-x"))
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1, volumeClaimTemplates=[]))
        pods = await sets.pods()
        assert pods["web-0"]["metadata"]["ownerReferences"][0]["name"] == "web"
        assert "ownerReferences" not in pods["web-x"]["metadata"]
        await sets.start("web-0")
        labels = (await sets.pods())["web-0"]["metadata"]["labels"]
        assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"


async def test_deleted_its_pods_go_and_its_claims_stay(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        await sets.delete(STATEFUL_SETS, "web")
        pods = await sets.pods()
        assert all("deletionTimestamp" in pod["metadata"] for pod in pods.values())
        await sets.play()
        assert (await sets.pods(), len(await sets.claims())) == ({}, 2)
        assert await sets.revisions() == {}


@pytest.mark.parametrize("writes", range(12))
async def test_killed_after_any_write_the_next_one_finishes(sets: Sets, writes: int) -> None:
    async with sets.controlled(writes):
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
    async with sets.controlled():
        await sets.play()
        assert await sets.pod_names() == ["web-0", "web-1"]
        assert sorted(await sets.claims()) == ["data-web-0", "data-web-1"]
        status = await sets.status()
        assert (status["readyReplicas"], len(await sets.revisions())) == (2, 1)
