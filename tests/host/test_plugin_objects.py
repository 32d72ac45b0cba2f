"""Volumes made of API objects, on real file systems, with real owners."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.model.pod_volume import Projection, TokenProjection
from mooring.plugins.config_map import ConfigMapPlugin
from mooring.plugins.contract import MountRequest
from mooring.plugins.projected import ProjectedPlugin
from mooring.plugins.secret import SecretPlugin
from mooring.plugins.volume_host import Host
from tests.unit.plugins.objects import (
    PlayedApi,
    a_config_map_use,
    a_full_api,
    a_projected_use,
    a_secret_use,
)
from tests.unit.plugins.world import POD_UID, Told, a_container, a_host, a_pod, a_request

TOKEN = Projection(service_account_token=TokenProjection("token"))
GENERATIONS = 50


@pytest.fixture
def api() -> PlayedApi:
    return a_full_api()


@pytest.fixture
def host(place: Path, mounts: Mounts, api: PlayedApi) -> Host:
    return replace(a_host(place, mounts), objects=api)


def owned(path: Path) -> tuple[int, int, int]:
    """Mode, owner and group of what is behind a name."""
    seen = path.stat()
    return seen.st_mode & 0o7777, seen.st_uid, seen.st_gid


def mounted_type(host: Host, path: Path) -> str:
    entry = host.mounts.table().find(path.resolve())
    return "" if entry is None else entry.fs_type


async def test_a_group_may_read_what_only_the_owner_could(host: Host) -> None:
    mounter = SecretPlugin(host).mounter(a_secret_use(mode=0o400), a_pod())
    await mounter.set_up(a_request(fs_group=2000))
    assert mounted_type(host, mounter.path) == "tmpfs"
    assert owned(mounter.path / "user") == (0o440, 0, 2000)
    assert owned(mounter.path / "..data") == (0o2755, 0, 2000)
    root_mode, _, root_group = owned(mounter.path)
    assert (root_mode & 0o2777, root_group) == (0o2777, 2000)


async def test_what_comes_later_is_the_groups_too(host: Host, api: PlayedApi) -> None:
    mounter = SecretPlugin(host).mounter(a_secret_use(mode=0o400), a_pod())
    await mounter.set_up(a_request(fs_group=2000))
    api.secrets["login"] = {"pin": b"1234"}
    await mounter.set_up(a_request(fs_group=2000))
    assert owned(mounter.path / "pin") == (0o440, 0, 2000)


TOKENS = {
    "one user and no group": (1000, None, (0o600, 1000, 0)),
    "one user and a group": (1000, 2000, (0o640, 1000, 2000)),
    "a group and no one user": (None, 2000, (0o640, 0, 2000)),
    "neither one user nor a group": (None, None, (0o644, 0, 0)),
}


@pytest.mark.parametrize(("user", "group", "expected"), TOKENS.values(), ids=[*TOKENS])
async def test_tokens_are_for_the_pod_alone(
    host: Host, user: int | None, group: int | None, expected: tuple[int, int, int]
) -> None:
    mounter = ProjectedPlugin(host).mounter(a_projected_use([TOKEN]), a_pod())
    await mounter.set_up(MountRequest(Told(), fs_user=user, fs_group=group))
    assert owned(mounter.path / "token") == expected


async def test_a_reader_never_sees_two_generations_at_a_time(host: Host, api: PlayedApi) -> None:
    mounter = ConfigMapPlugin(host).mounter(a_config_map_use(), a_pod())
    api.binaries.clear()
    api.config_maps["settings"] = {"a": "0", "b": "0"}
    await mounter.set_up(a_request())
    with reading(mounter.path) as seen:
        for number in range(1, GENERATIONS):
            api.config_maps["settings"] = {"a": str(number), "b": str(number)}
            await mounter.set_up(a_request())
    assert seen
    assert [pair for pair in seen if pair[0] != pair[1]] == []


@contextmanager
def reading(volume: Path) -> Iterator[set[tuple[str, str]]]:
    """What a process sees that opens the directory of files once for each look at both."""
    seen: set[tuple[str, str]] = set()
    enough = threading.Event()

    def look() -> None:
        while not enough.is_set():
            try:
                generation = os.open(volume / "..data", os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                continue  # an old generation, gone between its link and itself, as on a kubelet
            try:
                seen.add((read(generation, "a"), read(generation, "b")))
            except FileNotFoundError:
                pass  # an old generation, gone between two files
            finally:
                os.close(generation)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        enough.set()
        thread.join()


def read(directory: int, name: str) -> str:
    with open(os.open(name, os.O_RDONLY, dir_fd=directory)) as file:
        return file.read()


async def test_a_secret_is_nowhere_on_disk(host: Host) -> None:
    mounter = SecretPlugin(host).mounter(a_secret_use(), a_pod())
    await mounter.set_up(a_request())
    host.mounts.unmount(mounter.path)
    assert list(mounter.path.iterdir()) == []


async def test_what_a_restart_of_the_machine_took_is_written_again(host: Host) -> None:
    mounter = SecretPlugin(host).mounter(a_secret_use(), a_pod())
    await mounter.set_up(a_request(fs_group=2000))
    host.mounts.unmount(mounter.path)  # as memory goes
    await mounter.set_up(a_request(fs_group=2000))
    assert mounted_type(host, mounter.path) == "tmpfs"
    assert owned(mounter.path / "user") == (0o644, 0, 2000)


SMALL = a_pod(a_container(limits={"memory": "128Ki"}))
TOO_MUCH = os.urandom(1 << 18)


async def test_no_room_for_the_first_files_leaves_nothing(host: Host, api: PlayedApi) -> None:
    api.secrets["login"] = {"user": b"me", "blob": TOO_MUCH}
    mounter = SecretPlugin(host).mounter(a_secret_use(), SMALL)
    with pytest.raises(HostError, match="no space left on device"):
        await mounter.set_up(a_request())
    assert not mounter.path.exists()
    assert mounted_type(host, mounter.path) == ""
    assert not [path for path in host.layout.pod(POD_UID).rglob("*") if path.is_file()]


async def test_no_room_for_newer_files_leaves_those_in_use(host: Host, api: PlayedApi) -> None:
    mounter = SecretPlugin(host).mounter(a_secret_use(), SMALL)
    await mounter.set_up(a_request())
    before = sorted(os.listdir(mounter.path))
    api.secrets["login"] = {"user": b"you", "blob": TOO_MUCH}
    with pytest.raises(HostError, match="no space left on device"):
        await mounter.set_up(a_request())
    assert (mounter.path / "user").read_bytes() == b"me"
    assert sorted(os.listdir(mounter.path)) == before
    api.secrets["login"] = {"user": b"you"}
    await mounter.set_up(a_request())
    assert (mounter.path / "user").read_bytes() == b"you"


async def test_usage_is_that_of_the_files_in_memory(host: Host, api: PlayedApi) -> None:
    api.secrets["login"] = {"blob": TOO_MUCH}
    mounter = SecretPlugin(host).mounter(
        a_secret_use(), a_pod(a_container(limits={"memory": "1Mi"}))
    )
    await mounter.set_up(a_request())
    usage = await mounter.usage()
    assert usage is not None
    assert usage.capacity == 1 << 20
    assert (usage.used or 0) >= len(TOO_MUCH)
