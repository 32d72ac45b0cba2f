"""FlexVolumes come to nodes, and leave them, by drivers that the controller runs itself."""

from typing import Any

import pytest

from mooring.plugins.contract import NotStarted, Uncertain, VolumeError
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.reply import Call
from tests.fakes.flex_driver import NAME, PlayedAttacher, PlayedDrivers
from tests.fakes.objects import NODES, PODS, a_pod
from tests.scenarios.attachment.cluster import Cluster

UNIQUE = f"{NAME}/pv1"
FLEX: dict[str, Any] = {"csi": None, "flexVolume": {"driver": NAME}}
ATTACHED = ("web", "SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pv1" ')


@pytest.fixture
def driver() -> PlayedAttacher:
    return PlayedAttacher()


@pytest.fixture
async def drivers(cluster: Cluster, driver: PlayedAttacher) -> PlayedDrivers:
    await cluster.node()
    await cluster.volume("pv1", **FLEX)
    return PlayedDrivers(cluster.clock, driver)


async def listed(cluster: Cluster, node: str = "n1") -> list[tuple[str, str]]:
    found = await cluster.find(f"{NODES}/{node}")
    assert found is not None
    return [
        (one["name"], one["devicePath"])
        for one in found.get("status", {}).get("volumesAttached", [])
    ]


async def uses(cluster: Cluster, node: str, *names: str) -> None:
    status = {"volumesInUse": [*names] or None}
    await cluster.patch(f"{NODES}/{node}/status", {"status": status})


async def test_a_volume_is_attached_by_its_driver_and_listed_with_its_device(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers) as running:
        await cluster.pod()
        assert driver.deeds == ["attach pv1 n1"]
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]
        assert await cluster.told() == [ATTACHED]
        assert await cluster.attachments() == []
        total = "attachdetach_controller_total_volumes"
        state = "actual_state_of_world"
        assert running.count(total, plugin_name=NAME, state=state) == 1
        await cluster.passes(600)
        assert driver.deeds == ["attach pv1 n1"]


