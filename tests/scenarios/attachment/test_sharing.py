"""Volumes that several nodes want."""

from mooring.controllers.attachment.view import Policy
from tests.scenarios.attachment.cluster import Cluster

ALONE = (
    "Volume is already exclusively attached to one node, waiting on detach before it can be "
    "attached to another node"
)
OPENING = 'Waiting for volume "pv1" to be detached from node "n1"'
BY_HAND = "or until the node has the taint node.kubernetes.io/out-of-service"


async def nodes(cluster: Cluster) -> None:
    for name in ("n1", "n2"):
        await cluster.node(name)


def refused(words: str) -> str:
    return f'Waiting for detach for volume "pv1" {words}'


async def test_a_shared_volume_is_on_both_nodes(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1", "ReadWriteMany")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        assert await cluster.attachments() == ["pv1 n1 attached", "pv1 n2 attached"]
        await cluster.gone("p1")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]  # the other stays
        assert await cluster.reported("n2") == ["pv1"]
        assert await cluster.told("FailedAttachVolume") == []


async def test_a_volume_that_many_read_is_on_both_nodes(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1", "ReadWriteOnce", "ReadOnlyMany")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        assert await cluster.attachments() == ["pv1 n1 attached", "pv1 n2 attached"]


async def test_trouble_on_one_node_is_none_on_another(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1", "ReadWriteMany")
    async with cluster.controller():
        cluster.attacher.attach_error = "boom"
        await cluster.pod("p1", "n1")
        cluster.attacher.is_silent = True  # n1 stays as it failed
        await cluster.pod("p2", "n2")
        assert await cluster.told() == [
            ("p1", "FailedAttachVolume", 'AttachVolume.Attach failed for volume "pv1" : boom')
        ]
        assert await cluster.attachments() == ["pv1 n1 asked for", "pv1 n2 asked for"]


async def test_an_exclusive_volume_goes_to_one_and_then_to_the_other(
    cluster: Cluster,
) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    await cluster.pod("p1", "n1")
    await cluster.clock.advance(1)
    await cluster.pod("p2", "n2")
    async with cluster.controller():
        await cluster.passes(1)
        assert cluster.attacher.deeds == ["attach pv1 n1"]
        words = refused("Volume is already used by pod(s) p1")
        assert await cluster.told("FailedAttachVolume") == [("p2", "FailedAttachVolume", words)]
        await cluster.gone("p1")
        await cluster.passes(1)
        assert cluster.attacher.deeds == ["attach pv1 n1", "detach pv1 n1", "attach pv1 n2"]
        assert await cluster.reported("n2") == ["pv1"]
        assert await cluster.reported("n1") == []


async def test_one_pod_alone_means_one_node_alone(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1", "ReadWriteOncePod")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        assert cluster.attacher.deeds == ["attach pv1 n1"]
        assert await cluster.told("FailedAttachVolume")


async def test_two_pods_on_one_node_share_an_exclusive_volume(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n1")
        await cluster.gone("p1")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        assert await cluster.told("FailedAttachVolume") == []


async def test_without_pods_there_it_is_only_attached_elsewhere(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.uses("n1", "pv1")
        await cluster.gone("p1")
        await cluster.pod("p2", "n2")
        assert await cluster.told("FailedAttachVolume") == [
            ("p2", "FailedAttachVolume", refused(ALONE))
        ]


async def test_names_of_other_namespaces_are_not_told(cluster: Cluster) -> None:
    """One handle behind two claims: the only way that pods of two namespaces meet."""
    await nodes(cluster)
    await cluster.volume("pv1")
    same = {"csi": {"driver": "d.example.com", "volumeHandle": "pv1"}}
    await cluster.volume("far", namespace="team", **same)
    cluster.handles["far"] = "pv1"
    async with cluster.controller():
        await cluster.pod("secret", "n1", "far", "team")
        await cluster.pod("p2", "n2")
        assert await cluster.told("FailedAttachVolume") == [
            (
                "p2",
                "FailedAttachVolume",
                refused("Volume is already used by 1 pod(s) in different namespaces"),
            )
        ]
        await cluster.pod("p1", "n1")
        await cluster.gone("p2")
        await cluster.pod("p2", "n2")
        both = "Volume is already used by pod(s) p1 and 1 pod(s) in different namespaces"
        assert ("p2", "FailedAttachVolume", refused(both)) in await cluster.told()


async def test_each_pod_is_told_once_and_a_new_one_again(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        await cluster.uses("n1", "pv1")
        await cluster.passes(60)
        assert len(await cluster.told("FailedAttachVolume")) == 1
        await cluster.pod("p3", "n2")
        assert [who for who, _, _ in await cluster.told("FailedAttachVolume")] == ["p2", "p3"]


async def test_a_wait_that_goes_on_is_told_again_every_five_minutes(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        await cluster.passes(290)
        assert await cluster.counts("FailedAttachVolume") == [1]
        await cluster.passes(20)
        assert await cluster.counts("FailedAttachVolume") == [2]
        assert await cluster.counts("WaitingForDetach") == [2]


async def test_an_uncertain_attachment_keeps_an_exclusive_volume_from_others(
    cluster: Cluster,
) -> None:
    """Upstream would attach it to both."""
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        cluster.attacher.detach_error = "busy"
        await cluster.gone("p1")
        await cluster.passes(1)
        await cluster.pod("p2", "n2")
        await cluster.passes(10)
        assert await cluster.attachments() == ["pv1 n1 leaving"]
        words = 'DetachVolume.Detach failed for volume "pv1" on node "n1" : busy'
        assert ("p2", "FailedDetachVolume", words) in await cluster.told()
        cluster.attacher.detach_error = ""
        cluster.attacher.look()
        await cluster.passes(5)
        assert await cluster.attachments() == ["pv1 n2 attached"]


async def waiting(cluster: Cluster) -> None:
    """p2 waits for what n1 uses, though its pod is gone."""
    await cluster.pod("p1", "n1")
    await cluster.uses("n1", "pv1")
    await cluster.gone("p1")
    await cluster.pod("p2", "n2")


async def test_who_waits_is_told_that_pods_still_use_it(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.pod("p2", "n2")
        words = f"{OPENING}: pods still use it there, and it stays until they are gone"
        assert await cluster.told("WaitingForDetach") == [("p2", "WaitingForDetach", words)]


async def test_who_waits_is_told_how_to_vouch_for_a_lost_node(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod("p1", "n1")
        await cluster.is_ready("n1", "Unknown")
        await cluster.pod("p2", "n2")
        words = (
            f"{OPENING}: pods still use it there, and it stays until they are gone; the node is "
            "not ready: the taint node.kubernetes.io/out-of-service says that it is off"
        )
        assert await cluster.told("WaitingForDetach") == [("p2", "WaitingForDetach", words)]


async def test_who_waits_is_told_that_a_ready_node_may_take_its_time(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await waiting(cluster)
        words = (
            f"{OPENING}: the node is ready and still uses it; "
            "it stays until the node reports that it does not, without a time limit"
        )
        assert await cluster.told("WaitingForDetach") == [("p2", "WaitingForDetach", words)]


async def test_who_waits_is_told_when_force_will_be_used(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller():
        await waiting(cluster)
        await cluster.passes(60)
        await cluster.is_ready("n1", "Unknown")
        words = (
            f"{OPENING}: the node is not ready and still uses it; "
            f"it is taken away by force at 2026-01-02T03:10:05Z, {BY_HAND}"
        )
        assert ("p2", "WaitingForDetach", words) in await cluster.told()
        await cluster.passes(295)
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.passes(10)
        assert await cluster.attachments() == ["pv1 n2 attached"]


async def test_who_waits_is_told_that_force_is_disabled(cluster: Cluster) -> None:
    await nodes(cluster)
    await cluster.volume("pv1")
    async with cluster.controller(policy=Policy(forces_on_timeout=False)):
        await waiting(cluster)
        await cluster.is_ready("n1", "Unknown")
        words = (
            f"{OPENING}: the node is not ready and still uses it, and force detach on timeout is "
            f"disabled; it stays until the node reports that it does not, {BY_HAND}"
        )
        assert ("p2", "WaitingForDetach", words) in await cluster.told()
        await cluster.taint("n1")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n2 attached"]
