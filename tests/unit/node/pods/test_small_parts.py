"""Small parts: durations, references to images, nodes without a runtime, time that is left."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import NotFound
from mooring.model.keys import Key
from mooring.model.pod_volume import ImageSource
from mooring.model.secret import Secret
from mooring.node.actual import PodMount
from mooring.node.mount_list import ContainerMount
from mooring.node.pods.events import PodEvents
from mooring.node.pods.grace import Grace
from mooring.node.pods.image_volumes import ImageVolumes
from mooring.node.pods.images import find_image, never_pulled, not_pulled_here
from mooring.node.pods.no_runtime import WithoutRuntime
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.pod_images import PodImages, go_duration
from mooring.node.pods.pull_secrets import PullSecrets
from mooring.node.pods.start_backoff import duration
from mooring.node.pods.waiting_reason import CannotStart
from mooring.oci.contract import StoredImage
from mooring.plugins.layout import Layout
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.mounts import FakeMounts
from tests.unit.node.effects.world import FakeRecorder
from tests.unit.node.pods.things import MAIN, a_pod, an_image


class OneImage:
    def __init__(self, image: StoredImage) -> None:
        self.image = image

    def find(self, reference: str) -> StoredImage | None:
        return self.image if reference == "tool" else None

    def list(self) -> tuple[StoredImage, ...]:
        return (self.image,)


class NoSecrets:
    async def secret(self, key: Key) -> Secret:
        raise NotFound(f'secrets "{key.name}" not found')


class NoVolumes:
    def reach(self) -> Mapping[str, PodMount]:
        return {}

    def groups(self) -> tuple[int, ...]:
        return ()


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")]
)
def test_durations_as_people_know_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.5321, "532ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (10.25, "10.25s"),
        (62.5, "1m2.5s"),
        (120.001, "2m0.001s"),
        (3600, "1h0m0s"),
    ],
)
def test_durations_of_pulls_as_go_writes_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


@pytest.mark.parametrize("reference", ["Tool", "tool:", "a b", "-x", "tool@sha256:12", ""])
def test_no_image_can_be_called_that(reference: str) -> None:
    with pytest.raises(CannotStart) as raised:
        find_image(OneImage(an_image()), reference)
    assert raised.value.reason == "InvalidImageName"
    assert f'couldn\'t parse image name "{reference}"' in str(raised.value)


def test_an_image_that_is_not_here_names_the_remedy() -> None:
    assert find_image(OneImage(an_image()), "tool") == an_image()
    assert find_image(OneImage(an_image()), "other") is None
    assert never_pulled("other").reason == "ErrImageNeverPull"
    for missing in (str(never_pulled("other")), not_pulled_here("other")):
        assert "`mooring image import other FILE`" in missing


async def test_without_a_runtime_a_pod_is_told_once() -> None:
    clock = VirtualClock()
    recorder = FakeRecorder(FakeClient(FakeServer(clock), clock), clock)
    nobody = WithoutRuntime("install runc and conmon", recorder)
    for _ in range(2):
        await nobody.start(a_pod(), NoVolumes())
    (told,) = recorder.told
    assert (told.type, told.reason) == ("Warning", "FailedCreatePodSandBox")
    assert told.message == "Failed to create pod sandbox: install runc and conmon"
    await nobody.stop(a_pod())
    assert nobody.are_gone("p1")


async def test_an_image_of_several_layers_is_put_together(tmp_path: Path) -> None:
    mounts, paths = FakeMounts(), PodPaths(Layout(tmp_path))
    layers = (tmp_path / "top", tmp_path / "bottom")
    for layer in layers:
        layer.mkdir()
    clock = VirtualClock()
    events = PodEvents(FakeRecorder(FakeClient(FakeServer(clock), clock), clock))
    found = OneImage(replace(an_image(), layers=layers))
    secrets = PullSecrets(NoSecrets(), events)
    images = PodImages(found, None, secrets, events, clock, host_rootfs=False)
    volumes = ImageVolumes(paths, mounts, images)
    mount = ContainerMount("code", "/code", None, image=ImageSource("tool"))
    shown = {await volumes.show(a_pod(), MAIN, mount, index) for index in (0, 1)}
    assert shown == {*mounts.mounted()} == {paths.image_volumes("p1") / "code"}
    access, layering = mounts.calls[0].options
    assert access == "ro"
    assert re.fullmatch(r"lowerdir=/proc/self/fd/\d+:/proc/self/fd/\d+", layering)
    await volumes.take_away("p1")
    await volumes.take_away("p1")
    assert mounts.mounted() == ()
    assert not paths.image_volumes("p1").exists()


async def test_time_that_becomes_shorter() -> None:
    clock = VirtualClock()
    grace = Grace(clock, 30)
    waiting = asyncio.create_task(grace.until(lambda: False))
    await clock.advance(5)
    grace.shorten(100)
    grace.shorten(3)
    await clock.advance(2)
    assert not waiting.done()
    await clock.advance(1)
    assert await waiting is False


async def test_what_is_waited_for_comes_in_time() -> None:
    grace, found = Grace(VirtualClock(), 30), list[int]()
    waiting = asyncio.create_task(grace.until(lambda: bool(found)))
    await settle()
    found.append(1)
    grace.stir()
    assert await waiting is True