async def test_it_is_detached_when_its_node_uses_it_no_more(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        await uses(cluster, "n1", UNIQUE)
        await cluster.gone()
        await cluster.passes(60)
        assert driver.there == {("pv1", "n1")}
        await uses(cluster, "n1")
        assert driver.deeds == ["attach pv1 n1", "detach pv1 n1"]
        assert await listed(cluster) == []


async def test_an_inline_volume_is_attached_too(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    doc = a_pod("web", "n1", "pv1")
    doc["spec"]["volumes"] = [{"name": "data", "flexVolume": {"driver": NAME}}]
    async with cluster.controller(flex=drivers):
        await cluster.create(PODS, doc)
        await cluster.settle()
        assert await listed(cluster) == [(f"{NAME}/data", "/dev/played")]


async def test_a_driver_that_attaches_nothing_is_left_to_the_node(cluster: Cluster) -> None:
    driver = PlayedAttacher(Capabilities(attach=False))
    await cluster.node()
    await cluster.volume("pv1", **FLEX)
    async with cluster.controller(flex=PlayedDrivers(cluster.clock, driver)):
        await cluster.pod()
        assert driver.deeds == []
        assert await listed(cluster) == []


async def test_a_driver_that_comes_later_attaches_what_waits_for_it(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    drivers.played.clear()
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        assert await listed(cluster) == []
        drivers.played[NAME] = driver
        drivers.tell(NAME)
        await cluster.settle()
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]


async def test_a_driver_that_goes_takes_no_volume_from_a_pod(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        drivers.played.clear()
        drivers.tell(NAME)
        await cluster.passes(600)
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]
        assert driver.there == {("pv1", "n1")}


async def test_a_failed_attach_is_told_and_tried_again(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    driver.errors[Call.ATTACH] = VolumeError("attach command failed, status: Failure, reason: no")
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        words = (
            'AttachVolume.Attach failed for volume "pv1" : '
            "attach command failed, status: Failure, reason: no"
        )
        assert await cluster.told() == [("web", "FailedAttachVolume", words)]
        assert await listed(cluster) == []
        driver.errors.clear()
        await cluster.passes(1)
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_an_attach_whose_end_is_unknown_is_repeated_or_undone(
    cluster: Cluster,
    driver: PlayedAttacher,
    drivers: PlayedDrivers,
    is_wanted: bool,  # noqa: FBT001  a column
) -> None:
    driver.errors[Call.ATTACH] = Uncertain("attach command failed: timeout")
    driver.does_before_failing = True
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        assert driver.there == {("pv1", "n1")}
        assert await listed(cluster) == []
        driver.errors.clear()
        if is_wanted:
            await cluster.passes(1)
            assert await listed(cluster) == [(UNIQUE, "/dev/played")]
        else:
            await cluster.gone()
            await cluster.passes(600)
            assert driver.there == set()


async def test_a_failed_detach_is_tried_again(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    driver.errors[Call.DETACH] = VolumeError("busy")
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        await cluster.gone()
        assert driver.there == {("pv1", "n1")}
        driver.errors.clear()
        await cluster.passes(10)
        assert driver.there == set()
        assert await listed(cluster) == []


async def test_an_exclusive_volume_is_on_one_node_at_a_time(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    await cluster.node("n2")
    driver.errors[Call.ATTACH] = Uncertain("timeout")
    driver.does_before_failing = True
    async with cluster.controller(flex=drivers):
        await cluster.pod("web", "n1")
        await cluster.pod("other", "n2")
        await cluster.passes(300)
        driver.errors.clear()
        await cluster.gone("web")
        await cluster.passes(300)
        assert driver.there == {("pv1", "n2")}
        assert driver.worst == 1


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
async def test_a_controller_killed_anywhere_leaves_nothing_attached(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers, writes: int
) -> None:
    async with cluster.controller(writes, flex=drivers):
        await cluster.pod()
        await uses(cluster, "n1", UNIQUE)  # as a node does that waits for it
    async with cluster.controller(flex=drivers):
        await cluster.settle()
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]
    await cluster.gone()
    async with cluster.controller(writes, flex=drivers):
        await uses(cluster, "n1")
    async with cluster.controller(flex=drivers):
        await cluster.passes(600)
        assert driver.there == set()
        assert await listed(cluster) == []


async def test_a_restart_without_the_driver_detaches_nothing(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        await uses(cluster, "n1", UNIQUE)
    async with cluster.controller(flex=PlayedDrivers(cluster.clock)):
        await cluster.passes(600)
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]


async def test_a_driver_that_cannot_be_started_has_changed_nothing(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        driver.errors[Call.DETACH] = NotStarted("fork/exec: no such file")
        await cluster.gone()
        await cluster.passes(60)
        assert driver.there == {("pv1", "n1")}
        driver.errors.clear()
        await cluster.passes(200)
        assert driver.there == set()


async def test_what_somebody_else_detached_is_attached_again_within_a_minute(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        await cluster.passes(120)
        assert driver.deeds == ["attach pv1 n1"]
        driver.there.clear()
        await cluster.passes(60)
        await cluster.passes(1)
        assert driver.deeds == ["attach pv1 n1", "attach pv1 n1"]
        assert driver.there == {("pv1", "n1")}
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]


async def test_what_a_driver_takes_for_detached_goes_to_no_other_node_before_it_is_known(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers
) -> None:
    await cluster.node("n2")
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        await uses(cluster, "n1", UNIQUE)
        driver.errors[Call.ATTACH] = VolumeError("not now")
        driver.there.clear()
        await cluster.passes(60)
        driver.errors.clear()
        await cluster.pod("other", "n2")
        await cluster.passes(60)
        assert driver.worst == 1
        assert driver.there == {("pv1", "n1")}


@pytest.mark.parametrize(
    "error",
    [VolumeError("no"), NotStarted("gone"), Uncertain("late")],
    ids=str,
)
async def test_a_driver_that_cannot_say_whether_it_is_attached_changes_nothing(
    cluster: Cluster, driver: PlayedAttacher, drivers: PlayedDrivers, error: VolumeError
) -> None:
    async with cluster.controller(flex=drivers):
        await cluster.pod()
        driver.errors[Call.IS_ATTACHED] = error
        driver.there.clear()
        await cluster.passes(180)
        assert driver.deeds == ["attach pv1 n1"]
        assert await listed(cluster) == [(UNIQUE, "/dev/played")]
