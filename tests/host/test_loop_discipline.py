"""No call to a file system is made on the event loop, whatever a pod's volume is."""

from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from tests.fakes.loop_discipline import calls_on_the_loop
from tests.host.conftest import NeedsTool
from tests.host.containers import World
from tests.host.disks import Disks
from tests.host.node_life import Kind, Life, Scene
from tests.host.pods import PodNode


@pytest.fixture
def scene(request: pytest.FixtureRequest, place: Path, disks: Disks) -> Scene:
    kind = request.param
    if kind is Kind.DIRECTORY:
        (place / "source").mkdir()
        return Scene(str(place), kind, str(place / "source"))
    if kind in (Kind.DEVICE, Kind.BLOCK):
        return Scene(str(place), kind, str(disks.empty()))
    return Scene(str(place), kind)


@pytest.mark.parametrize("scene", list(Kind), ids=lambda kind: kind.value, indirect=True)
async def test_a_volume_comes_is_measured_and_goes_without_a_call_on_the_loop(
    scene: Scene,
    mounts: Mounts,
    needs_tool: NeedsTool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_tool("mkfs.ext4")
    life = Life(scene, mounts)
    with calls_on_the_loop(monkeypatch) as caught:
        async with life.running(has_pod=True):
            await life.bring()
            for mount in life.volumes.reach(life.pod.uid).values():
                assert mount.reach is not None
                await mount.reach.usage()
        again = Life(scene, mounts)
        async with again.running(has_pod=True):
            await again.bring()
            await again.volumes.context.host.objects.forget_tokens(again.pod.uid)
            again.volumes.release(again.pod.uid)
            await again.volumes.gone(again.pod.uid)
            await again.directories.remove(again.pod.uid)
    assert caught == []


async def test_a_container_comes_and_goes_without_a_call_on_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = PodNode(world)
    with calls_on_the_loop(monkeypatch) as caught:
        async with node.running():
            node.create("exit 0", restartPolicy="Never")
            await node.reaches("Succeeded")
            node.delete()
            await node.is_gone()
    assert caught == []
