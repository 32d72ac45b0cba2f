"""What keeps a container apart, by a real runtime: filters of system calls, users of its own."""

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountEntry
from mooring.host.user_namespace import LENGTH, user_namespace
from mooring.oci import id_mapping
from mooring.oci.contract import (
    Bind,
    Confinement,
    Device,
    ExecOptions,
    Privileges,
    RunAsUser,
    RuntimeRefused,
    SeccompKind,
)
from mooring.oci.host_root import HOST_DIRECTORY, put_away
from mooring.oci.records import ContainerDirectory
from tests.fakes.waiting import until
from tests.host.containers import NOTHING, World, talk

pytestmark = pytest.mark.usefixtures("needs_root")

FIRST = 7 * LENGTH
DEFAULT = Confinement(seccomp=SeccompKind.DEFAULT)
OWN_USERS = Confinement(first_host_id=FIRST)
BUSYBOX = Bind(Path("/usr/bin/busybox"), "/bin/busybox", read_only=True)
MODE = "while read a b; do [ $a = Seccomp: ] && echo $b; done < /proc/self/status; true"
NAMESPACE = "busybox unshare -U true 2>/dev/null && echo made || echo refused"
KEYS = "busybox chroot / true && echo rooted"


def localhost(name: str) -> Confinement:
    return Confinement(seccomp=SeccompKind.LOCALHOST, seccomp_profile=name)


FILTERED = {
    "nothing is filtered unless asked for": (Confinement(), Privileges(), "0\nmade\n"),
    "the default keeps a container from making namespaces": (
        DEFAULT,
        Privileges(),
        "2\nrefused\n",
    ),
    "and lets one that may administrate": (DEFAULT, Privileges(add=("SYS_ADMIN",)), "2\nmade\n"),
    "a privileged one is never filtered": (DEFAULT, Privileges(is_privileged=True), "0\nmade\n"),
    "also without new privileges": (DEFAULT, Privileges(may_escalate=False), "2\nrefused\n"),
    "in users of its own too": (
        msgspec.structs.replace(DEFAULT, first_host_id=FIRST),
        Privileges(),
        "2\nrefused\n",
    ),
}


@pytest.mark.parametrize(("confinement", "privileges", "words"), FILTERED.values(), ids=FILTERED)
async def test_system_calls(
    world: World, confinement: Confinement, privileges: Privileges, words: str
) -> None:
    spec = world.script(
        f"{MODE}; {NAMESPACE}", binds=(BUSYBOX,), confinement=confinement, privileges=privileges
    )
    assert await world.run(spec) == (0, words)


async def test_a_program_of_everyday_life_does_not_notice_the_default_profile(world: World) -> None:
    script = (
        f"{KEYS}; mkdir /tmp/x; echo a | cat > /tmp/x/f; cat /tmp/x/f; rm -r /tmp/x; "
        "busybox nc -l -p 0 & busybox sleep 0; kill $!; (exit 3); echo $?; "
        "busybox ps > /dev/null && busybox id -u"
    )
    spec = world.script(script, binds=(BUSYBOX,), confinement=DEFAULT)
    assert await world.run(spec) == (0, "rooted\na\n3\n0\n")


async def test_a_profile_of_the_nodes_owner(world: World) -> None:
    profiles = world.root / "seccomp" / "team"
    profiles.mkdir(parents=True)
    refuse = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}
    content = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refuse]}
    (profiles / "no-mkdir.json").write_bytes(msgspec.json.encode(content))
    script = "mkdir /x 2>/dev/null && echo made || echo refused"
    spec = world.script(script, confinement=localhost("team/no-mkdir.json"))
    assert await world.run(spec) == (0, "refused\n")


BAD_PROFILES = {
    "a missing one": ("none.json", "no such file or directory"),
    "one elsewhere, by a link": ("out.json", "no such file or directory"),
    "one elsewhere, by its name": ("../elsewhere.json", "no such file or directory"),
    "a directory": ("team", "is a directory"),
    "one that filters nothing, for it says nothing": ("empty.json", "missing required field"),
    "one that is no document": ("text.json", "malformed"),
}


