"""The life of a pod on a node: its volumes come, and go."""

from mooring.errors import ConnectionLost, ServerTimeout
from tests.fakes.objects import PODS
from tests.fakes.plugins import Outcome
from tests.scenarios.node.cluster import Cluster, a_pod, claimed, scratch

ENDED = {"status": {"phase": "Succeeded"}}


async def test_a_pod_gets_its_volumes_and_then_its_containers(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch(), claimed()))
        uid = await cluster.uid()
        assert cluster.containers.started == [("web", ("data", "tmp"))]
        assert sorted(cluster.did()) == [
            "mount_device disk",
            f"set_up disk {uid}",
            f"set_up tmp {uid}",
        ]
        assert await cluster.said() == []


async def test_a_pod_without_volumes_may_start_at_once(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web"))
        assert cluster.containers.started == [("web", ())]


async def test_a_pod_that_was_there_before_the_node_is_served_too(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod("web", scratch()))
    async with cluster.node():
        assert cluster.containers.started == [("web", ("tmp",))]


async def test_a_pod_of_another_node_is_none_of_our_business(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch(), nodeName="n2"))
        assert cluster.did() == []


async def test_people_see_that_containers_are_being_created(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        assert await cluster.reason() == "ContainerCreating"
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        assert doc["status"]["hostIP"] == "10.0.0.7"
        assert doc["status"]["phase"] == "Pending"


async def test_what_was_said_of_containers_before_a_restart_stays(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod("web", scratch()))
    running = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 3}
    said = {"phase": "Running", "containerStatuses": [running | {"state": {"running": {}}}]}
    await cluster.patch(PODS, "web", {"status": said}, "/status")
    cluster.containers.running.add(await cluster.uid())
    async with cluster.node():
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        assert doc["status"]["containerStatuses"][0]["restartCount"] == 3
        assert doc["status"]["phase"] == "Running"


