"""A controller that starts finds what was there.

Then it is killed before each of its writes, and the next one finishes.
"""

from collections.abc import Awaitable, Callable

import pytest

from mooring.controllers.attachment import event_handlers
from mooring.model.document import Doc
from tests.fakes.objects import ATTACHMENTS, an_attachment
from tests.scenarios.attachment.cluster import Cluster, name_of, unique


async def left_behind(cluster: Cluster, *, is_attached: bool = True) -> None:
    """An attachment of pv1 to n1, by the controller that was there before."""
    doc = an_attachment(name_of("pv1", "n1"), "n1", "pv1")
    await cluster.create(f"{ATTACHMENTS}?fieldManager=kube-controller-manager", doc)
    if is_attached:
        path = f"{ATTACHMENTS}/{name_of('pv1', 'n1')}/status"
        await cluster.patch(path, {"status": {"attached": True}})
        cluster.attacher.there.add(("pv1", "n1"))


def listed(*volumes: str) -> list[Doc]:
    return [{"name": unique(volume), "devicePath": ""} for volume in volumes]


async def test_what_is_attached_and_wanted_is_left_as_it_is(cluster: Cluster) -> None:
    await cluster.node(volumesAttached=listed("pv1"))
    await cluster.volume("pv1")
    await left_behind(cluster)
    await cluster.pod()
    async with cluster.controller() as running:
        await cluster.passes(600)
        assert running.calls == []
        assert await cluster.told() == []


async def test_nothing_is_decided_before_the_last_slice_is_taken_in(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_handlers, "AT_ONCE", 1)
    await cluster.node(volumesAttached=listed("pv1"))
    await cluster.volume("pv1")
    await left_behind(cluster)
    for number in range(5):
        await cluster.pod(f"a{number}", volume="absent")
    await cluster.pod()
    async with cluster.controller() as running:
        await cluster.passes(1)
        assert running.calls == []
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_what_a_driver_that_attaches_no_more_has_left_is_detached(cluster: Cluster) -> None:
    """It stopped to while no controller ran."""
    await cluster.node(volumesAttached=listed("pv1"))
    await cluster.volume("pv1")
    await left_behind(cluster)
    await cluster.driver(attachRequired=False)
    await cluster.pod()
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []


async def test_what_is_listed_but_not_attached_is_attached(cluster: Cluster) -> None:
    await cluster.node(volumesAttached=listed("pv1"))
    await cluster.volume("pv1")
    await cluster.pod()
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.reported("n1") == ["pv1"]


async def test_what_nobody_wants_is_detached(cluster: Cluster) -> None:
    await cluster.node(volumesAttached=listed("pv1"))
    await cluster.volume("pv1")
    await left_behind(cluster)
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []


async def test_what_nobody_wants_is_detached_even_when_its_volume_is_no_more(
    cluster: Cluster,
) -> None:
    await cluster.node(volumesAttached=listed("pv1"))
    await left_behind(cluster)
    cluster.handles["pv1"] = "pv1"
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []


async def test_what_is_listed_and_nowhere_attached_is_taken_off_the_list(
    cluster: Cluster,
) -> None:
    await cluster.node(volumesAttached=listed("pv1"))
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.reported("n1") == []