@pytest.mark.parametrize(("name", "why"), BAD_PROFILES.values(), ids=BAD_PROFILES)
async def test_a_profile_that_cannot_be_had_keeps_the_container_from_being_made(
    world: World, name: str, why: str
) -> None:
    profiles = world.root / "seccomp"
    (profiles / "team").mkdir(parents=True)
    (profiles / "out.json").symlink_to(world.root / "elsewhere.json")
    (world.root / "elsewhere.json").write_text('{"defaultAction": "SCMP_ACT_ALLOW"}')
    (profiles / "empty.json").write_text("{}")
    (profiles / "text.json").write_text("seccomp")
    with pytest.raises(RuntimeRefused, match=f"cannot load seccomp profile .*{why}"):
        await world.containers.create(world.script("true", confinement=localhost(name)))
    assert world.left() == NOTHING


async def test_a_runtime_without_seccomp_refuses(world: World) -> None:
    await world.stop()
    world.program = msgspec.structs.replace(world.program, has_seccomp=False)
    async with world.running():
        with pytest.raises(RuntimeRefused, match="seccomp is not supported by /"):
            await world.containers.create(world.script("true", confinement=DEFAULT))
        assert await world.run(world.script("true")) == (0, "")


# Users of its own.


async def test_root_inside_is_nobody_outside(world: World) -> None:
    id = await world.start(world.script("sleep 1000", confinement=OWN_USERS))
    found = world.containers.find(id)
    assert found is not None
    assert os.stat(f"/proc/{found.pid}").st_uid == FIRST
    told = await world.exec(id, "id", "-u")
    assert told == (0, "0\n"), told
    session = await world.containers.exec(id, ExecOptions(("id", "-u"), has_tty=True))
    assert await talk(session) == (0, "0\r\n")
    await world.containers.remove(id)
    assert world.left() == NOTHING


async def test_the_image_belongs_to_the_containers_root_and_stays_as_it_is(world: World) -> None:
    script = (
        "busybox stat -c '%u %g' /etc/passwd /bin/sh; echo x >> /etc/passwd; rm /etc/group; "
        "busybox chown 7:8 /etc/passwd; busybox stat -c '%u %g' /etc/passwd"
    )
    spec = world.script(script, binds=(BUSYBOX,), confinement=OWN_USERS)
    assert await world.run(spec) == (0, "0 0\n0 0\n7 8\n")
    accounts = world.image.layers[0] / "etc"
    assert (accounts / "group").exists()
    assert (accounts / "passwd").stat().st_uid == 0


@pytest.fixture
def strict_memory(place: Path) -> Iterator[Path]:
    """A file system with every restriction that a mount may have."""
    at = place / "memory"
    at.mkdir()
    Mounts().mount("tmpfs", at, "tmpfs", ("nosuid", "nodev", "noexec", "noatime"))
    yield at
    Mounts().unmount(at)


async def test_volumes_keep_their_owners_inside_and_on_the_disk(
    world: World, place: Path, strict_memory: Path
) -> None:
    disk, file = place / "disk", place / "file"
    disk.mkdir(mode=0o770)
    os.chown(disk, 0, 1234)
    file.write_text("file\n")
    file.chmod(0o600)
    (strict_memory / "secret").write_text("secret\n")
    (strict_memory / "secret").chmod(0o400)
    script = (
        "cat /etc/file /s/secret; touch /d/mine; busybox chown 7:8 /d/mine; "
        "touch /s/x 2>/dev/null || echo refused; busybox stat -c '%u %g' /d /d/mine /etc/file"
    )
    binds = (
        BUSYBOX,
        Bind(disk, "/d"),
        Bind(file, "/etc/file"),
        Bind(strict_memory, "/s", read_only=True),
    )
    spec = world.script(script, binds=binds, confinement=OWN_USERS)
    assert await world.run(spec) == (0, "file\nsecret\nrefused\n0 1234\n7 8\n0 0\n")
    found = (disk / "mine").stat()
    assert (found.st_uid, found.st_gid) == (7, 8)


async def test_nothing_of_a_volume_is_held_once_the_container_is_made(
    world: World, strict_memory: Path
) -> None:
    spec = world.script("sleep 1000", binds=(Bind(strict_memory, "/s"),), confinement=OWN_USERS)
    id = await world.start(spec)
    (directory,) = (world.root / "containers").iterdir()
    table = Mounts().table()
    assert [entry.at for entry in table.below(directory)] == [str(directory / "rootfs")]
    (opened,) = table.below(world.runs)  # nothing but the place itself
    assert opened.at.endswith("-open")
    await world.containers.remove(id)
    assert not Mounts().table().below(world.runs)


