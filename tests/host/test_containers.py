"""Containers by a real runtime: what they are given, how they end, and that nothing is left."""

import asyncio
import shutil
import signal
from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.oci import devices
from mooring.oci.contract import (
    Bind,
    ContainerSpec,
    Device,
    Limits,
    Privileges,
    RunAsUser,
    RuntimeRefused,
    Share,
    State,
)
from tests.fakes.waiting import until
from tests.host.containers import NOTHING, World, logged

pytestmark = pytest.mark.usefixtures("needs_root")


async def test_a_container_runs_ends_and_leaves_nothing_but_its_log(world: World) -> None:
    spec = world.script("echo out; echo err >&2; exit 3", notes={"hash": "7"})
    await world.containers.create(spec)
    created = world.containers.find(spec.id)
    assert created is not None
    assert (created.state, created.owner, created.notes) == (
        State.CREATED,
        spec.owner,
        {"hash": "7"},
    )
    await world.containers.start(spec.id)
    ended = await world.end_of(spec.id)
    assert (ended.state, ended.exit_code, ended.is_lost) == (State.EXITED, 3, False)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert ended.created_at <= ended.started_at <= ended.finished_at
    await world.containers.remove(spec.id)
    await world.containers.remove(spec.id)
    assert world.containers.list() == ()
    assert world.left() == NOTHING
    assert (logged(spec.log_path), logged(spec.log_path, "stderr")) == ("out\n", "err\n")


GIVEN = {
    "the words of its environment, with a path and its host name": (
        "echo $A $PATH $HOSTNAME",
        {"environment": ("A=1", "A=2")},
        "2 /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin web\n",
    ),
    "a host name of its own": ("uname -n", {"hostname": "other"}, "other\n"),
    "its working directory, made when it is missing": (
        "pwd",
        {"working_dir": "/made/for/it"},
        "/made/for/it\n",
    ),
    "a user by number, with the group that the image gives it": (
        "id -u; id -G",
        {"user": RunAsUser(uid=7)},
        "7\n8 9\n",
    ),
    "a user by name, and the groups of the pod": (
        "id -u; id -G",
        {"user": RunAsUser(image_user="bob", groups=(1234,))},
        "7\n8 9 1234\n",
    ),
    "no group of the image when that is not wanted": (
        "id -G",
        {"user": RunAsUser(image_user="bob", groups=(1234,), with_image_groups=False)},
        "8 1234\n",
    ),
    "the first place among its processes": ("echo $$", {}, "1\n"),
    "the host's processes when it shares them": (
        "[ $$ != 1 ] && [ -d /proc/1 ] && echo many",
        {"share": Share(pid=True)},
        "many\n",
    ),
    "no network when it shares none": (
        "cat /proc/net/dev | wc -l",
        {"share": Share(network=False)},
        "3\n",
    ),
    "fewer capabilities than root": (
        "head -1 /proc/1/comm; mkdir /proc/sys/x 2>/dev/null || echo refused",
        {},
        "sh\nrefused\n",
    ),
    "no new privileges when it may not have them": (
        "while read a b; do [ $a = NoNewPrivs: ] && echo $b; done < /proc/self/status; true",
        {"privileges": Privileges(may_escalate=False)},
        "1\n",
    ),
    "a root that it cannot write to": (
        "touch /x 2>/dev/null || echo refused",
        {"privileges": Privileges(can_write_root=False)},
        "refused\n",
    ),
    "no capability at all when all are dropped": (
        "while read a b; do [ $a = CapEff: ] && echo $b; done < /proc/self/status; true",
        {"privileges": Privileges(drop=("ALL",))},
        "0000000000000000\n",
    ),
    "a limit of processes": (
        "cat /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids.max",
        {"limits": Limits(pids=33)},
        "33\n",
    ),
}


@pytest.mark.parametrize(("script", "changes", "output"), GIVEN.values(), ids=GIVEN)
async def test_a_container_gets(
    world: World, script: str, changes: dict[str, object], output: str
) -> None:
    assert await world.run(world.script(script, **changes)) == (0, output)


async def test_what_a_container_writes_reaches_neither_image_nor_another(world: World) -> None:
    script = "[ -e /etc/mine ] && exit 1; echo x > /etc/mine; rm /etc/passwd"
    assert await world.run(world.script(script)) == (0, "")
    assert await world.run(world.script(script)) == (0, "")
    assert not (world.image.layers[0] / "etc/mine").exists()
    assert (world.image.layers[0] / "etc/passwd").exists()


async def test_binds_show_directories_and_files_nested_and_read_only(
    world: World, place: Path
) -> None:
    outer, inner, file = place / "outer", place / "inner", place / "file"
    outer.mkdir()
    inner.mkdir()
    (inner / "deep").write_text("deep\n")
    file.write_text("file\n")
    script = (
        "cat /v/sub/deep /etc/one; echo written > /v/new; "
        "touch /v/sub/no 2>/dev/null || echo refused; touch /etc/one 2>/dev/null || echo refused"
    )
    binds = (
        Bind(inner, "/v/sub", read_only=True),
        Bind(outer, "/v"),
        Bind(file, "/etc/one", recursive_read_only=True),
    )
    assert await world.run(world.script(script, binds=binds)) == (
        0,
        "deep\nfile\nrefused\nrefused\n",
    )
    assert (outer / "new").read_text() == "written\n"


