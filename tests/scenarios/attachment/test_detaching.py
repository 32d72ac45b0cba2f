"""Volumes leave nodes that nobody wants them on."""

from mooring.errors import Forbidden, InternalError
from mooring.model.node import Node
from tests.fakes.objects import NODES, VOLUMES
from tests.scenarios.attachment.cluster import Cluster, name_of, unique


async def attached(cluster: Cluster, *in_use: str) -> None:
    """A pod has its volume attached, and the node says that it uses these."""
    await cluster.pod()
    assert await cluster.reported("n1") == ["pv1"]
    if in_use:
        await cluster.uses("n1", *in_use)
    await cluster.passes(1)


async def stuck(cluster: Cluster) -> None:
    """A volume is attached, its pod leaves, and its detach fails."""
    await attached(cluster)
    cluster.attacher.detach_error = "busy"
    await cluster.gone()
    await cluster.passes(1)


async def world(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")


async def test_the_node_is_told_before_the_volume_is_detached(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(1)
        # The answer to the patch is the look at the node, so that no further one is needed.
        assert running.calls == [
            "patch Node n1",
            f"delete VolumeAttachment {name_of('pv1', 'n1')}",
        ]
        assert await cluster.attachments() == []
        status = (await cluster.find(f"{NODES}/n1") or {})["status"]
        assert "volumesAttached" not in status
        assert running.forced("timeout") == running.forced("out-of-service") == 0


async def test_a_ready_node_that_uses_it_keeps_it_however_long(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster, "pv1")
        await cluster.gone()
        await cluster.passes(3600)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.reported("n1") == ["pv1"]
        await cluster.uses("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 0  # upstream counts this one, though it forces nothing


async def test_a_node_that_could_not_be_told_keeps_its_volume(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        running.client.refusals["patch Node n1"] = [Forbidden("no")] * 2
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(0.3)
        assert not [call for call in running.calls if call.startswith("delete")]
        assert await cluster.reported("n1") == ["pv1"]
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(5)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []


async def test_what_no_driver_here_serves_stays_in_the_list(cluster: Cluster) -> None:
    strange = [{"name": "kubernetes.io/other/thing", "devicePath": "/dev/x"}]
    await cluster.node(volumesAttached=strange)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.gone()
        await cluster.passes(600)
        status = (await cluster.find(f"{NODES}/n1") or {})["status"]
        assert status["volumesAttached"] == strange


async def test_a_detach_that_fails_is_told_and_the_volume_is_not_reported(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller():
        await stuck(cluster)
        assert await cluster.attachments() == ["pv1 n1 leaving"]
        assert await cluster.reported("n1") == []
        words = 'DetachVolume.Detach failed for volume "pv1" on node "n1" : busy'
        assert await cluster.told("FailedDetachVolume") == [("pv1", "FailedDetachVolume", words)]


async def test_a_pod_that_comes_back_meanwhile_gets_it_after_the_detach(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller():
        await stuck(cluster)
        await cluster.pod("next")
        await cluster.passes(1)
        words = 'AttachVolume.Attach failed for volume "pv1" : volume attachment is being deleted'
        assert ("next", "FailedAttachVolume", words) in await cluster.told()
        cluster.attacher.detach_error = ""
        cluster.attacher.look()
        await cluster.passes(5)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.reported("n1") == ["pv1"]


async def test_a_node_that_turns_out_to_use_it_keeps_it_and_is_told_so(
    cluster: Cluster,
) -> None:
    """Upstream takes it off the list for good; here the list says what is true."""
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        running.client.hold(Node)
        await cluster.uses("n1", "pv1")  # nobody has told the controller
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(1)
        assert not [call for call in running.calls if call.startswith("delete")]
        running.client.let_go()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.uses("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_a_node_that_cannot_be_asked_keeps_its_volume_for_now(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        running.client.hold(Node)
        await cluster.patch(f"{NODES}/n1", {"metadata": {"labels": {"a": "b"}}})  # a conflict
        running.client.refusals["get Node n1"] = [InternalError("no")]
        running.calls.clear()
        await cluster.gone()
        await cluster.passes(0.3)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        running.client.let_go()
        await cluster.passes(5)
        assert await cluster.attachments() == []


async def test_an_attach_that_kept_failing_is_cleared_away(cluster: Cluster) -> None:
    await world(cluster)
    await cluster.node("n2")
    cluster.attacher.attach_error = "boom"
    async with cluster.controller():
        await cluster.pod()
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []
        cluster.attacher.attach_error = ""
        await cluster.pod("next", "n2")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]


async def test_an_attach_under_way_is_not_cut_short(cluster: Cluster) -> None:
    await world(cluster)
    cluster.attacher.is_silent = True
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.gone()
        await cluster.passes(60)
        assert await cluster.attachments() == ["pv1 n1 asked for"]
        assert not [call for call in running.calls if call.startswith("delete")]
        cluster.attacher.is_silent = False
        cluster.attacher.look()
        await cluster.passes(1)
        assert cluster.attacher.deeds == ["attach pv1 n1", "detach pv1 n1"]
        assert await cluster.attachments() == []


async def test_an_attach_that_nobody_answers_is_given_up_after_two_minutes(
    cluster: Cluster,
) -> None:
    await world(cluster)
    cluster.attacher.is_silent = True
    async with cluster.controller():
        await cluster.pod()
        await cluster.gone()
        await cluster.passes(121)
        assert await cluster.attachments() == []


async def test_a_pod_that_comes_back_ends_the_wait_and_its_clock(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster, "pv1")
        await cluster.gone()
        await cluster.is_ready("n1", "Unknown")
        await cluster.passes(300)
        running.calls.clear()
        await cluster.pod("next")
        await cluster.passes(300)
        await cluster.gone("next")
        await cluster.passes(300)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert running.calls == []
        await cluster.passes(61)
        assert await cluster.attachments() == []
        assert running.forced("timeout") == 1


async def test_a_detach_that_nobody_answers_is_told_after_two_minutes(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await attached(cluster)
        cluster.attacher.is_silent = True
        await cluster.gone()
        await cluster.passes(121)
        words = (
            'DetachVolume.Detach failed for volume "pv1" on node "n1" : timed out waiting for '
            "external-attacher of d.example.com CSI driver to detach volume pv1"
        )
        assert await cluster.told("FailedDetachVolume") == [("pv1", "FailedDetachVolume", words)]


async def test_an_api_that_refuses_the_deletion_is_asked_again(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        call = f"delete VolumeAttachment {name_of('pv1', 'n1')}"
        running.client.refusals[call] = [Forbidden("no")]
        await cluster.gone()
        await cluster.passes(0.3)
        words = (
            'DetachVolume.Detach failed for volume "pv1" on node "n1" : kubernetes.io/csi: '
            f"detacher.Detach failed to delete VolumeAttachment [{name_of('pv1', 'n1')}]: no"
        )
        assert await cluster.told("FailedDetachVolume") == [("pv1", "FailedDetachVolume", words)]
        assert await cluster.reported("n1") == []
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_a_pod_that_comes_back_while_the_node_is_told_keeps_the_volume(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await attached(cluster)
        running.client.refusals["patch Node n1"] = [Forbidden("no")]
        await cluster.gone()
        await cluster.passes(0.1)
        await cluster.pod("next")
        await cluster.passes(5)
        assert cluster.attacher.deeds == ["attach pv1 n1"]
        assert await cluster.reported("n1") == ["pv1"]


async def test_a_volume_without_its_object_is_detached_by_its_name_alone(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await attached(cluster)
        await cluster.patch(f"{VOLUMES}/pv1", {"metadata": {"finalizers": None}})
        await cluster.delete(f"{VOLUMES}/pv1")
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []
    assert unique("pv1") == "kubernetes.io/csi/d.example.com^pv1"