@pytest.fixture
def shared(place: Path) -> Iterator[Path]:
    """A directory whose mounts other namespaces hear of, with another file system inside."""
    at, inner = place / "shared", place / "shared/inner"
    inner.mkdir(parents=True)
    mounts = Mounts()
    mounts.make_shared(at)
    mounts.mount("tmpfs", inner, "tmpfs")
    yield at
    mounts.unmount(inner)
    mounts.unmount(at)


async def test_what_is_mounted_in_a_volume_is_seen_and_stays_mounted(
    world: World, shared: Path
) -> None:
    (shared / "inner/file").write_text("deep\n")
    for propagation in ("private", "rslave"):
        bind = Bind(shared, "/v", propagation=propagation)
        spec = world.script("cat /v/inner/file", binds=(bind,), confinement=OWN_USERS)
        assert await world.run(spec) == (0, "deep\n")
        assert Mounts().is_mount_point(shared / "inner")


def test_binds_of_the_whole_machine_do_not_show_those_of_others(place: Path) -> None:
    mounts = Mounts()
    shown: list[MountEntry] = []
    places = [
        ContainerDirectory(place / "containers" / str(number), place / "open")
        for number in range(3)
    ]
    for each in places:
        with id_mapping.mapping(mounts, each, FIRST) as mapping:
            (whole,) = mapping.binds((Bind(Path("/"), "/host"),))
        again = whole.source / (place / "open").relative_to("/")
        shown += mounts.table().below(again)
    for each in places:
        id_mapping.take_away(mounts, each)
        id_mapping.take_away(mounts, each)
    assert shown == []
    assert not mounts.table().below(place)


async def test_a_volume_that_cannot_be_mapped_is_refused(world: World) -> None:
    spec = world.script("true", binds=(Bind(Path("/proc"), "/p"),), confinement=OWN_USERS)
    with pytest.raises(
        RuntimeRefused,
        match=r"/p cannot be shown to users who are not the host's: .*\(file system proc\)",
    ):
        await world.containers.create(spec)
    assert world.left() == NOTHING


async def test_devices_are_not_for_users_of_its_own(world: World) -> None:
    device = Device(Path("/dev/zero"), "/dev/null")
    with pytest.raises(RuntimeRefused, match="devices cannot be given"):
        await world.containers.create(
            world.script("true", devices=(device,), confinement=OWN_USERS)
        )
    assert world.left() == NOTHING


async def test_a_user_beyond_those_of_the_namespace_is_refused(world: World) -> None:
    spec = world.script("true", user=RunAsUser(uid=LENGTH), confinement=OWN_USERS)
    with pytest.raises(RuntimeRefused, match="id 65536 is not one of the 65536"):
        await world.containers.create(spec)
    assert world.left() == NOTHING


RIGHTS = {
    "another user than root": ({"user": RunAsUser(uid=7)}, "id -u; id -G", "7\n8 9\n"),
    "a root that it cannot write to": (
        {"privileges": Privileges(can_write_root=False)},
        "touch /x 2>/dev/null || echo refused",
        "refused\n",
    ),
    "nothing of the machine's own to change": (
        {"privileges": Privileges(is_privileged=True)},
        "touch /sys/kernel/mm/x 2>/dev/null || echo refused; "
        "(echo 1 > /proc/sys/kernel/panic) 2>/dev/null || echo refused",
        "refused\nrefused\n",
    ),
    "a first process of its own": (
        {},
        "echo $$; [ -e /proc/1/root/etc/passwd ] && echo own",
        "1\nown\n",
    ),
}


@pytest.mark.parametrize(("changes", "script", "words"), RIGHTS.values(), ids=RIGHTS)
async def test_in_users_of_its_own_a_container_has(
    world: World, changes: dict[str, object], script: str, words: str
) -> None:
    spec = world.script(script, confinement=OWN_USERS, **changes)
    assert await world.run(spec) == (0, words)