async def test_a_mount_made_on_the_host_reaches_a_container_that_wants_it(
    world: World, place: Path
) -> None:
    shared = place / "shared"
    (shared / "later").mkdir(parents=True)
    mounts = Mounts()
    mounts.make_shared(shared)
    id = await world.start(
        world.script("sleep 1000", binds=(Bind(shared, "/s", propagation="rslave"),))
    )
    mounts.mount("tmpfs", shared / "later", "tmpfs")
    (shared / "later/file").write_text("here")
    assert await world.exec(id, "cat", "/s/later/file") == (0, "here")
    mounts.unmount(shared / "later")
    await world.containers.remove(id)


async def test_a_mount_that_shares_nothing_is_refused_to_who_wants_it_shared(
    world: World, place: Path
) -> None:
    alone = place / "alone"
    alone.mkdir()
    bind = Bind(alone, "/s", propagation="rshared")
    with pytest.raises(RuntimeRefused, match="is not a shared mount"):
        await world.containers.create(world.script("true", binds=(bind,)))
    assert world.left() == NOTHING


async def test_a_device_appears_under_its_new_name_with_its_rights(world: World) -> None:
    device = Device(Path("/dev/zero"), "/dev/nought", "r")
    spec = world.script("head -c 3 /dev/nought | wc -c", devices=(device,))
    assert await world.run(spec) == (0, "3\n")


async def test_a_privileged_container_sees_the_devices_of_the_host(world: World) -> None:
    spec = world.script("ls /dev", privileges=Privileges(is_privileged=True))
    seen = set((await world.run(spec))[1].splitlines())
    assert {node.path.split("/")[2] for node in devices.of_host()} <= seen


async def test_a_container_that_joins_another_sees_its_processes(world: World) -> None:
    first = await world.start(world.script("exec sleep 1234"))
    joining = world.script("cat /proc/1/cmdline; exec sleep 1000 2>&1", join_pid_of=first)
    second = await world.start(joining)
    await until(
        lambda: "1234" in logged(joining.log_path) or "1234" in joining.log_path.read_text()
    )
    await world.containers.kill(second, signal.SIGKILL)
    assert (await world.end_of(second)).exit_code == 137
    assert world.containers.find(first) is not None


REFUSED: dict[str, tuple[tuple[str, ...], dict[str, object], str, int]] = {
    "a program that is not in the path": (
        ("nope",),
        {},
        'exec: "nope": executable file not found in $PATH',
        127,
    ),
    "a program that is not there": (
        ("/bin/nope",),
        {},
        'exec: "/bin/nope": stat /bin/nope: no such file or directory',
        127,
    ),
    "a directory for a program": (("/etc",), {}, 'exec: "/etc": permission denied', 126),
    "a user that nobody knows": (
        ("true",),
        {"user": RunAsUser(image_user="carol")},
        "unable to find user carol: no matching entries in passwd file",
        128,
    ),
    "a group that nobody knows": (
        ("true",),
        {"user": RunAsUser(image_user="bob:dancers")},
        "unable to find group dancers: no matching entries in group file",
        128,
    ),
    "no words at all": ((), {}, "no command specified", 128),
    "a bind of what is not there": (
        ("true",),
        {"binds": (Bind(Path("/nowhere"), "/v"),)},
        "/nowhere does not exist",
        128,
    ),
}


@pytest.mark.parametrize(("args", "changes", "text", "code"), REFUSED.values(), ids=REFUSED)
async def test_nothing_is_left_of_a_container_that_is_refused_for(
    world: World, args: tuple[str, ...], changes: dict[str, object], text: str, code: int
) -> None:
    with pytest.raises(RuntimeRefused) as refused:
        await world.containers.create(world.spec(*args, **changes))
    assert (str(refused.value), refused.value.exit_code) == (text, code)
    assert world.containers.list() == ()
    assert world.left() == NOTHING


async def test_a_path_longer_than_a_socket_address_is_no_hindrance(
    world: World, place: Path
) -> None:
    root = place / ("long" * 30) / "node"
    far = World(root, world.program, world.image)
    async with far.running():
        id = await far.start(far.script("read line; echo got $line", has_stdin=True))
        session = await far.containers.attach(id)
        await session.write(b"it\n")
        assert [piece async for piece in session.output()] == [(1, b"got it\n")]
        assert await session.wait() == 0
        await session.close()
    await far.remove_all()
    assert far.left() == NOTHING
    shutil.rmtree(far.runs)


async def test_sixty_containers_at_once(world: World) -> None:
    specs = [world.script("exec sleep 1000") for _ in range(60)]
    await asyncio.gather(*map(world.start, specs))
    running = [each for each in world.containers.list() if each.state is State.RUNNING]
    assert len(running) == 60
    await asyncio.gather(*(world.containers.remove(spec.id) for spec in specs))
    assert world.left() == NOTHING


async def test_a_container_is_made_once(world: World) -> None:
    spec = world.script("exec sleep 1000")
    await world.start(spec)
    with pytest.raises(RuntimeRefused, match="exists already"):
        await world.containers.create(spec)
    with pytest.raises(RuntimeRefused, match="started before"):
        await world.containers.start(spec.id)


async def test_one_that_was_made_and_never_started_is_taken_away(world: World) -> None:
    spec: ContainerSpec = world.script("echo never")
    await world.containers.create(spec)
    await world.containers.remove(spec.id)
    assert world.left() == NOTHING
    assert logged(spec.log_path) == ""
