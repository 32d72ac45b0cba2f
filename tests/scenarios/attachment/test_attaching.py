"""Volumes come to the nodes of pods that want them."""

from mooring.errors import Forbidden
from mooring.plugins.csi.attachment_name import attachment_name
from tests.fakes.objects import ATTACHMENTS, NODES, PODS, a_pod
from tests.scenarios.attachment.cluster import Cluster, name_of


async def test_with_nothing_to_do_nothing_is_written(cluster: Cluster) -> None:
    await cluster.node()
    async with cluster.controller() as running:
        await cluster.passes(600)
        assert running.calls == []


async def test_a_scheduled_pod_has_its_volume_attached_once(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        await cluster.pod()
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.reported("n1") == ["pv1"]
        words = 'AttachVolume.Attach succeeded for volume "pv1" '
        assert await cluster.told() == [("web", "SuccessfulAttachVolume", words)]
        assert running.calls == [f"create VolumeAttachment {name_of('pv1', 'n1')}", "patch Node n1"]
        await cluster.passes(600)
        assert len(running.calls) == 2
        labels = {"plugin_name": "kubernetes.io/csi:d.example.com"}
        total = "attachdetach_controller_total_volumes"
        assert running.count(total, state="desired_state_of_world", **labels) == 1
        assert running.count(total, state="actual_state_of_world", **labels) == 1
        in_use = {"node": "n1", "volume_plugin": "kubernetes.io/csi:d.example.com"}
        assert running.count("storage_count_attachable_volumes_in_use", **in_use) == 1
        assert (
            running.count(
                "storage_operation_duration_seconds_count",
                volume_plugin="kubernetes.io/csi:d.example.com",
                operation_name="volume_attach",
                status="success",
                migrated="false",
            )
            == 1
        )


async def test_the_node_is_told_only_when_the_attacher_has_said_attached(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    cluster.attacher.is_silent = True
    async with cluster.controller():
        await cluster.pod()
        assert await cluster.attachments() == ["pv1 n1 asked for"]
        assert await cluster.reported("n1") == []


async def test_an_attach_that_fails_is_told_and_tried_until_it_succeeds(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    cluster.attacher.attach_error = "boom"
    async with cluster.controller():
        await cluster.pod()
        words = 'AttachVolume.Attach failed for volume "pv1" : boom'
        assert await cluster.told() == [("web", "FailedAttachVolume", words)]
        assert await cluster.reported("n1") == []
        await cluster.passes(10)
        assert await cluster.told() == [("web", "FailedAttachVolume", words)]  # counted, not anew
        cluster.attacher.attach_error = ""
        cluster.attacher.look()
        await cluster.settle()
        assert await cluster.reported("n1") == ["pv1"]
        assert await cluster.told("SuccessfulAttachVolume")


async def test_each_failure_waits_twice_as_long_and_is_told_each_time(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    cluster.attacher.attach_error = "boom"
    async with cluster.controller() as running:
        await cluster.pod()
        failed = {"operation_name": "volume_attach", "status": "fail-unknown", "migrated": "false"}
        failed["volume_plugin"] = "kubernetes.io/csi:d.example.com"
        counts = []
        for wait in (0.4, 0.2, 0.8, 0.2, 1.8, 0.2):  # pauses are 0.5, 1 and 2 seconds
            await cluster.passes(wait)
            counts.append(running.count("storage_operation_duration_seconds_count", **failed))
        assert counts == [1, 2, 2, 3, 3, 4]


async def test_an_attacher_that_is_silent_for_two_minutes_is_named(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    cluster.attacher.is_silent = True
    async with cluster.controller():
        await cluster.pod()
        await cluster.passes(119)
        assert await cluster.told() == []
        await cluster.passes(2)
        assert await cluster.told() == [
            (
                "web",
                "FailedAttachVolume",
                'AttachVolume.Attach failed for volume "pv1" : timed out waiting for '
                "external-attacher of d.example.com CSI driver to attach volume pv1",
            )
        ]


async def test_an_api_that_refuses_the_attachment_is_told_and_asked_again(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        call = f"create VolumeAttachment {name_of('pv1', 'n1')}"
        running.client.refusals[call] = [Forbidden("no")]
        await cluster.pod()
        words = (
            'AttachVolume.Attach failed for volume "pv1" : '
            "kubernetes.io/csi: attacher.Attach failed: no"
        )
        assert await cluster.told() == [("web", "FailedAttachVolume", words)]
        await cluster.passes(1)
        assert running.calls.count(call) == 2
        assert await cluster.reported("n1") == ["pv1"]


async def test_an_answer_that_got_lost_costs_no_second_attachment(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        call = f"create VolumeAttachment {name_of('pv1', 'n1')}"
        running.client.losses[call] = 1
        await cluster.pod()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]
        assert cluster.attacher.deeds == ["attach pv1 n1"]


async def test_an_attachment_that_is_no_longer_attached_is_not_reported(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        cluster.attacher.is_silent = True
        path = f"{ATTACHMENTS}/{name_of('pv1', 'n1')}"
        await cluster.patch(f"{path}/status", {"status": {"attached": False}})
        await cluster.passes(1)
        assert await cluster.reported("n1") == []
        cluster.attacher.is_silent = False
        cluster.attacher.look()
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1"]


async def test_an_attachment_that_somebody_deleted_is_made_again(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.delete(f"{ATTACHMENTS}/{name_of('pv1', 'n1')}")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.reported("n1") == ["pv1"]
        assert cluster.attacher.deeds == ["attach pv1 n1", "detach pv1 n1", "attach pv1 n1"]


async def test_what_hands_keep_deleting_is_not_made_again_without_a_pause(
    cluster: Cluster,
) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    cluster.attacher.is_silent = True
    async with cluster.controller() as running:
        await cluster.pod()
        for _ in range(5):
            await cluster.delete(f"{ATTACHMENTS}/{name_of('pv1', 'n1')}")
            await cluster.passes(0.1)
            if not await cluster.attachments():
                break
        words = 'AttachVolume.Attach failed for volume "pv1" : volume attachment has been deleted'
        assert ("web", "FailedAttachVolume", words) in await cluster.told()
        assert len(running.calls) == 1
        await cluster.passes(0.5)
        assert await cluster.attachments() == ["pv1 n1 asked for"]


async def test_two_names_of_one_volume_in_a_pod_are_one_attachment(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")
    async with cluster.controller():
        pod = a_pod("web", "n1", "pv1")
        again = {"name": "again", "persistentVolumeClaim": {"claimName": "pv1"}}
        pod["spec"]["volumes"].append(again)
        await cluster.create(PODS, pod)
        await cluster.settle()
        assert await cluster.reported("n1") == ["pv1"]
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_in_tree_volumes_written_into_a_pod_are_attached_by_the_driver_in_charge(
    cluster: Cluster,
) -> None:
    await cluster.node()
    cluster.attacher.is_silent = True
    async with cluster.controller():
        pod = a_pod("web", "n1")
        pod["spec"]["volumes"] = [{"name": "data", "cinder": {"volumeID": "vol-7"}}]
        await cluster.create(PODS, pod)
        await cluster.settle()
        name = attachment_name("vol-7", "cinder.csi.openstack.org", "n1")
        found = await cluster.find(f"{ATTACHMENTS}/{name}")
        assert found is not None
        assert found["spec"]["attacher"] == "cinder.csi.openstack.org"
        inline = found["spec"]["source"]["inlineVolumeSpec"]
        assert inline["csi"]["volumeHandle"] == "vol-7"
        assert inline["accessModes"] == ["ReadWriteOnce"]
        await cluster.patch(f"{ATTACHMENTS}/{name}/status", {"status": {"attached": True}})
        listed = (await cluster.find(f"{NODES}/n1") or {})["status"]["volumesAttached"]
        assert [one["name"] for one in listed] == [
            "kubernetes.io/csi/cinder.csi.openstack.org^vol-7"
        ]
