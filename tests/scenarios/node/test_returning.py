"""A node that comes back, beside the AttachDetach controller and the driver's attacher.

Whatever the node said before, and whatever is left on its disk: no volume is detached from it
while it is mounted there, and none is mounted that may be detached.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.csi.outcome import Code
from mooring.model.attachment import Attachment
from mooring.node.csi import volumes_of
from mooring.node.status.goodbye import say_goodbye
from mooring.plugins.csi.attachment_name import CsiName
from tests.fakes.api import ApiUnderTest
from tests.fakes.csi_played import Fault
from tests.fakes.objects import NODES, PODS, a_node
from tests.scenarios.attachment import cluster as attachment
from tests.scenarios.node.cluster import NODE, Cluster, a_pod, claimed
from tests.scenarios.node.csi_cluster import CsiCluster
from tests.unit.plugins.csi.world import DRIVER, HANDLE

UNIQUE = CsiName(DRIVER, HANDLE).unique
LONG = 60.0  # shorter than the wait for a node that is not ready


class Witness(attachment.Attacher):
    """Writes down which detached volumes were mounted then."""

    def __init__(self, volumes: attachment.Cluster, node: CsiCluster) -> None:
        super().__init__(volumes)
        self.torn: list[tuple[Path, ...]] = []
        self._node = node

    async def _detach(self, seen: Attachment, pair: tuple[str, str]) -> None:
        if mounted := self._node.mounts.mounted():
            self.torn.append(mounted)
        await super()._detach(seen, pair)


class ReturningCluster(CsiCluster):
    """`controller()` runs the control plane of attachments."""

    def __init__(self, api: ApiUnderTest, root: Path) -> None:
        super().__init__(api, root)
        self.reports_use, self.reports_status = False, True
        self._volumes = attachment.Cluster(api)
        self._volumes.handles["disk"] = HANDLE
        self.attacher = self._volumes.attacher = Witness(self._volumes, self)

    @asynccontextmanager
    async def controller(self) -> AsyncIterator[attachment.Running]:
        async with self._volumes.controller() as running:
            yield running
        assert self.attacher.torn == []
        assert self.attacher.worst <= 1

    async def in_use(self) -> list[str]:
        node = await self.find(NODES, NODE)
        assert node is not None
        return list(node["status"].get("volumesInUse") or ())

    async def is_attached(self) -> bool:
        return bool(await self._volumes.attachments())

    async def goes_down(self) -> None:
        """`mooring down` of a node that has stopped; the directories of its pods stay."""
        for place in reversed(self.mounts.mounted()):
            self.mounts.unmount(place)
        self.state.publishes.clear()
        self.state.stages.clear()
        self.containers.running.clear()
        client = LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS))
        await say_goodbye(client, self.clock, NODE)
        await self.settle()

    async def a_life(self) -> None:
        """The pod `web` has the volume, and its node stops."""
        await self.create(PODS, a_pod("web", claimed()))
        async with self.node():
            await self.passes(LONG)
            assert self.kept() == (1, 1)
            assert await self.in_use() == [UNIQUE]


@pytest.fixture
async def cluster(cluster: Cluster, api: ApiUnderTest, tmp_path: Path) -> ReturningCluster:
    made = ReturningCluster(api, tmp_path / "csi-node")
    await made.a_volume()
    return made


async def is_let_go(cluster: ReturningCluster, pod: str) -> None:
    """The pod ends, and its volume is detached; the driver takes its time."""
    later = Fault(Code.UNAVAILABLE)
    cluster.connection.fail("NodeUnpublishVolume", *[later] * 3)
    await cluster.delete(PODS, pod)
    await cluster.passes(LONG)
    assert cluster.kept() == (0, 0)
    assert not await cluster.is_attached()
    assert await cluster.in_use() == []


async def test_a_volume_of_which_traces_were_left_is_in_use_until_it_is_unmounted(
    cluster: ReturningCluster,
) -> None:
    """It left, its volume was detached, and a new pod brings it back to where its traces are."""
    async with cluster.controller():
        await cluster.a_life()
        await cluster.goes_down()
        await cluster.delete(PODS, "web", grace=0)  # as pods of an out-of-service node are
        await cluster.passes(LONG)
        assert not await cluster.is_attached()

        driver = cluster.drivers.get(DRIVER)
        cluster.drivers.drop(DRIVER)
        async with cluster.node() as node:  # its driver has not registered yet
            await cluster.passes(1)
            await cluster.create(PODS, a_pod("next", claimed()))
            await cluster.passes(1)
            cluster.drivers.put(driver)
            node.volumes.attached_changed(volumes_of(node.volumes.context, DRIVER))
            await cluster.passes(LONG)
            assert cluster.containers.started[-1] == ("next", ("data",))
            assert await cluster.in_use() == [UNIQUE]
            await is_let_go(cluster, "next")


async def test_what_a_node_has_mounted_is_in_use_though_its_new_node_object_lists_nothing(
    cluster: ReturningCluster,
) -> None:
    """The Node was deleted and made anew while the machine went on with its mounts."""
    async with cluster.controller():
        await cluster.a_life()
    await cluster.delete(NODES, NODE)
    await cluster.delete(PODS, "web", grace=0)
    await cluster.create(NODES, a_node(NODE))
    later = Fault(Code.UNAVAILABLE)
    cluster.connection.fail("NodeUnpublishVolume", *[later] * 3)
    async with cluster.node(), cluster.controller():
        await cluster.passes(LONG)
        assert cluster.kept() == (0, 0)
        assert not await cluster.is_attached()


async def test_nothing_is_mounted_on_the_word_of_traces_before_its_use_was_reported(
    cluster: ReturningCluster,
) -> None:
    """The controller has looked at `volumesInUse`, and is about to detach."""
    async with cluster.controller():
        await cluster.a_life()
        await cluster.goes_down()
        assert await cluster.is_attached()  # its pod has not been collected yet
        cluster.connection.requests.clear()
        cluster.reports_status = False
        async with cluster.node():
            await cluster.passes(LONG)
            assert cluster.kept() == (0, 0)
            assert "NodePublishVolume" not in cluster.connection.rpcs()
        cluster.reports_status = True
        async with cluster.node():
            await cluster.passes(LONG)
            assert cluster.kept() == (1, 1)
            await is_let_go(cluster, "web")


async def test_what_need_not_be_attached_is_not_in_use_once_its_driver_is_known(
    cluster: ReturningCluster,
) -> None:
    cluster.objects.define(attachRequired=False)
    await cluster.create(PODS, a_pod("web", claimed()))
    async with cluster.node():
        await cluster.passes(LONG)
        assert cluster.kept() == (1, 1)
        assert await cluster.in_use() == []
    cluster.objects.synced.clear()
    async with cluster.node() as node:
        await cluster.passes(1)
        assert await cluster.in_use() == [UNIQUE]  # it might have to be
        cluster.objects.synced.set()
        node.volumes.attachability_changed()
        await cluster.passes(1)
        assert await cluster.in_use() == []
        assert cluster.kept() == (1, 1)
