"""Containers that misbehave, and what happens when we, the shim or the machine go down."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mooring.oci import cgroups
from mooring.oci.conmon import LOG_LIMIT
from mooring.oci.contract import Limits, Share, State
from mooring.oci.records import ContainerDirectory
from tests.fakes.waiting import until
from tests.host import making_containers
from tests.host.containers import NOTHING, World, logged, processes_about

pytestmark = pytest.mark.usefixtures("needs_root")

STUBBORN = "trap '' TERM; echo ready; while true; do sleep 0.05; done"


async def test_one_that_ignores_sigterm_is_killed(world: World) -> None:
    spec = world.script(STUBBORN)
    id = await world.start(spec)
    await until(lambda: logged(spec.log_path) == "ready\n")
    await world.containers.kill(id, signal.SIGTERM)
    assert await world.exec(id, "true") == (0, "")
    await world.containers.kill(id, signal.SIGKILL)
    assert (await world.end_of(id)).exit_code == 137
    await world.containers.kill(id, signal.SIGTERM)


async def test_the_number_of_the_signal_that_ended_it_is_told(world: World) -> None:
    spec = world.script("trap 'exit 9' TERM; echo ready; while true; do sleep 0.05; done")
    id = await world.start(spec)
    await until(lambda: logged(spec.log_path) == "ready\n")
    await world.containers.kill(id, signal.SIGTERM)
    assert (await world.end_of(id)).exit_code == 9


async def test_a_first_process_killed_by_somebody_is_told_as_137(world: World) -> None:
    id = await world.start(world.script("exec sleep 1000"))
    found = world.containers.find(id)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    ended = await world.end_of(id)
    assert (ended.exit_code, ended.is_lost, ended.pid) == (137, False, 0)


async def test_one_whose_shim_is_killed_is_killed_and_lost(world: World) -> None:
    id = await world.start(world.script("sleep 7777 & exec sleep 7777"))
    os.kill(ContainerDirectory(world.root / "containers" / id).read_conmon_pid(), signal.SIGKILL)
    ended = await world.end_of(id)
    assert (ended.exit_code, ended.is_lost) == (137, True)
    assert processes_about("7777") == []
    await world.containers.remove(id)
    assert world.left() == NOTHING


async def test_what_shares_the_hosts_processes_ends_whole(world: World) -> None:
    id = await world.start(world.script("sleep 6666 & exit 0", share=Share(pid=True)))
    assert (await world.end_of(id)).exit_code == 0
    await until(lambda: processes_about("6666") == [])


async def test_a_fork_bomb_is_bounded_and_goes_away(world: World) -> None:
    bomb = world.script("b() { b | b & }; b; sleep 1000", limits=Limits(pids=40))
    id = await world.start(bomb)
    places = cgroups.directories(cgroups.inner_path(world.pod_uid, id))
    place = next(place for place in places if (place / "pids.events").exists())
    await until(lambda: (place / "pids.events").read_text() != "max 0\n")
    assert int((place / "pids.current").read_text()) <= 40
    await world.containers.remove(id)
    assert world.left() == NOTHING


async def test_one_that_takes_too_much_memory_is_told_as_such(world: World) -> None:
    limits = Limits(memory=24 * 1024 * 1024)
    id = await world.start(world.spec("head", "-c", "200M", "/dev/zero", limits=limits))
    assert (await world.end_of(id)).is_oom_killed is False
    hungry = "exec dd if=/dev/zero of=/dev/null bs=200M count=1"
    id = await world.start(world.script(hungry, limits=limits))
    ended = await world.end_of(id)
    assert (ended.is_oom_killed, ended.exit_code) == (True, 137)


async def test_a_log_cannot_fill_the_disk(world: World) -> None:
    much = 3 * LOG_LIMIT
    spec = world.script(f"head -c {much} /dev/zero; echo; echo last")
    id = await world.start(spec)
    assert (await world.end_of(id)).exit_code == 0
    assert spec.log_path.stat().st_size <= LOG_LIMIT
    assert spec.log_path.read_text().splitlines()[-1].endswith(" stdout F last")


async def test_a_log_goes_on_in_a_new_file(world: World) -> None:
    spec = world.script("while read line; do echo $line; done", has_stdin=True)
    id = await world.start(spec)
    session = await world.containers.attach(id)
    await session.write(b"one\n")
    await until(lambda: "one" in logged(spec.log_path))
    old = spec.log_path.with_name("0.log.1")
    spec.log_path.rename(old)
    await world.containers.reopen_log(id)
    await session.write(b"two\n")
    await until(lambda: "two" in logged(spec.log_path))
    assert (logged(old), logged(spec.log_path)) == ("one\n", "two\n")
    await session.close()


async def test_containers_outlive_us_with_all_that_they_say(world: World) -> None:
    spec = world.script("while read line; do echo $line; done; exit 4", has_stdin=True)
    spec = msgspec.structs.replace(spec, closes_stdin_after_first=True, notes={"hash": "7"})
    id = await world.start(spec)
    waiting = world.script("true")
    await world.containers.create(waiting)
    before = world.containers.find(id)
    await world.stop()
    async with world.running() as again:
        assert again.find(id) == before
        created = again.find(waiting.id)
        assert created is not None
        assert created.state is State.CREATED
        assert world.ends == []
        session = await again.attach(id)
        await session.write(b"still here\n")
        await session.close()
        assert (await world.end_of(id)).exit_code == 4
        assert logged(spec.log_path) == "still here\n"
        await again.start(waiting.id)
        assert (await world.end_of(waiting.id)).exit_code == 0
        for each in (id, waiting.id):
            await again.remove(each)


async def test_an_end_while_we_were_away_is_told(world: World) -> None:
    spec = world.script("read line; exit 5", has_stdin=True)
    id = await world.start(spec)
    session = await world.containers.attach(id)
    await world.stop()
    await session.write(b"\n")
    place = ContainerDirectory(world.root / "containers" / id)
    await until(lambda: place.read_exit() is not None)
    await session.close()
    async with world.running() as again:
        ended = await world.end_of(id)
        assert (ended.state, ended.exit_code, ended.is_lost) == (State.EXITED, 5, False)
        assert again.find(id) == ended


async def test_after_a_restart_of_the_machine_all_are_lost(world: World) -> None:
    id = await world.start(world.script("exec sleep 1000"))
    place = ContainerDirectory(world.root / "containers" / id)
    await world.containers.kill(id, signal.SIGKILL)
    await world.end_of(id)
    record = place.read()
    assert record is not None
    place.exit.unlink()
    await world.stop()
    place.write(msgspec.structs.replace(record, boot="an earlier one", ended=None))
    told = []
    for _ in range(2):
        async with world.running() as again:
            found = again.find(id)
            assert found is not None
            assert (found.state, found.exit_code, found.is_lost) == (State.EXITED, 137, True)
            told.append(found.finished_at)
    assert told[0] == told[1]


async def test_cancelled_while_it_is_made_it_is_told_and_can_be_removed(world: World) -> None:
    spec = world.script("exec sleep 1000")
    making = asyncio.create_task(world.containers.create(spec))
    await until(lambda: world.containers.find(spec.id) is not None)
    making.cancel()
    await asyncio.wait({making})
    assert making.cancelled()
    await world.containers.remove(spec.id)
    assert world.containers.list() == ()
    assert world.left() == NOTHING


@pytest.mark.parametrize("first_host_id", [0, 131072], ids=["hosts-users", "own-users"])
@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_moment_we_find_whole_containers_only(
    world: World, seed: int, first_host_id: int
) -> None:
    words = [world.root, world.runs, world.pod_uid, first_host_id, *world.image.layers]
    maker = await asyncio.create_subprocess_exec(
        *(sys.executable, making_containers.__file__, *map(str, words)),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert maker.stdout is not None
    assert await maker.stdout.readline() == b"making\n"
    directory = world.root / "containers"
    enough = random.Random(seed).randint(2, 12)  # noqa: S311  which moment, no secret
    await until(lambda: len(list(directory.glob("*/pid"))) >= enough)
    maker.kill()
    await maker.wait()
    await world.stop()
    async with world.running() as again:
        for found in again.list():
            assert found.state in (State.CREATED, State.RUNNING)
            assert found.pid
        kept = {each.id for each in again.list()}
        await until(lambda: {path.name for path in directory.iterdir()} == kept)
        for id in kept:
            await again.remove(id)
        await until(lambda: world.left() == NOTHING)
