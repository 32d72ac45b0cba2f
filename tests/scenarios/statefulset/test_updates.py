"""Stateful sets whose template changes: rolling updates, partitions, going back."""

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import PODS, REVISIONS, STATEFUL_SETS
from tests.scenarios.statefulset.sets import Sets, a_set

OLD, NEW, NEWER = "busybox:1", "busybox:2", "busybox:3"


@pytest.fixture
def sets(api: ApiUnderTest) -> Sets:
    return Sets(api)


def from_partition(partition: int) -> dict[str, object]:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}}


async def test_an_update_goes_from_the_highest_down_one_at_a_time(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(3))
        await sets.play()
        first = (await sets.status())["currentRevision"]
        sets.born.clear()
        await sets.set_image(NEW)
        going = [n for n, p in (await sets.pods()).items() if "deletionTimestamp" in p["metadata"]]
        status = await sets.status()
        assert going == ["web-2"]
        assert (status["currentRevision"], status.get("updatedReplicas", 0)) == (first, 0)
        assert status["updateRevision"] != first
        await sets.stop("web-2")
        await sets.start("web-2", ready=False)
        assert await sets.images() == [OLD, OLD, NEW]
        await sets.start("web-2")
        await sets.play()
        assert sets.born == ["web-2", "web-1", "web-0"]
        assert await sets.images() == [NEW] * 3
        status = await sets.status()
        assert status["currentRevision"] == status["updateRevision"] != first
        assert (status["currentReplicas"], status["updatedReplicas"]) == (3, 3)
        assert sorted((await sets.revisions()).values()) == [1, 2]


async def test_pods_below_the_partition_keep_their_template(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(3, **from_partition(2)))
        await sets.play()
        await sets.set_image(NEW)
        await sets.play()
        assert await sets.images() == [OLD, OLD, NEW]
        await sets.delete(PODS, "web-0")
        await sets.play()
        assert await sets.images() == [OLD, OLD, NEW]
        await sets.change(**from_partition(0))
        await sets.play()
        assert await sets.images() == [NEW] * 3


async def test_without_a_rolling_update_pods_change_when_they_are_deleted(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2, updateStrategy={"type": "OnDelete"}))
        await sets.play()
        await sets.set_image(NEW)
        await sets.play()
        assert await sets.images() == [OLD, OLD]
        await sets.delete(PODS, "web-0")
        await sets.play()
        assert await sets.images() == [NEW, OLD]


async def test_going_back_takes_the_former_revision_again_as_the_newest(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.play()
        first = (await sets.status())["currentRevision"]
        await sets.set_image(NEW)
        await sets.play()
        data = (await sets.get(REVISIONS, first))["data"]
        assert data["spec"]["template"]["$patch"] == "replace"
        answer = await sets.api.patch(f"{STATEFUL_SETS}/web", data, "strategic-merge-patch+json")
        assert answer.code == 200, answer.text
        await sets.settle()
        await sets.play()
        assert await sets.images() == [OLD]
        assert (await sets.status())["currentRevision"] == first
        assert sorted((await sets.revisions()).values()) == [2, 3]
        assert (await sets.revisions())[first] == 3


async def test_a_broken_update_waits_until_its_pod_is_deleted(sets: Sets) -> None:
    """As upstream: going back does not replace a pod that never became ready."""
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
        await sets.set_image("broken")
        await sets.stop("web-1")
        await sets.start("web-1", ready=False)
        await sets.set_image(OLD)
        assert await sets.images() == [OLD, "broken"]
        await sets.delete(PODS, "web-1")
        await sets.play()
        assert await sets.images() == [OLD, OLD]


async def test_old_revisions_are_forgotten_beyond_the_limit(sets: Sets) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1, revisionHistoryLimit=1))
        for image in (OLD, NEW, NEWER, "busybox:4"):
            await sets.set_image(image)
            await sets.play()
        assert sorted((await sets.revisions()).values()) == [3, 4]


async def test_several_at_once_when_so_many_may_be_unavailable(sets: Sets) -> None:
    rolling = {"partition": 0, "maxUnavailable": "50%"}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(5, updateStrategy=strategy))
        await sets.play()
        await sets.set_image(NEW)
        going = [n for n, p in (await sets.pods()).items() if "deletionTimestamp" in p["metadata"]]
        assert sorted(going) == ["web-3", "web-4"]
        await sets.play()
        assert await sets.images() == [NEW] * 5


async def test_a_name_of_a_revision_that_is_taken_is_counted_and_another_is_tried(
    sets: Sets,
) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        (name,) = await sets.revisions()
        await sets.delete(STATEFUL_SETS, "web")
        await sets.play()
    foreign = {
        "kind": "ControllerRevision",
        "apiVersion": "apps/v1",
        "metadata": {"name": name},
        "data": {"spec": {}},
        "revision": 7,
    }
    await sets.create(REVISIONS, foreign)
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.api.clock.advance(15)
        await sets.settle()
        await sets.play()
        status = await sets.status()
        assert status["collisionCount"] == 1
        assert status["updateRevision"] != name
        assert (await sets.get(REVISIONS, name))["revision"] == 7


@pytest.mark.parametrize("writes", range(10))
async def test_killed_while_it_updates_the_next_one_finishes(sets: Sets, writes: int) -> None:
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(2))
        await sets.play()
    async with sets.controlled(writes):
        await sets.set_image(NEW)
        await sets.play()
    async with sets.controlled():
        await sets.play()
        assert await sets.images() == [NEW, NEW]
