"""Nodes whose object is deleted while their machine may still run."""

from mooring.controllers.attachment.view import Policy
from mooring.model.node import Node
from tests.fakes.lagging import reflector_of
from tests.fakes.objects import ATTACHMENTS, NODES, an_attachment
from tests.scenarios.attachment.cluster import MANAGED, Cluster, name_of, unique


async def world(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.node("n2")
    await cluster.volume("pv1")


async def used(cluster: Cluster) -> None:
    """A pod runs on n1, which says that it uses the volume."""
    await cluster.pod()
    await cluster.uses("n1", "pv1")
    await cluster.passes(1)


async def moves(cluster: Cluster) -> None:
    """Its pod is replaced by one on n2."""
    await cluster.gone()
    await cluster.pod("next", "n2")
    await cluster.passes(1)


async def test_a_deleted_node_that_used_it_keeps_it_for_the_whole_wait(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        await cluster.passes(350)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(20)
        assert await cluster.attachments() == ["pv1 n2 attached"]
        assert cluster.attacher.worst == 1
        assert running.forced("timeout") == 1


async def test_the_wait_begins_anew_when_a_healthy_node_is_deleted(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await used(cluster)
        await cluster.gone()
        await cluster.passes(3600)  # it is ready, and does not let go
        await cluster.delete(f"{NODES}/n1")
        await cluster.passes(350)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(20)
        assert await cluster.attachments() == []


async def test_a_deleted_node_that_had_let_go_loses_it_at_once(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await used(cluster)
        await cluster.uses("n1")
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        assert await cluster.attachments() == ["pv1 n2 attached"]
        assert running.forced("timeout") == 0


async def test_a_node_whose_last_word_was_missed_is_waited_for(cluster: Cluster) -> None:
    """The list shows only that it is gone; what it mounted in between nobody has seen."""
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        running.client.hold(Node)
        await cluster.uses("n1", "pv1")
        await cluster.delete(f"{NODES}/n1")
        nodes = reflector_of(running.controller._known.nodes)
        nodes.replace(await running.client.list(Node))
        running.client.let_go()
        await moves(cluster)
        await cluster.passes(300)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(70)
        assert await cluster.attachments() == ["pv1 n2 attached"]


async def test_a_controller_that_never_saw_the_node_waits_for_the_whole_time(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller():
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        await cluster.passes(300)
    async with cluster.controller() as running:
        await cluster.passes(355)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(10)
        assert await cluster.attachments() == ["pv1 n2 attached"]
        assert running.forced("timeout") == 1


async def test_who_waits_is_told_that_the_node_was_deleted(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        told = await cluster.told("WaitingForDetach")
        assert [(name, text) for name, _, text in told] == [
            (
                "next",
                'Waiting for volume "pv1" to be detached from node "n1": the node was deleted, '
                "and its machine may still use it; it is taken away by force at "
                "2026-01-02T03:10:06Z, or as soon as there is a node of that name that does not "
                "use it, or has the taint node.kubernetes.io/out-of-service",
            )
        ]


async def test_with_force_disabled_a_tainted_node_of_that_name_vouches_for_it(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller(policy=Policy(forces_on_timeout=False)) as running:
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        await cluster.passes(3600)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        made = {"metadata": {"name": "n1"}, "apiVersion": "v1", "kind": "Node"}
        await cluster.create(NODES, made)
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]  # an object is no machine
        await cluster.taint("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]
        assert running.forced("out-of-service") == 1


async def test_a_node_that_comes_back_ready_is_believed(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
        made = {"metadata": {"name": "n1", "annotations": {MANAGED: "true"}}}
        await cluster.create(NODES, made | {"apiVersion": "v1", "kind": "Node"})
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        ready = [{"type": "Ready", "status": "True"}]
        in_use = {"conditions": ready, "volumesInUse": [unique("pv1")]}
        await cluster.patch(f"{NODES}/n1/status", {"status": in_use})
        await cluster.passes(3600)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.uses("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]
        assert running.forced("timeout") == 0


async def test_a_node_that_is_younger_than_its_attachment_is_believed_when_it_is_ready(
    cluster: Cluster,
) -> None:
    """Also by a controller that never saw the one before it."""
    await world(cluster)
    async with cluster.controller():
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await moves(cluster)
    made = {"metadata": {"name": "n1", "annotations": {MANAGED: "true"}}}
    await cluster.create(NODES, made | {"apiVersion": "v1", "kind": "Node"})
    await cluster.is_ready("n1", "False")
    async with cluster.controller():
        await cluster.passes(300)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.is_ready("n1", "True")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]


async def test_a_node_that_was_there_first_is_believed_as_it_is(cluster: Cluster) -> None:
    await world(cluster)
    await cluster.passes(5)
    async with cluster.controller():
        await used(cluster)
        await cluster.gone()
        await cluster.is_ready("n1", "False")
    async with cluster.controller():
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.uses("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_nothing_is_remembered_of_nodes_without_volumes(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await used(cluster)
        await cluster.delete(f"{NODES}/n1")
        await cluster.gone()
        await cluster.passes(370)
        assert await cluster.attachments() == []
        await cluster.delete(f"{NODES}/n2")
        assert len(running.controller._departures) == 0


# attachments that somebody else made


async def foreign(cluster: Cluster, name: str, node: str = "n1") -> None:
    await cluster.create(ATTACHMENTS, an_attachment(name, node, "pv1"))
    await cluster.passes(1)
    assert await cluster.attachments() == [f"pv1 {node} attached"]


async def test_an_attachment_of_somebody_else_is_left_alone_even_by_its_name(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await foreign(cluster, name_of("pv1", "n1"))
        await cluster.passes(600)
        assert running.calls == []
    async with cluster.controller() as running:
        await cluster.passes(600)
        assert running.calls == []
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_an_attachment_of_somebody_else_is_used_and_then_as_our_own(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await foreign(cluster, name_of("pv1", "n1"))
        await cluster.pod()
        assert await cluster.reported("n1") == ["pv1"]
        assert running.calls == ["patch Node n1"]
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_what_a_pod_only_waited_for_stays_somebody_elses(cluster: Cluster) -> None:
    await world(cluster)
    cluster.attacher.is_silent = True
    async with cluster.controller() as running:
        await cluster.create(ATTACHMENTS, an_attachment(name_of("pv1", "n1"), "n1", "pv1"))
        await cluster.pod()
        await cluster.passes(1)
        await cluster.gone()
        await cluster.passes(600)
        assert running.calls == []
        assert await cluster.attachments() == ["pv1 n1 asked for"]


async def test_who_waits_for_somebody_elses_attachment_is_told(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await foreign(cluster, name_of("pv1", "n1"))
        await cluster.pod("next", "n2")
        told = await cluster.told("WaitingForDetach")
        words = "somebody else attached it there, and it stays until they detach it"
        assert [text.endswith(words) for _, _, text in told] == [True]
        await cluster.delete(f"{ATTACHMENTS}/{name_of('pv1', 'n1')}")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]


# nodes that lose their annotation


async def test_a_node_that_loses_the_annotation_is_still_served(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": {MANAGED: None}}})
        await cluster.pod()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []
