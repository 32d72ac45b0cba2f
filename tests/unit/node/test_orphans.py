"""What pods have left that nobody knows any more. With real mounts: tests/host."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.node.context import NodeContext
from mooring.node.orphans import SWEEP_SECONDS, Orphans, Swept
from mooring.node.reconstruct import Reconstructed, reconstruct
from mooring.plugins.layout import Layout
from mooring.plugins.registry import Registry
from tests.fakes.clock import settle
from tests.fakes.plugins import FakeDisk, FakePlugin, Outcome
from tests.unit.node.effects.world import NodeWorld, a_use

NOTHING = Reconstructed(frozenset(), ())
PLUGIN = "example.com/files"


class Node:
    """A `Volumes` around a played node: who is told to go on is asked by the test."""

    def __init__(self, root: Path) -> None:
        self.world = NodeWorld(root, FakePlugin)
        self.context: NodeContext = self.world.context
        self.known: set[str] = set()
        self.wanted: set[str] = set()
        self.is_complete = True
        self._changed = asyncio.Event()
        self.layout.pods.mkdir(parents=True)

    @property
    def layout(self) -> Layout:
        return self.context.host.layout

    async def complete(self) -> None:
        await self._until(lambda: self.is_complete)

    async def let_go(self, pod_uid: str) -> None:
        await self._until(
            lambda: self.is_complete and pod_uid not in self.wanted and not self.has_traces(pod_uid)
        )

    def has_traces(self, pod_uid: str) -> bool:
        return any(True for _ in self.context.actual.of_pod(pod_uid))

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def changed(self) -> None:
        """Let what waits look again, and volumes be taken away."""
        self._changed.set()
        await settle()
        await quiet()
        if self.is_complete:
            await self.world.once()

    async def reach(self, condition: Callable[[], bool]) -> None:
        """Go on until it is so."""
        async with asyncio.timeout(20):
            while not condition():
                await self.changed()

    async def rest(self) -> None:
        """Go on for as long as anything could happen."""
        for _ in range(20):
            await self.changed()

    def orphans(self, reconstructed: Reconstructed = NOTHING) -> Orphans:
        return Orphans(self, reconstructed, self.known.__contains__)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.world:
            reconstructed = await reconstruct(self.context)
            task = asyncio.ensure_future(self.orphans(reconstructed).run())
            await self.rest()
            yield
            task.cancel()
            await asyncio.wait([task])

    def volume(self, uid: str = "p1", *inside: str) -> Path:
        path = self.layout.volume(uid, PLUGIN, "pv").joinpath(*inside)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def has_directory(self, uid: str = "p1") -> bool:
        return self.layout.pod(uid).exists()


async def quiet() -> None:
    """Let threads end."""
    await asyncio.to_thread(lambda: None)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def counted(context: NodeContext, prefix: str) -> dict[str, float]:
    return {
        sample.name.removeprefix(prefix): sample.value
        for family in context.metrics.collect()
        for sample in family.samples
        if sample.name.startswith(prefix)
    }


Arrange = Callable[[Node], object]


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(lambda node: node.volume(), id="an empty volume"),
        pytest.param(lambda node: node.volume("p1", "a", "b"), id="nested empty directories"),
        pytest.param(lambda node: node.layout.pod("p1").mkdir(), id="nothing at all"),
        pytest.param(
            lambda node: node.layout.subpath("p1", "pv", "main", 0).mkdir(parents=True),
            id="an empty place for a subPath",
        ),
        pytest.param(
            lambda node: (node.layout.pod("p1") / "containers/main/log").mkdir(parents=True),
            id="what containers have left",
        ),
    ],
)
async def test_a_directory_with_nothing_of_value_goes(node: Node, arrange: Arrange) -> None:
    arrange(node)
    assert await node.orphans().sweep() == Swept(("p1",), ())
    assert not node.has_directory()
    assert counted(node.context, "kubelet_orphan_pod_") == {
        "cleaned_volumes": 1,
        "cleaned_volumes_errors": 0,
    }


def put_file(node: Node) -> None:
    (node.volume() / "data").write_text("precious")


def put_file_beside_empty_directories(node: Node) -> None:
    (node.volume() / "data").touch()
    node.layout.volume("p1", PLUGIN, "pv2").mkdir()


def put_link(node: Node) -> None:
    (node.volume() / "data").symlink_to("/")


def put_file_at_subpath(node: Node) -> None:
    target = node.layout.subpath("p1", "pv", "main", 0)
    target.mkdir(parents=True)
    (target / "data").write_text("precious")


def mount(node: Node) -> None:
    node.context.host.mounts.mount("tmpfs", node.volume(), "tmpfs")


def mount_of_csi(node: Node) -> None:
    path = node.layout.volume("p1", "kubernetes.io/csi", "pv") / "mount"
    path.mkdir(parents=True)
    node.context.host.mounts.mount("tmpfs", path, "tmpfs")


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(put_file, id="a file in a volume"),
        pytest.param(put_file_beside_empty_directories, id="a file, and empty directories"),
        pytest.param(put_link, id="a link in a volume"),
        pytest.param(put_file_at_subpath, id="a file where a subPath was"),
        pytest.param(mount, id="a mount"),
        pytest.param(mount_of_csi, id="a mount of a CSI driver"),
    ],
)
async def test_what_may_be_of_value_stays(node: Node, arrange: Arrange) -> None:
    arrange(node)
    before = sorted(node.layout.pod("p1").rglob("*"))
    swept = await node.orphans().sweep()
    assert len(swept.errors) == 1
    assert swept.errors[0].startswith('orphaned pod "p1" found, but ')
    assert set(before) - set(node.layout.pod("p1").rglob("*")) <= {node.layout.volumes("p1")}
    assert counted(node.context, "kubelet_orphan_pod_")["cleaned_volumes_errors"] == 1


async def test_one_that_stays_keeps_no_other_back(node: Node) -> None:
    put_file(node)
    node.volume("p2")
    swept = await node.orphans().sweep()
    assert swept.orphans == ("p1", "p2")
    assert len(swept.errors) == 1
    assert not node.has_directory("p2")


async def test_without_a_directory_of_pods_a_sweep_is_an_error(node: Node) -> None:
    node.layout.pods.rmdir()
    with pytest.raises(HostError, match="no such file or directory"):
        await node.orphans().sweep()


async def test_a_pod_that_is_known_is_not_touched(node: Node) -> None:
    node.volume()
    node.known = {"p1"}
    assert await node.orphans().sweep() == Swept((), ())
    assert node.volume().exists()


async def test_what_is_no_directory_is_no_pod(node: Node) -> None:
    (node.layout.pods / "file").touch()
    (node.layout.pods / "link").symlink_to("/")
    assert await node.orphans().sweep() == Swept((), ())


async def test_a_volume_that_may_be_mounted_keeps_the_directory(node: Node) -> None:
    node.volume()
    await reconstruct(node.context)
    swept = await node.orphans().sweep()
    assert swept.errors == ('orphaned pod "p1" found, but its volumes are not cleaned up',)
    assert node.has_directory()


async def test_the_directory_goes_when_the_last_volume_has_gone(node: Node) -> None:
    node.volume()
    node.is_complete = False
    async with node.running():
        node.is_complete = True
        await node.reach(lambda: not node.has_directory())
        assert node.world.backend.calls == ["tear_down pv p1"]


async def test_a_later_sweep_finds_what_was_in_the_way(node: Node) -> None:
    path = node.layout.pod("p1") / "volumes/file"
    path.parent.mkdir(parents=True)
    path.touch()
    async with node.running():
        assert node.has_directory()
        path.unlink()
        await node.world.clock.advance(SWEEP_SECONDS * 1.2)
        await node.reach(lambda: not node.has_directory())


class TestSenseless:
    """Volumes of unknown plugins cannot be reconstructed; they are tried often, unlike upstream."""

    def make_senseless(self, node: Node, uid: str = "p1") -> Path:
        path = node.layout.volume(uid, "example.com/late", "pv")
        path.mkdir(parents=True)
        return path

    def register(self, node: Node) -> FakePlugin:
        """The plugin is there after all."""
        late = FakeDisk(node.world.backend, node.layout, "example.com/late")
        registry = Registry((node.world.plugin, late))
        node.context.registry.find_by_name = registry.find_by_name  # type: ignore[method-assign]  # it came late
        return late

    async def test_not_wanted_it_is_tried_until_it_works(self, node: Node) -> None:
        self.make_senseless(node)
        async with node.running():
            assert counted(node.context, "force_cleaned_")["failed_volume_operations_total"] == 1
            self.register(node)
            await node.world.clock.advance(1)
            await node.reach(lambda: not node.has_directory())
            assert node.world.backend.calls == ["tear_down pv p1"]
            assert counted(node.context, "force_cleaned_") == {
                "failed_volume_operations_total": 2,
                "failed_volume_operation_errors_total": 1,
            }

    async def test_nothing_before_the_pictures_are_complete(self, node: Node) -> None:
        self.make_senseless(node)
        node.is_complete = False
        async with node.running():
            self.register(node)
            await node.world.clock.advance(1000)
            await node.rest()
            assert node.world.backend.calls == []

    async def test_wanted_it_is_left_to_its_pod(self, node: Node) -> None:
        path = self.make_senseless(node)
        node.known, node.wanted = {"p1"}, {"p1"}
        async with node.running():
            self.register(node)
            await node.world.clock.advance(1000)
            await node.rest()
            assert node.world.backend.calls == []
            node.wanted = set()
            await node.reach(lambda: node.world.backend.calls == ["tear_down pv p1"])
            assert path.exists()  # the plugin is played; and the pod is known

    async def test_set_up_anew_it_has_been_taken_away_by_its_pod(self, node: Node) -> None:
        path = self.make_senseless(node)
        node.wanted = {"p1"}
        async with node.running():
            self.register(node)
            path.rmdir()
            node.wanted = set()
            await node.reach(lambda: not node.has_directory())
            assert node.world.backend.calls == []
            assert counted(node.context, "force_cleaned_")["failed_volume_operations_total"] == 0

    async def test_a_tear_down_that_fails_is_tried_again(self, node: Node) -> None:
        self.make_senseless(node)
        node.world.backend.script("tear_down", Outcome.FINAL)
        async with node.running():
            self.register(node)
            await node.world.clock.advance(1)
            await node.reach(lambda: bool(node.world.backend.calls))
            assert node.has_directory()
            await node.world.settle()
            await node.reach(lambda: not node.has_directory())
            assert node.world.backend.calls == ["tear_down pv p1"] * 2

    async def test_parts_of_a_volume_without_a_directory_go(self, node: Node) -> None:
        target = node.layout.subpath("p1", "host", "main", 0)
        target.mkdir(parents=True)
        node.context.host.mounts.bind(node.layout.pods, target)
        async with node.running():
            await node.reach(lambda: not node.has_directory())
            assert not node.world.mounts.mounted()

    async def test_the_same_volume_in_use_by_another_pod_is_not_disturbed(self, node: Node) -> None:
        self.make_senseless(node)
        async with node.running():
            node.world.want("p2", a_use())
            self.register(node)
            await node.world.clock.advance(1)
            await node.reach(lambda: not node.has_directory())
            assert node.world.backend.there == {("files", "pv", "p2"): True}