async def test_what_the_node_uses_is_waited_for(cluster: Cluster) -> None:
    await cluster.node(volumesAttached=listed("pv1"), volumesInUse=[unique("pv1")])
    await cluster.volume("pv1")
    await left_behind(cluster)
    async with cluster.controller() as running:
        await cluster.passes(3600)
        assert running.calls == []
        await cluster.uses("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == []


@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "asked for"])
async def test_an_attachment_that_no_list_shows_is_detached(
    cluster: Cluster, *, is_attached: bool
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    await left_behind(cluster, is_attached=is_attached)
    cluster.attacher.is_silent = not is_attached
    async with cluster.controller():
        cluster.attacher.is_silent = False
        await cluster.passes(1)
        assert await cluster.attachments() == []


@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "asked for"])
async def test_an_attachment_that_is_wanted_is_waited_for_and_told(
    cluster: Cluster, *, is_attached: bool
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    await left_behind(cluster, is_attached=is_attached)
    await cluster.pod()
    async with cluster.controller() as running:
        await cluster.passes(1)
        assert running.calls == ["patch Node n1"]
        assert await cluster.reported("n1") == ["pv1"]
        assert await cluster.told("SuccessfulAttachVolume")


async def test_a_pod_that_comes_while_it_starts_is_served_once(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
    assert cluster.attacher.deeds == ["attach pv1 n1"]


async def test_attachments_of_other_names_are_nobodys_business(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    await cluster.create(ATTACHMENTS, an_attachment("by-hand", "n1", "pv1"))
    async with cluster.controller() as running:
        await cluster.passes(600)
        assert running.calls == []
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_what_is_on_its_way_out_is_waited_for_and_then_brought_elsewhere(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.node("n2")
    await cluster.volume("pv1")
    cluster.attacher.is_silent = True
    await left_behind(cluster)
    finalizers = {"metadata": {"finalizers": ["external-attacher/d-example-com"]}}
    await cluster.patch(f"{ATTACHMENTS}/{name_of('pv1', 'n1')}", finalizers)
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 leaving"]
    async with cluster.controller():
        await cluster.pod("next", "n2")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 leaving"]
        cluster.attacher.is_silent = False
        cluster.attacher.look()
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]


# killed before each write


Story = Callable[[Cluster], Awaitable[None]]


async def _comes(cluster: Cluster) -> None:
    await cluster.pod()


async def _comes_and_goes(cluster: Cluster) -> None:
    await cluster.pod()
    await cluster.passes(1)
    await cluster.gone()


async def _moves(cluster: Cluster) -> None:
    await cluster.pod()
    await cluster.passes(1)
    await cluster.pod("next", "n2")
    await cluster.gone()


STORIES: dict[str, tuple[Story, int, list[str]]] = {
    "a pod comes": (_comes, 2, ["pv1 n1 attached"]),
    "a pod comes and goes": (_comes_and_goes, 4, []),
    "a pod moves to another node": (_moves, 6, ["pv1 n2 attached"]),
}
KILLS = {
    f"{name}, before write {cut + 1} of {writes}": (story, cut, ends)
    for name, (story, writes, ends) in STORIES.items()
    for cut in range(writes)
}


@pytest.mark.parametrize(("story", "cut", "ends"), KILLS.values(), ids=KILLS)
async def test_killed(cluster: Cluster, story: Story, cut: int, ends: list[str]) -> None:
    await cluster.node()
    await cluster.node("n2")
    await cluster.volume("pv1")
    async with cluster.controller(cut) as running:
        await story(cluster)
        await cluster.passes(1)
        assert running.client.left == 0, "it was not killed at all"
        assert len({node for _, node in cluster.attacher.there}) <= 1
    async with cluster.controller():
        await cluster.passes(5)
        assert await cluster.attachments() == ends
        found = sorted(f"pv1 {node} attached" for _, node in cluster.attacher.there)
        assert found == ends
        shown = [
            f"{one} {node} attached"
            for node in ("n1", "n2")
            for one in await cluster.reported(node)
        ]
        assert shown == ends
        assert cluster.attacher.worst <= 1, "on two nodes at a time"


@pytest.mark.parametrize(("story", "writes", "ends"), STORIES.values(), ids=STORIES)
async def test_every_write_is_among_the_cases(
    cluster: Cluster, story: Story, writes: int, ends: list[str]
) -> None:
    await cluster.node()
    await cluster.node("n2")
    await cluster.volume("pv1")
    async with cluster.controller(100) as running:
        await story(cluster)
        await cluster.passes(5)
        assert 100 - running.client.left == writes
        assert await cluster.attachments() == ends
