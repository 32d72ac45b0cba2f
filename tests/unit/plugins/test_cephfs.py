"""cephfs: recorded commands of ceph-fuse, and mounts of the kernel that are only played."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import CommandFailed, HostError
from mooring.host.command import Finished
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.reference import SecretReference
from mooring.model.removed_source import CephfsSource
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.cephfs import NAME, Cephfs
from mooring.plugins.contract import Attributes, NotStarted, VolumeError
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.objects import PlayedApi
from tests.unit.plugins.world import POD_UID, a_host, a_pod, a_request, inline

KEY = "AQBverysecret=="
BY_SECRET = SecretReference("ceph")
STARTED = "ceph-fuse[7]: starting ceph client\nceph-fuse[7]: starting fuse\n"


class CephFuse:
    """Remembers how it was called, and what was in the key file."""

    def __init__(self, output: str = STARTED, code: int = 0) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.keyrings: list[tuple[str, int]] = []
        self._output, self._code = output, code

    def __call__(self, *argv: str) -> Finished:
        self.calls.append(argv)
        file = Path(argv[2])
        if file.exists():
            self.keyrings.append((file.read_text(), file.stat().st_mode & 0o777))
        return Finished(argv, self._code, self._output)


class KernelMounts(FakeMounts):
    """Remembers what was in the file of `secretfile`."""

    secret = ""
    mode = 0

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        for option in options:
            if option.startswith("secretfile=") and Path(option[11:]).exists():
                file = Path(option[11:])
                self.secret, self.mode = file.read_text(), file.stat().st_mode & 0o777
        super().mount(source, target, fs_type, options, sensitive=sensitive)


@pytest.fixture
def mounts() -> KernelMounts:
    return KernelMounts()


@pytest.fixture
def api() -> PlayedApi:
    api = PlayedApi()
    api.secrets["ceph"] = {"key": f"{KEY}\n".encode()}
    return api


@pytest.fixture
def host(tmp_path: Path, mounts: KernelMounts, api: PlayedApi) -> Host:
    return replace(a_host(tmp_path, mounts), objects=api)


def in_pod(*monitors: str, **fields: object) -> VolumeUse:
    source = CephfsSource(monitors or ("10.0.0.1:6789", "10.0.0.2"), **fields)  # type: ignore[arg-type]
    return inline(PodVolume(name="data", cephfs=source))


def claimed(*options: str, read_only: bool = False, **fields: object) -> VolumeUse:
    source = CephfsSource(("10.0.0.1",), **fields)  # type: ignore[arg-type]
    spec = VolumeSpec(cephfs=source, mount_options=options)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv1"), spec=spec), read_only=read_only)


async def set_up(host: Host, use: VolumeUse, fuse: CephFuse | None = None) -> Path:
    plugin = Cephfs(host, fuse or CephFuse(), lambda: fuse is not None)
    mounter = plugin.mounter(use, a_pod())
    await mounter.set_up(a_request())
    return mounter.path


def key_directory(host: Host) -> Path:
    return host.layout.pod_plugin(POD_UID, NAME, "data")


@pytest.mark.parametrize(
    ("use", "source", "options"),
    [
        pytest.param(
            in_pod(),
            "10.0.0.1:6789,10.0.0.2:/",
            ("name=admin", "secretfile=/etc/ceph/admin.secret"),
            id="defaults",
        ),
        pytest.param(
            in_pod(path="a b;c", user="web", read_only=True),
            "10.0.0.1:6789,10.0.0.2:/a b;c",
            ("name=web", "ro", "secretfile=/etc/ceph/web.secret"),
            id="a path is data, a user has its own file",
        ),
        pytest.param(
            claimed("noatime", secret_file="/keys/one"),
            "10.0.0.1:/",
            ("name=admin", "noatime", "secretfile=/keys/one"),
            id="options and a file",
        ),
        pytest.param(
            claimed(read_only=True),
            "10.0.0.1:/",
            ("name=admin", "ro", "secretfile=/etc/ceph/admin.secret"),
            id="the claim is read-only",
        ),
    ],
)
async def test_what_the_kernel_mounts(
    host: Host, mounts: KernelMounts, use: VolumeUse, source: str, options: tuple[str, ...]
) -> None:
    target = await set_up(host, use)
    assert mounts.calls == [MountCall("mount", target, source, "ceph", options)]
    assert Cephfs(host).mounter(use, a_pod()).attributes == Attributes(read_only="ro" in options)


async def test_the_kernel_gets_the_key_in_a_file_that_is_gone_afterwards(
    host: Host, mounts: KernelMounts
) -> None:
    target = await set_up(host, in_pod(secret_ref=BY_SECRET))
    file = key_directory(host) / "secret"
    assert mounts.calls == [
        MountCall(
            "mount",
            target,
            "10.0.0.1:6789,10.0.0.2:/",
            "ceph",
            ("name=admin", f"secretfile={file}"),
        )
    ]
    assert (mounts.secret, mounts.mode) == (KEY, 0o600)
    assert not file.parent.exists()


async def test_what_ceph_fuse_is_asked(host: Host, mounts: KernelMounts) -> None:
    fuse = CephFuse()
    use = in_pod(secret_ref=BY_SECRET, path="web", user="u", read_only=True)
    target = await set_up(host, use, fuse)
    keyring = str(key_directory(host) / "keyring")
    where = ("-m", "10.0.0.1:6789,10.0.0.2", str(target), "-r", "/web")
    assert fuse.calls == [("ceph-fuse", "-k", keyring, *where, "--id", "u", "-o", "ro")]
    assert fuse.keyrings == [(f"[client.u]\n\tkey = {KEY}\n", 0o600)]
    assert mounts.calls == []
    assert not Path(keyring).parent.exists()


async def test_ceph_fuse_without_a_secret_reads_the_file(host: Host) -> None:
    fuse = CephFuse()
    target = await set_up(host, in_pod("m"), fuse)
    where = ("-m", "m", str(target), "-r", "/")
    assert fuse.calls == [("ceph-fuse", "-k", "/etc/ceph/admin.secret", *where, "--id", "admin")]


@pytest.mark.parametrize("fuse", [CephFuse("no monitor", 1), CephFuse("it says nothing")])
async def test_the_kernel_mounts_what_ceph_fuse_cannot(
    host: Host, mounts: KernelMounts, fuse: CephFuse
) -> None:
    target = await set_up(host, in_pod(secret_ref=BY_SECRET), fuse)
    assert mounts.mounted() == (target,)
    assert mounts.secret == KEY
    assert not key_directory(host).exists()


async def test_a_failure_leaves_neither_mount_nor_key_and_does_not_tell_it(
    host: Host, mounts: KernelMounts
) -> None:
    mounts.fail_at(1, CommandFailed("mount failed: exit status 22", argv=(), code=22, output=""))
    with pytest.raises(HostError) as refused:
        await set_up(host, in_pod(secret_ref=BY_SECRET), CephFuse("refused", 1))
    assert KEY not in str(refused.value)
    assert mounts.mounted() == ()
    assert not key_directory(host).exists()
    assert not host.layout.volume(POD_UID, NAME, "data").exists()


async def test_a_key_that_a_killed_node_left_goes_with_the_next_look_and_with_the_volume(
    host: Host,
) -> None:
    await set_up(host, in_pod())
    left = key_directory(host) / "keyring"
    for again in (
        lambda: set_up(host, in_pod()),
        Cephfs(host).unmounter("data", POD_UID).tear_down,
    ):
        left.parent.mkdir(parents=True)
        left.write_text("key")
        await again()
        assert not left.parent.exists()


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (in_pod("-m"), "cephfs.monitors '-m' must not begin with '-'"),
        (
            in_pod("a,b"),
            "cephfs.monitors 'a,b' must not hold a comma, which would begin an option",
        ),
        (
            in_pod(user="u,exec"),
            "cephfs.user 'u,exec' must not hold a comma, which would begin an option",
        ),
        (in_pod(user="u]x"), "cephfs.user 'u]x' must not hold any of ] /"),
        (in_pod(path="a\nb"), r"cephfs.path '/a\nb' must not hold control characters"),
        (in_pod(secret_file="k"), "cephfs.secretFile 'k' must be an absolute path"),
    ],
)
def test_what_a_program_could_mistake_is_refused(host: Host, use: VolumeUse, text: str) -> None:
    with pytest.raises(VolumeError) as refused:
        Cephfs(host).mounter(use, a_pod())
    assert str(refused.value) == text


SECRETS: dict[str, tuple[dict[str, bytes] | None, type[VolumeError], str]] = {
    "is not there": (
        None,
        NotStarted,
        'couldn\'t get secret default/ceph: secrets "ceph" not found',
    ),
    "has two keys": (
        {"a": b"1", "b": b"2"},
        VolumeError,
        "secret default/ceph has no entry 'key'",
    ),
    "is of two lines": (
        {"key": b"a\nb"},
        VolumeError,
        "the key in secret default/ceph is empty, or holds control characters",
    ),
}


@pytest.mark.parametrize(("data", "kind", "text"), SECRETS.values(), ids=SECRETS)
async def test_a_secret_that(
    host: Host,
    api: PlayedApi,
    data: dict[str, bytes] | None,
    kind: type[VolumeError],
    text: str,
) -> None:
    if data is None:
        api.secrets.clear()
    else:
        api.secrets["ceph"] = data
    with pytest.raises(kind) as refused:
        await set_up(host, in_pod(secret_ref=BY_SECRET))
    assert str(refused.value) == text


async def test_the_only_entry_of_a_secret_is_the_key(
    host: Host, api: PlayedApi, mounts: KernelMounts
) -> None:
    api.secrets["ceph"] = {"admin.secret": b"other"}
    await set_up(host, in_pod(secret_ref=BY_SECRET))
    assert mounts.secret == "other"
