"""iSCSI disks and images of Ceph: no VolumeAttachment, only nodes' lists; the same rules."""

from tests.fakes.objects import NODES
from tests.scenarios.attachment.cluster import Cluster

SOURCE = {"targetPortal": "10.0.0.1", "iqn": "iqn.2026-11.com.example:disks", "lun": 1}
NAME = "kubernetes.io/iscsi/10.0.0.1:iqn.2026-11.com.example:disks:1"


async def a_disk(cluster: Cluster, *modes: str) -> None:
    for name in ("n1", "n2"):
        await cluster.node(name)
    await cluster.volume("pv1", *modes, csi=None, iscsi=SOURCE)


async def uses(cluster: Cluster, node: str, *names: str) -> None:
    await cluster.patch(f"{NODES}/{node}/status", {"status": {"volumesInUse": [*names] or None}})


async def test_a_disk_is_on_the_list_of_its_pods_node(cluster: Cluster) -> None:
    await a_disk(cluster)
    async with cluster.controller() as running:
        await cluster.pod("p1", "n1")
        assert await cluster.reported("n1") == [NAME]
        assert await cluster.attachments() == []
        said = 'AttachVolume.Attach succeeded for volume "pv1" '
        assert await cluster.told() == [("p1", "SuccessfulAttachVolume", said)]
        plugin = {"plugin_name": "kubernetes.io/iscsi", "state": "desired_state_of_world"}
        assert running.count("attachdetach_controller_total_volumes", **plugin) == 1
        await cluster.gone("p1")
        await cluster.passes(1)
        assert await cluster.reported("n1") == []


async def test_an_image_of_ceph_is_on_the_list_of_its_pods_node(cluster: Cluster) -> None:
    for name in ("n1", "n2"):
        await cluster.node(name)
    source = {"monitors": ["10.0.0.1"], "pool": "kube", "image": "data"}
    await cluster.volume("pv1", csi=None, rbd=source)
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        assert await cluster.reported("n1") == ["kubernetes.io/rbd/kube:data"]
        assert await cluster.reported("n2") == []
        assert await cluster.attachments() == []


async def test_a_disk_in_use_stays_until_its_node_lets_it_go(cluster: Cluster) -> None:
    await a_disk(cluster)
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await uses(cluster, "n1", NAME)
        await cluster.gone("p1")
        await cluster.pod("p2", "n2")
        await cluster.passes(30)
        assert await cluster.reported("n1") == [NAME]
        assert await cluster.reported("n2") == []
        await uses(cluster, "n1")
        await cluster.passes(1)
        assert await cluster.reported("n1") == []
        assert await cluster.reported("n2") == [NAME]


async def test_an_exclusive_disk_is_refused_to_another_node(cluster: Cluster) -> None:
    await a_disk(cluster)
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        words = 'Waiting for detach for volume "pv1" Volume is already used by pod(s) p1'
        assert await cluster.told("FailedAttachVolume") == [("p2", "FailedAttachVolume", words)]
        assert await cluster.reported("n2") == []


async def test_a_disk_that_many_read_is_on_both_nodes(cluster: Cluster) -> None:
    await a_disk(cluster, "ReadOnlyMany")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        assert await cluster.reported("n1") == await cluster.reported("n2") == [NAME]


async def test_a_controller_that_was_killed_goes_on_with_the_lists(cluster: Cluster) -> None:
    await a_disk(cluster)
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await uses(cluster, "n1", NAME)
    await cluster.gone("p1")
    await cluster.pod("p2", "n2")
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.reported("n2") == []
        await uses(cluster, "n1")
        await cluster.passes(1)
        assert (await cluster.reported("n1"), await cluster.reported("n2")) == ([], [NAME])


async def test_a_disk_off_the_list_but_in_use_is_kept_from_others_after_a_kill(
    cluster: Cluster,
) -> None:
    await a_disk(cluster)
    await uses(cluster, "n1", NAME)  # its list was written, and the answer never heard
    await cluster.pod("p2", "n2")
    async with cluster.controller():
        await cluster.passes(1)
        assert await cluster.reported("n2") == []
        await uses(cluster, "n1")
        await cluster.passes(1)
        assert await cluster.reported("n2") == [NAME]
