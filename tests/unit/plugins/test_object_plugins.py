"""What configMap, secret, downwardAPI and projected have in common, and where they differ."""

from collections.abc import Callable

import msgspec
import pytest

from mooring.model.pod_volume import (
    ConfigMapSource,
    DownwardSource,
    EmptyDirSource,
    PodVolume,
    ProjectedSource,
    SecretSource,
)
from mooring.model.volume_use import VolumeUse
from mooring.plugins.config_map import ConfigMapPlugin
from mooring.plugins.contract import Attributes, Plugin, VolumeError
from mooring.plugins.downward_api import DownwardApiPlugin
from mooring.plugins.medium import InMemory, Swap, swap_rule_here, tmpfs_options
from mooring.plugins.payload import Incomplete
from mooring.plugins.projected import ProjectedPlugin
from mooring.plugins.registry import built_in
from mooring.plugins.secret import SecretPlugin
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.objects import (
    ALL_SOURCES,
    LABELS_FILE,
    a_config_map_use,
    a_downward_use,
    a_projected_use,
    a_secret_use,
)
from tests.unit.plugins.world import POD_UID, a_container, a_pod, a_request, inline


class Kind(msgspec.Struct, frozen=True):
    """One of the four, and what sets it apart."""

    plugin: Callable[[Host], Plugin]
    use: VolumeUse
    modeless: VolumeUse
    name: str
    volume_name: str
    rebuilt: PodVolume
    mismatch: str
    in_memory: bool


KINDS = {
    "configMap": Kind(
        ConfigMapPlugin,
        a_config_map_use(),
        a_config_map_use(mode=None),
        "kubernetes.io/configmap",
        "files/settings",
        PodVolume(name="v", config_map=ConfigMapSource()),
        "Spec does not reference a ConfigMap volume type",
        in_memory=False,
    ),
    "secret": Kind(
        SecretPlugin,
        a_secret_use(),
        a_secret_use(mode=None),
        "kubernetes.io/secret",
        "login",
        PodVolume(name="v", secret=SecretSource("v")),
        "Spec does not reference a Secret volume type",
        in_memory=True,
    ),
    "downwardAPI": Kind(
        DownwardApiPlugin,
        a_downward_use(LABELS_FILE),
        a_downward_use(LABELS_FILE, mode=None),
        "kubernetes.io/downward-api",
        "files",
        PodVolume(name="v", downward_api=DownwardSource()),
        "Spec does not reference a DownwardAPI volume type",
        in_memory=True,
    ),
    "projected": Kind(
        ProjectedPlugin,
        a_projected_use(ALL_SOURCES),
        a_projected_use(ALL_SOURCES, mode=None),
        "kubernetes.io/projected",
        "files",
        PodVolume(name="v", projected=ProjectedSource()),
        "spec does not reference a projected volume type",
        in_memory=True,
    ),
}
OTHER = inline(PodVolume(name="cache", empty_dir=EmptyDirSource()))

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])


@each_kind
def test_the_registry_finds_it(host: Host, kind: Kind) -> None:
    registry = built_in(host)
    assert registry.find(kind.use).name == kind.name
    assert registry.find_by_name(kind.name).supports(kind.use)


@each_kind
def test_what_it_says_of_itself(host: Host, kind: Kind) -> None:
    plugin = kind.plugin(host)
    assert plugin.name == kind.name
    assert plugin.volume_name(kind.use) == kind.volume_name
    assert plugin.wants_remount(kind.use)
    assert not plugin.takes_mount_options
    assert not plugin.supports(OTHER)


@each_kind
def test_where_it_is_and_that_nobody_writes_to_it(host: Host, kind: Kind) -> None:
    plugin = kind.plugin(host)
    mounter = plugin.mounter(kind.use, a_pod())
    place = kind.name.replace("/", "~")
    assert mounter.path == host.layout.pod(POD_UID) / "volumes" / place / "files"
    assert plugin.unmounter("files", POD_UID).path == mounter.path
    assert mounter.attributes == Attributes(read_only=True, is_managed=True, wants_relabel=True)


@each_kind
def test_what_a_restart_makes_of_it(host: Host, kind: Kind) -> None:
    assert kind.plugin(host).rebuild("v", POD_UID) == VolumeUse(inline=kind.rebuilt)


@each_kind
def test_another_volume_is_refused(host: Host, kind: Kind) -> None:
    plugin = kind.plugin(host)
    for refusing in (plugin.volume_name, lambda use: plugin.mounter(use, a_pod())):
        with pytest.raises(VolumeError) as refused:
            refusing(OTHER)
        assert str(refused.value) == kind.mismatch


@each_kind
async def test_only_config_maps_are_on_disk(host: Host, mounts: FakeMounts, kind: Kind) -> None:
    pod = a_pod(a_container(limits={"memory": "64Mi"}))
    mounter = kind.plugin(host).mounter(kind.use, pod)
    await mounter.set_up(a_request())
    medium = InMemory(64 << 20)
    options = tmpfs_options(medium, noswap=swap_rule_here() is not Swap.MAY_GO_OUT)
    mounted = MountCall("mount", mounter.path, "tmpfs", "tmpfs", options)
    assert mounts.calls == ([mounted] if kind.in_memory else [])


@each_kind
async def test_its_room_is_marked_as_an_empty_dir_that_it_wraps(host: Host, kind: Kind) -> None:
    await kind.plugin(host).mounter(kind.use, a_pod()).set_up(a_request())
    marks = host.layout.pod(POD_UID) / "plugins" / "kubernetes.io~empty-dir" / "wrapped_files"
    assert (marks / "ready").is_file()


@each_kind
async def test_without_a_default_mode_nothing_is_touched(host: Host, kind: Kind) -> None:
    with pytest.raises(Incomplete) as refused:
        await kind.plugin(host).mounter(kind.modeless, a_pod()).set_up(a_request())
    assert str(refused.value) == "no defaultMode used, not even the default value for it"
    assert not host.layout.root.exists()