async def test_those_who_share_processes_share_users(world: World) -> None:
    # It outlives what is ended in it: with the first process of a container all others end.
    first = await world.start(world.script("sleep 1000; exec sleep 1001", confinement=OWN_USERS))
    second = world.script(
        "until busybox killall sleep 2>/dev/null; do busybox usleep 10000; done; echo ended",
        binds=(BUSYBOX,),
        join_pid_of=first,
        confinement=OWN_USERS,
    )
    assert await world.run(second) == (0, "ended\n")
    await world.containers.kill(first, signal.SIGKILL)
    await world.end_of(first)
    await world.containers.remove(first)
    assert world.left() == NOTHING


CONFINED = {
    "settings of its own": (
        Confinement(sysctls=(("kernel.shm_rmid_forced", "1"), ("kernel.msgmax", "65536"))),
        "cat /proc/sys/kernel/shm_rmid_forced /proc/sys/kernel/msgmax",
        "1\n65536\n",
    ),
    "settings of its own in users of its own": (
        Confinement(sysctls=(("kernel.shm_rmid_forced", "1"),), first_host_id=FIRST),
        "cat /proc/sys/kernel/shm_rmid_forced",
        "1\n",
    ),
    "no sight of what the kernel keeps to itself": (
        OWN_USERS,
        "head -c1 /proc/keys | wc -c; (: > /proc/sys/kernel/shmmax) 2>/dev/null || echo refused",
        "0\nrefused\n",
    ),
    "the whole of proc when it asks for that": (
        msgspec.structs.replace(OWN_USERS, shows_whole_proc=True),
        "[ -s /proc/interrupts ] || head -c1 /proc/interrupts | wc -c; "
        "echo 5000000 > /proc/sys/kernel/shmmax && cat /proc/sys/kernel/shmmax",
        "1\n5000000\n",
    ),
}


@pytest.mark.parametrize(("confinement", "script", "words"), CONFINED.values(), ids=CONFINED)
async def test_a_container_has(
    world: World, confinement: Confinement, script: str, words: str
) -> None:
    assert await world.run(world.script(script, confinement=confinement)) == (0, words)


async def test_mapped_binds_of_a_making_that_was_cut_are_taken_away(world: World) -> None:
    spec = world.script("true", confinement=OWN_USERS)
    await world.start(spec)
    await world.end_of(spec.id)
    await world.stop()
    (opened,) = world.runs.glob("*-open")
    cut = ContainerDirectory(world.root / "containers" / secrets.token_hex(32), opened)
    cut.make()
    with id_mapping.mapping(Mounts(), cut, FIRST) as mapping:
        mapping.binds((Bind(world.root / "logs", "/logs"),))
        mapping.show_root(())
    async with world.running() as again:
        await again.remove(spec.id)
        await until(lambda: world.left() == NOTHING)


def test_a_machine_without_namespaces_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.host.user_namespace.find_program", lambda _: None)
    with pytest.raises(HostError, match="install util-linux"), user_namespace(FIRST):
        pass


async def test_on_the_hosts_root_too_its_users_are_its_own(world: World) -> None:
    """What it writes to its root is its own; the host's programs belong to nobody it knows."""
    script = (
        "id -u; stat -c '%u' / /etc/passwd /usr; cat /proc/self/uid_map; "
        "touch /mine && echo written; touch /usr/mine 2>/dev/null || echo refused"
    )
    code, words = await world.run(world.script(script, image=None, confinement=OWN_USERS))
    users = ["0", "0", "0", "65534"]
    assert (code, words.split()) == (
        0,
        [*users, "0", str(FIRST), str(LENGTH), "written", "refused"],
    )
    assert not Path("/mine").exists()  # noqa: ASYNC240  a stat of the root directory


async def test_on_the_hosts_root_its_users_are_its_own_in_a_directory_that_is_shared(
    world: World,
) -> None:
    """As `mooring up` and `mooring node` share theirs with other mount namespaces."""
    mounts = Mounts()
    world.root.mkdir(parents=True, exist_ok=True)
    mounts.make_shared(world.root)
    try:
        spec = world.script("ls /usr/bin/env; id -u", image=None, confinement=OWN_USERS)
        assert await world.run(spec) == (0, "/usr/bin/env\n0\n")
    finally:
        put_away(mounts, world.root / HOST_DIRECTORY)
        mounts.unmount(world.root)
