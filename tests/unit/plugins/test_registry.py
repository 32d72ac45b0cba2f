"""Finding the plugin of a volume: one, none, or too many."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import convert

from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource, ImageSource, PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_source import HostPathSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    DeviceMounter,
    DeviceUnmounter,
    Mounter,
    Plugin,
    Unmounter,
    VolumeError,
)
from mooring.plugins.dead_product import REASONS
from mooring.plugins.image import Image
from mooring.plugins.local import NAME as LOCAL
from mooring.plugins.registry import (
    Found,
    Gone,
    NoPluginMatched,
    Probed,
    Registry,
    built_in,
)
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.every_plugin import every_plugin
from tests.unit.plugins.world import a_host, a_local_use, inline

EMPTY_DIR = inline(PodVolume(name="cache", empty_dir=EmptyDirSource()))
HOST_PATH = inline(PodVolume(name="logs", host_path=HostPathSource("/var/log")))
IMAGE = inline(PodVolume(name="model", image=ImageSource("m:1")))
NOBODYS = inline(PodVolume(name="old", vsphere_volume={"volumePath": "v"}))


class Named:
    """A plugin with a name, for all images and nothing else."""

    takes_mount_options = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._image = Image()

    def supports(self, use: VolumeUse) -> bool:
        return self._image.supports(use)

    def volume_name(self, use: VolumeUse) -> str:
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> Mounter:
        return self._image.mounter(use, pod)

    def unmounter(self, name: str, pod_uid: str) -> Unmounter:
        return self._image.unmounter(name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return self._image.rebuild(name, pod_uid)


class NotThisDevice(Named):
    """Could mount devices, but not those it is asked about."""

    def can_mount_device(self, use: VolumeUse) -> bool:
        return False

    def device_mounter(self) -> DeviceMounter:
        raise NotImplementedError

    def device_unmounter(self) -> DeviceUnmounter:
        raise NotImplementedError


class Scripted:
    """A prober that tells what it was given, once."""

    def __init__(self, *probes: Probed) -> None:
        self._probes = list(probes)

    def probe(self) -> Probed:
        return self._probes.pop(0) if self._probes else Probed()


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return built_in(a_host(tmp_path, FakeMounts()))


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (EMPTY_DIR, "kubernetes.io/empty-dir"),
        (HOST_PATH, "kubernetes.io/host-path"),
        (IMAGE, "kubernetes.io/image"),
        (a_local_use("/disk"), "kubernetes.io/local-volume"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_volume_has_one_plugin(registry: Registry, use: VolumeUse, name: str) -> None:
    assert registry.find(use).name == name
    assert registry.find_by_name(name).name == name


@pytest.mark.parametrize("name", sorted(every_plugin()))
def test_every_plugin_is_built_in(registry: Registry, name: str) -> None:
    assert registry.find_by_name(name).name == name


REFUSALS: dict[str, tuple[Callable[[Registry], object], str]] = {
    "a volume that nobody serves": (lambda it: it.find(NOBODYS), "no volume plugin matched"),
    "a use that is no volume at all": (
        lambda it: it.find(VolumeUse()),
        "could not find plugin because volume spec is nil",
    ),
    "a name that nobody has": (
        lambda it: it.find_by_name("example.com/x"),
        "no volume plugin matched name: example.com/x",
    ),
    "a persistent plugin for a volume that is not": (
        lambda it: it.get_persistent(EMPTY_DIR),
        "no persistent volume plugin matched",
    ),
}


@pytest.mark.parametrize(("ask", "text"), REFUSALS.values(), ids=[*REFUSALS])
def test_what_cannot_be_found_is_told(
    registry: Registry, ask: Callable[[Registry], object], text: str
) -> None:
    with pytest.raises(VolumeError) as refused:
        ask(registry)
    assert str(refused.value) == text


def test_two_plugins_for_one_volume_are_an_error_that_names_both() -> None:
    registry = Registry([Image(), Named("example.com/other")])
    with pytest.raises(VolumeError) as refused:
        registry.find(IMAGE)
    assert str(refused.value) == (
        "multiple volume plugins matched: kubernetes.io/image,example.com/other"
    )
    assert not isinstance(refused.value, NoPluginMatched)


@pytest.mark.parametrize(
    ("plugins", "errors"),
    [
        (
            [Image(), Named("kubernetes.io/image")],
            ('volume plugin "kubernetes.io/image" was registered more than once',),
        ),
        (
            [Named("a/b/c"), Image()],
            ('volume plugin has invalid name: "a/b/c": a valid label key must consist of',),
        ),
        ([Image()], ()),
    ],
    ids=["a second of the same name", "an unqualified name", "all is well"],
)
def test_a_plugin_that_cannot_be_registered_does_not_stop_the_others(
    plugins: Sequence[Plugin], errors: tuple[str, ...]
) -> None:
    registry = Registry(plugins)
    assert len(registry.errors) == len(errors)
    for told, start in zip(registry.errors, errors, strict=True):
        assert told.startswith(start)
    assert registry.find(IMAGE).name == "kubernetes.io/image"


def test_capabilities_that_a_plugin_lacks_are_none(registry: Registry) -> None:
    assert registry.find_attachable(EMPTY_DIR) is None
    assert registry.find_device_mountable(EMPTY_DIR) is None
    assert registry.find_block(EMPTY_DIR) is None
    assert registry.find_expandable(EMPTY_DIR) is None
    assert registry.find_node_expandable(EMPTY_DIR) is None


def test_capabilities_of_local_volumes(registry: Registry) -> None:
    use = a_local_use("/disk")
    plugin: object = registry.find(use)
    assert registry.find_attachable(use) is None
    assert registry.find_attachable_by_name(LOCAL) is None
    found: list[object] = [
        registry.find_device_mountable(use),
        registry.find_device_mountable_by_name(LOCAL),
        registry.find_block(use),
        registry.find_block_by_name(LOCAL),
        registry.find_node_expandable(use),
    ]
    assert all(each is plugin for each in found)
    assert registry.find_expandable(use) is None
    assert registry.get_persistent(use).access_modes == (AccessMode.ONCE,)


def test_a_volume_without_a_plugin_is_not_expandable_and_no_error(registry: Registry) -> None:
    assert registry.find_expandable(NOBODYS) is None


def test_by_use_a_plugin_may_decline_to_mount_the_device_by_name_it_is_not_asked() -> None:
    plugin = NotThisDevice("example.com/x")
    registry = Registry([plugin])
    assert registry.find_device_mountable(IMAGE) is None
    assert registry.find_device_mountable_by_name("example.com/x") is plugin


def test_probed_plugins_come_and_go() -> None:
    came = Probed((Found(Named("example.com/x")),))
    registry = Registry([], Scripted(came, Probed(), Probed((Gone("example.com/x"),))))
    assert registry.find(IMAGE).name == "example.com/x"
    with pytest.raises(NoPluginMatched):
        registry.find(IMAGE)


def test_a_probed_plugin_is_taken_even_beside_an_error() -> None:
    registry = Registry([], Scripted(Probed((Found(Named("example.com/x")),), ("boom",))))
    assert registry.find_by_name("example.com/x").name == "example.com/x"


def test_a_probed_plugin_with_an_impossible_name_is_left_out() -> None:
    registry = Registry(
        [], Scripted(Probed((Found(Named("a/b/c")), Found(Named("example.com/x")))))
    )
    assert registry.find(IMAGE).name == "example.com/x"


def test_a_probed_plugin_under_the_name_of_a_built_in_one_is_an_error() -> None:
    taken = Probed((Found(Named("kubernetes.io/image")),))
    registry = Registry([Image()], Scripted(taken))
    with pytest.raises(VolumeError) as refused:
        registry.find_by_name("kubernetes.io/image")
    assert str(refused.value) == (
        "multiple volume plugins matched: kubernetes.io/image and kubernetes.io/image"
    )


@pytest.mark.parametrize("source", REASONS)
def test_a_volume_of_a_dead_product_is_refused_with_the_reason(tmp_path: Path, source: str) -> None:
    volume = convert({"name": "old", source: {}}, PodVolume)
    with pytest.raises(NoPluginMatched) as refused:
        built_in(a_host(tmp_path, FakeMounts())).find(inline(volume))
    assert str(refused.value) == f"no volume plugin matched: {REASONS[source]}"
