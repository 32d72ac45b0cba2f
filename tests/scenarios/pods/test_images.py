"""Images that are here, and images that are not."""

from pathlib import Path

import msgspec
import pytest

from tests.fakes.objects import PODS
from tests.scenarios.pods.cluster import BUSYBOX, Cluster, a_container, a_pod


async def test_an_image_that_is_not_here_is_waited_for(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image="tool:2")))
        waiting = (await cluster.container())["state"]["waiting"]
        remedy = (
            'image "tool:2" is not on this machine, and this node pulls none (--no-pull-images): '
            "add it with `mooring image import tool:2 FILE`, and the --data-dir or --root-dir that "
            "this node runs with"
        )
        assert waiting == {"reason": "ErrImagePull", "message": remedy}
        await cluster.passes(1)
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {
            "reason": "ImagePullBackOff",
            "message": f'Back-off pulling image "tool:2": ErrImagePull: {remedy}',
        }
        assert await cluster.events() == [
            f'Failed: Failed to pull image "tool:2": {remedy}',
            "Failed: Error: ErrImagePull",
            'BackOff: Back-off pulling image "tool:2"',
            "Failed: Error: ImagePullBackOff",
        ]
        cluster.images.there["tool:2"] = BUSYBOX
        await cluster.passes(10)
        assert cluster.runtime.running() == ["main"]


async def test_whoever_waits_for_an_image_is_told_that_there_are_others(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image="tool:2")))
        await cluster.passes(1)
        cluster.images.there["tool:2"] = BUSYBOX
        cluster.pods.images_changed()
        await cluster.settle()
        assert cluster.runtime.running() == ["main"]


@pytest.mark.parametrize("wrong", ["tool:2", "TOOL:2"], ids=["not here", "no name of an image"])
async def test_a_corrected_image_is_not_kept_waiting_by_the_one_before(
    cluster: Cluster, wrong: str
) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=wrong)))
        await cluster.passes(1)
        assert "waiting" in (await cluster.container())["state"]
        right = [a_container(image="busybox:1")]
        await cluster.patch(PODS, "web", {"spec": {"containers": right}})
        assert cluster.runtime.running() == ["main"]


async def test_another_change_does_not_end_the_wait_for_an_image(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image="tool:2")))
        await cluster.passes(1)
        told = await cluster.events()
        await cluster.patch(PODS, "web", {"spec": {"activeDeadlineSeconds": 600}})
        assert await cluster.events() == told


async def test_an_image_that_may_not_be_pulled(cluster: Cluster) -> None:
    container = a_container(image="tool:2", imagePullPolicy="Never")
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting["reason"] == "ErrImageNeverPull"
        assert "mooring image import" in waiting["message"]


async def test_no_image_can_be_called_that(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image="TOOL")))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting["reason"] == "InvalidImageName"


async def test_the_hosts_root_instead_of_an_image(cluster: Cluster) -> None:
    cluster.host_rootfs()
    containers = (a_container("one", image="tool:2"), {"name": "two", "image": "other"})
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", *containers))
        assert sorted(cluster.runtime.running()) == ["one", "two"]
        assert cluster.spec("one").image is None
        assert cluster.spec("one").args == ("run", "one")
        assert cluster.spec("two").args[0] == "/bin/sh"
        told = await cluster.events("HostRootFilesystem")
        assert told == [
            'HostRootFilesystem: Image "tool:2" is not on this machine: the container runs on a '
            "private overlay of the host's root file system"
        ]


async def test_an_image_as_a_volume(cluster: Cluster, tmp_path: Path) -> None:
    volume = {"name": "code", "image": {"reference": "busybox:1"}}
    container = a_container(volumeMounts=[{"name": "code", "mountPath": "/code"}])
    layer = tmp_path / "layer"
    layer.mkdir()
    cluster.images.there["busybox:1"] = msgspec.structs.replace(BUSYBOX, layers=(layer,))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", container, volumes=[volume]))
        uid = await cluster.uid()
        shown = [bind for bind in cluster.spec().binds if bind.target == "/code"]
        place = cluster.layout.pod(uid) / "image-volumes" / "code"
        assert [(bind.source, bind.read_only) for bind in shown] == [(place, True)]
        assert cluster.mounts.is_mount_point(place)
        await cluster.delete(PODS, "web")
        assert not cluster.mounts.mounted()
        assert await cluster.find(PODS, "web") is None
