"""What nodes are told, whatever happens to them."""

from mooring.errors import ConnectionLost, Forbidden
from tests.fakes.objects import NODES
from tests.scenarios.attachment.cluster import Cluster


async def test_a_node_that_cannot_be_told_holds_up_no_other(cluster: Cluster) -> None:
    for number in ("1", "2"):
        await cluster.node(f"n{number}")
        await cluster.volume(f"pv{number}")
        await cluster.pod(f"p{number}", f"n{number}", f"pv{number}")
    async with cluster.controller() as running:
        running.client.refusals["patch Node n1"] = [Forbidden("no")]
        await cluster.passes(5)
        assert await cluster.reported("n1") == ["pv1"]
        assert await cluster.reported("n2") == ["pv2"]


async def test_a_node_made_anew_is_told_what_is_attached(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.delete(f"{NODES}/n1")
        await cluster.node()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]
        assert cluster.attacher.deeds == ["attach pv1 n1"]


async def test_a_list_that_somebody_else_wrote_is_put_right(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.patch(f"{NODES}/n1/status", {"status": {"volumesAttached": None}})
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]


async def test_many_volumes_of_one_node_go_in_few_writes(cluster: Cluster) -> None:
    await cluster.node()
    names = [f"pv{number}" for number in range(20)]
    for name in names:
        await cluster.volume(name)
        await cluster.pod(f"of-{name}", "n1", name)
    async with cluster.controller() as running:
        await cluster.passes(1)
        assert await cluster.reported("n1") == sorted(names)
        assert running.calls.count("patch Node n1") <= 3
        running.calls.clear()
        for name in names:
            await cluster.api.delete(
                f"/api/v1/namespaces/default/pods/of-{name}?gracePeriodSeconds=0"
            )
        await cluster.passes(1)
        assert await cluster.reported("n1") == []
        assert await cluster.attachments() == []
        assert running.calls.count("patch Node n1") <= 3


async def test_the_longer_a_write_takes_the_more_goes_into_the_next(cluster: Cluster) -> None:
    """A server that takes its time is busy; so while volumes keep coming it is asked less."""
    await cluster.node()
    for number in range(30):
        await cluster.volume(f"pv{number}")
    await cluster.volume("late")
    cluster.attacher.never.add("late")
    async with cluster.controller() as running:
        running.client.seconds["patch Node n1"] = 0.1
        await cluster.pod("of-late", "n1", "late")  # so that there is always more to come
        for number in range(30):
            await cluster.pod(f"p{number}", "n1", f"pv{number}")
            await cluster.passes(0.1)
        await cluster.passes(2)
        assert len(await cluster.reported("n1")) == 30
        assert running.calls.count("patch Node n1") <= 5


async def test_a_write_whose_answer_got_lost_is_found_done(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        running.client.losses["patch Node n1"] = 1
        await cluster.pod()
        await cluster.passes(5)
        assert await cluster.reported("n1") == ["pv1"]
        running.client.losses["patch Node n1"] = 1
        await cluster.gone()
        await cluster.passes(5)
        assert await cluster.reported("n1") == []
        assert await cluster.attachments() == []


async def test_a_node_that_changes_meanwhile_is_read_and_told_again(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        running.client.refusals["patch Node n1"] = [ConnectionLost("gone")]
        await cluster.pod()
        await cluster.patch(f"{NODES}/n1", {"metadata": {"labels": {"a": "b"}}})
        await cluster.passes(5)
        assert await cluster.reported("n1") == ["pv1"]


async def test_a_node_that_cannot_be_told_is_tried_less_and_less(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        running.client.refusals["patch Node n1"] = [Forbidden("no")] * 10_000
        await cluster.pod()
        await cluster.passes(60)
        assert running.calls.count("patch Node n1") <= 20
