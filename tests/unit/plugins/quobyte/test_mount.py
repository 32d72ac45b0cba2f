"""quobyte on played mounts: one mount of the registry, and a part of it for each pod."""

from pathlib import Path

import pytest

from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.removed_source import QuobyteSource
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.quobyte.mount import NAME, Quobyte, decide_part
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.world import POD_UID, a_host, a_pod, a_request, inline

OTHER_UID = "1c5d3a0e-0000-4000-8000-000000000002"


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts) -> Host:
    host = a_host(tmp_path, mounts)
    (tmp_path / "mount.quobyte").touch()
    for seen in ("root#nfsnobody@web", "me#us@web"):
        (shared(host) / seen).mkdir(parents=True)
    return host


@pytest.fixture
def plugin(host: Host, tmp_path: Path) -> Quobyte:
    return Quobyte(host, tmp_path / "mount.quobyte")


def shared(host: Host) -> Path:
    return host.layout.plugin(NAME) / "registry"


def in_pod(registry: str = "r1:7861,r2:7861", volume: str = "web", **fields: object) -> VolumeUse:
    source = QuobyteSource(registry, volume, **fields)  # type: ignore[arg-type]
    return inline(PodVolume(name="data", quobyte=source))


def claimed(*options: str, read_only: bool = False) -> VolumeUse:
    spec = VolumeSpec(quobyte=QuobyteSource("r1:7861", "web"), mount_options=options)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv1"), spec=spec), read_only=read_only)


@pytest.mark.parametrize(
    ("use", "element", "options"),
    [
        pytest.param(in_pod(), "root#nfsnobody@web", (), id="defaults"),
        pytest.param(
            in_pod(user="me", group="us", read_only=True), "me#us@web", ("ro",), id="as somebody"
        ),
        pytest.param(
            claimed("noexec", read_only=True),
            "root#nfsnobody@web",
            ("noexec", "ro"),
            id="read-only by the claim, with an option",
        ),
    ],
)
def test_what_a_pod_sees(use: VolumeUse, element: str, options: tuple[str, ...]) -> None:
    part = decide_part(use)
    assert (part.element, part.options) == (element, options)


async def test_the_registry_is_mounted_once_and_goes_with_the_last_pod(
    host: Host, mounts: FakeMounts, plugin: Quobyte
) -> None:
    await plugin.mounter(in_pod(), a_pod()).set_up(a_request())
    await plugin.mounter(in_pod(user="me", group="us"), a_pod(uid=OTHER_UID)).set_up(a_request())
    first, second = (host.layout.volume(uid, NAME, "data") for uid in (POD_UID, OTHER_UID))
    mapping = ("allow-usermapping-in-volumename",)
    assert mounts.calls == [
        MountCall("mount", shared(host), "r1:7861,r2:7861/", "quobyte", mapping),
        MountCall("bind", first, str(shared(host) / "root#nfsnobody@web")),
        MountCall("bind", second, str(shared(host) / "me#us@web")),
    ]
    await plugin.unmounter("data", POD_UID).tear_down()
    assert mounts.mounted() == (shared(host), second)
    await plugin.unmounter("data", OTHER_UID).tear_down()
    assert mounts.mounted() == ()


async def test_another_registry_is_refused_while_one_is_mounted(plugin: Quobyte) -> None:
    await plugin.mounter(in_pod("r1"), a_pod()).set_up(a_request())
    with pytest.raises(VolumeError) as refused:
        await plugin.mounter(in_pod("r2"), a_pod(uid=OTHER_UID)).set_up(a_request())
    assert str(refused.value) == "this node has r1/ mounted, and takes no other yet"


async def test_a_node_without_the_client_says_so(host: Host, mounts: FakeMounts) -> None:
    plugin = Quobyte(host, Path("/nowhere/mount.quobyte"))
    with pytest.raises(NotStarted) as refused:
        await plugin.mounter(in_pod(), a_pod()).set_up(a_request())
    assert str(refused.value) == (
        "quobyte volumes need Quobyte's client: there is no /nowhere/mount.quobyte"
    )
    assert mounts.calls == []
    assert not host.layout.volume(POD_UID, NAME, "data").exists()


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (in_pod("-o"), "quobyte.registry '-o' must not begin with '-'"),
        (in_pod(volume="../x"), "quobyte.volume '../x' must not lead to another directory"),
        (in_pod(user="a/b"), "quobyte.user 'a/b' must not lead to another directory"),
        (in_pod(group="g@other"), "quobyte.group 'g@other' must not hold any of # @"),
        (
            claimed("enable-xattrs"),
            "mount option 'enable-xattrs' would be that of all volumes of the registry:"
            " leave it out",
        ),
    ],
)
def test_what_would_lead_elsewhere_is_refused(plugin: Quobyte, use: VolumeUse, text: str) -> None:
    with pytest.raises(VolumeError) as refused:
        plugin.mounter(use, a_pod())
    assert str(refused.value) == text
