"""Volumes that a node does not let go of."""

from mooring.controllers.attachment.view import Policy
from tests.fakes.objects import NODES
from tests.scenarios.attachment.cluster import Cluster

NO_FORCE = Policy(forces_on_timeout=False)


async def held(cluster: Cluster) -> None:
    """The pod is gone, and the node says that it uses the volume."""
    await cluster.pod()
    await cluster.uses("n1", "pv1")
    await cluster.passes(1)
    await cluster.gone()
    assert await cluster.attachments() == ["pv1 n1 attached"]


async def world(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")


async def test_a_node_that_is_not_ready_loses_it_after_six_minutes(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await held(cluster)
        await cluster.is_ready("n1", "Unknown")
        await cluster.passes(350)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(11)
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 1
        assert await cluster.reported("n1") == []


async def test_a_node_that_is_gone_loses_at_once_what_it_did_not_use(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.delete(f"{NODES}/n1")
        await cluster.passes(600)
        assert await cluster.attachments() == ["pv1 n1 attached"]  # the pod may still run there
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(1)
        assert running.calls[0] == "get Node n1"  # it is really gone
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 0


async def test_the_clock_runs_from_when_the_volume_was_left(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await held(cluster)
        await cluster.passes(600)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.is_ready("n1", "False")
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 1


async def test_with_force_disabled_only_the_taint_takes_it(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller(policy=NO_FORCE) as running:
        await held(cluster)
        await cluster.is_ready("n1", "False")
        await cluster.passes(3600)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.taint("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert (running.forced("timeout"), running.forced("out-of-service")) == (0, 1)


async def test_out_of_service_takes_it_at_once_whatever_the_effect(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await held(cluster)
        await cluster.taint("n1", effect="NoSchedule")
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert running.forced("out-of-service") == 1


async def test_any_other_taint_takes_nothing(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await held(cluster)
        await cluster.taint("n1", "node.kubernetes.io/unreachable")
        await cluster.passes(600)
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_taint_and_timeout_together_are_one_detach_for_the_timeout(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await held(cluster)
        await cluster.passes(600)
        running.client.hold_all()
        await cluster.is_ready("n1", "False")
        await cluster.taint("n1")
        running.client.let_go()
        await cluster.passes(1)
        assert cluster.attacher.deeds == ["attach pv1 n1", "detach pv1 n1"]
        assert (running.forced("timeout"), running.forced("out-of-service")) == (1, 0)


async def test_a_deleted_node_that_did_not_use_it_loses_it_at_once(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.delete(f"{NODES}/n1")
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(1)
        assert [call.split()[0] for call in running.calls] == ["get", "delete"]
        assert await cluster.attachments() == []


async def test_a_node_that_only_seemed_gone_keeps_what_it_uses(cluster: Cluster) -> None:
    """The watch has not shown the new Node yet; who is asked has."""
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.uses("n1", "pv1")
        await cluster.delete(f"{NODES}/n1")
        running.client.hold_all()
        await cluster.node("n1", volumesInUse=["kubernetes.io/csi/d.example.com^pv1"])
        running.client.let_go(but_nodes=True)
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        running.client.let_go()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]


async def test_a_pod_that_still_runs_by_its_status_starts_no_clock(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.uses("n1", "pv1")
        running_now = [{"name": "main", "state": {"running": {}}, "ready": True, "restartCount": 0}]
        for status in running_now:
            status.update({"image": "busybox:1", "imageID": ""})
        await cluster.status("web", phase="Running", containerStatuses=running_now)
        await cluster.is_ready("n1", "Unknown")
        await cluster.terminate("web")
        await cluster.passes(1200)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.gone()
        await cluster.passes(355)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(10)
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 1