async def test_a_deleted_pod_goes_with_all_it_had(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        uid = await cluster.uid()
        assert cluster.layout.pod(uid).exists()
        cluster.backend.calls.clear()
        await cluster.delete(PODS, "web")
        assert cluster.did() == [f"tear_down disk {uid}", "unmount_device disk"]
        assert not cluster.layout.pod(uid).exists()
        assert await cluster.find(PODS, "web") is None
        assert not node.volumes.has_traces(uid)
        assert list(node.volumes.context.actual.volumes()) == []
        assert cluster.backend.there == {}


async def test_a_pod_that_vanished_goes_the_same_way(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        uid = await cluster.uid()
        await cluster.delete(PODS, "web", grace=0)
        assert cluster.backend.there == {}
        assert not cluster.layout.pod(uid).exists()


async def test_a_pod_that_ended_gives_its_volumes_back_and_stays(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        uid = await cluster.uid()
        await cluster.patch(PODS, "web", ENDED, "/status")
        assert cluster.backend.there == {}
        assert not cluster.layout.pod(uid).exists()
        assert await cluster.find(PODS, "web") is not None
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is None


async def test_a_pod_that_ended_before_the_node_came_gets_nothing(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod("web", scratch()))
    await cluster.patch(PODS, "web", ENDED, "/status")
    async with cluster.node() as node:
        assert cluster.did() == []
        assert node.volumes.may_destroy


async def test_a_successor_of_the_same_name_is_another_pod(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        first = await cluster.uid()
        await cluster.delete(PODS, "web", grace=0)
        await cluster.create(PODS, a_pod("web", scratch()))
        second = await cluster.uid()
        assert first != second
        assert cluster.backend.there == {("files", "tmp", second): True}


async def test_volumes_stay_until_containers_have_stopped(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        cluster.containers.may_stop.clear()
        await cluster.delete(PODS, "web", grace=0)
        assert await cluster.find(PODS, "web") is None
        assert cluster.did("tear_down") == []
        cluster.containers.may_stop.set()
        await cluster.settle()
        assert len(cluster.did("tear_down")) == 1
        assert cluster.backend.there == {}


async def test_the_object_of_a_pod_goes_last(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        cluster.backend.script("tear_down", Outcome.FINAL)
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is not None
        await cluster.passes(1)
        assert await cluster.find(PODS, "web") is None


async def test_a_mount_that_is_under_way_ends_before_it_is_undone(cluster: Cluster) -> None:
    cluster.backend.script("set_up", Outcome.HANG)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        uid = await cluster.uid()
        await cluster.delete(PODS, "web")
        assert cluster.did() == [f"set_up tmp {uid}"]
        assert cluster.layout.pod(uid).exists()
        assert await cluster.find(PODS, "web") is not None
        cluster.backend.release()
        await cluster.settle()
        assert cluster.did() == [f"set_up tmp {uid}", f"tear_down tmp {uid}"]
        assert await cluster.find(PODS, "web") is None
        assert cluster.containers.started == []


async def test_a_pod_that_ends_before_its_mount_began_never_gets_it(cluster: Cluster) -> None:
    """Upstream keeps the wish, mounts, and unmounts again."""
    await cluster.bound(csi={"driver": "d", "volumeHandle": "h"}, hostPath=None)
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        assert node.volumes.in_use() == ("example.com/cloud/disk",)
        await cluster.delete(PODS, "web")
        assert node.volumes.in_use() == ()
        assert await cluster.find(PODS, "web") is None
        await cluster.attach("disk")
        assert cluster.did() == []


async def test_others_may_hold_a_pod_that_is_gone_from_the_node(cluster: Cluster) -> None:
    async with cluster.node() as node:
        doc = a_pod("web", scratch())
        doc["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(PODS, doc)
        await cluster.delete(PODS, "web")
        assert cluster.backend.there == {}
        before = node.client.left
        await cluster.passes(30)
        assert node.client.left == before
        await cluster.patch(PODS, "web", {"metadata": {"finalizers": None}})
        assert await cluster.find(PODS, "web") is None


async def test_a_deletion_that_the_api_does_not_take_is_tried_again(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        cluster.refusals += [ConnectionLost("away"), ServerTimeout("slow")]
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is not None
        await cluster.passes(2)
        assert await cluster.find(PODS, "web") is None


async def test_a_node_that_dies_before_the_last_word_says_it_after_a_restart(
    cluster: Cluster,
) -> None:
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", scratch()))
        node.client.left = 0
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is not None
    async with cluster.node():
        assert await cluster.find(PODS, "web") is None
        assert len(cluster.did("set_up")) == 1


async def test_a_directory_that_cannot_be_made_is_told_and_tried_again(cluster: Cluster) -> None:
    cluster.layout.root.mkdir(parents=True)
    cluster.layout.pods.touch()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        told = await cluster.said("FailedToMakePodDataDirectories")
        assert told[0][2].startswith("error making pod data directories: mkdir ")
        assert cluster.containers.started == []
        cluster.layout.pods.unlink()
        await cluster.passes(15)
        assert cluster.containers.started == [("web", ("tmp",))]


async def test_what_others_left_in_a_pods_directory_does_not_keep_the_pod(
    cluster: Cluster,
) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        uid = await cluster.uid()
        left = cluster.layout.volumes(uid) / "other~plugin" / "v" / "file"
        left.parent.mkdir(parents=True)
        left.touch()
        await cluster.delete(PODS, "web")
        assert await cluster.find(PODS, "web") is None
        assert left.exists()


async def test_many_pods_come_and_go_side_by_side(cluster: Cluster) -> None:
    async with cluster.node():
        for number in range(30):
            await cluster.create(PODS, a_pod(f"web-{number}", scratch("a"), scratch("b")))
        assert len(cluster.backend.there) == 60
        for number in range(30):
            await cluster.delete(PODS, f"web-{number}")
        assert cluster.backend.there == {}
        assert list(cluster.layout.pods.iterdir()) == []
