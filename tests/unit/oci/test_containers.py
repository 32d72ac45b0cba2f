"""What is found after a restart, with a runtime that is told what to say; see tests/host too."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from mooring.oci.containers import OciContainers
from mooring.oci.contract import Bind, ContainerSpec, RuntimeRefused, State
from mooring.oci.records import ContainerDirectory, Ended, Record, new_record
from mooring.oci.runc import RuntimeProgram
from tests.fakes.clock import START, VirtualClock
from tests.fakes.mounts import FakeMounts
from tests.fakes.programs import FakePrograms, programs  # noqa: F401  a fixture
from tests.fakes.waiting import until
from tests.unit.oci.specs import ID, a_spec

Start = Callable[[], AbstractAsyncContextManager[OciContainers]]


@pytest.fixture
def start(programs: FakePrograms, tmp_path: Path) -> Start:  # noqa: F811  the fixture
    """Let Mooring start on this machine."""
    programs.add("runc", "echo null")
    directory = tmp_path / "programs"
    program = RuntimeProgram(path=directory / "runc", conmon=directory / "conmon")

    @asynccontextmanager
    async def begin() -> AsyncIterator[OciContainers]:
        containers = OciContainers(
            tmp_path / "node",
            FakeMounts(),
            VirtualClock(),
            program,
            run_directory=tmp_path / "run",
        )
        running = asyncio.create_task(containers.run())
        await containers.loaded.wait()
        yield containers
        running.cancel()
        await asyncio.wait({running})

    return begin


@pytest.fixture
def place(tmp_path: Path) -> ContainerDirectory:
    made = ContainerDirectory(tmp_path / "node/containers" / ID)
    made.make()
    return made


def a_record(**changes: object) -> Record:
    record = new_record(a_spec(), START)
    return msgspec.structs.replace(record, pid=1, started_at=START, **changes)


async def test_nothing_is_found_where_nothing_is(start: Start) -> None:
    async with start() as containers:
        assert containers.list() == ()
        assert containers.find(ID) is None
        await containers.remove(ID)


async def test_one_from_before_the_machine_was_restarted_is_lost(
    start: Start, place: ContainerDirectory
) -> None:
    place.write(a_record(boot="another"))
    async with start() as containers:
        (found,) = containers.list()
    assert (found.state, found.exit_code, found.is_lost) == (State.EXITED, 137, True)
    assert found.finished_at == START
    kept = place.read()
    assert kept is not None
    assert kept.ended == Ended(exit_code=137, finished_at=START, is_lost=True)


async def test_one_that_ended_while_we_were_away_is_told(
    start: Start, place: ContainerDirectory
) -> None:
    place.write(a_record())
    place.exit.write_text("4")
    ends: list[int] = []
    async with start() as containers:
        containers.on_change(lambda found: ends.append(found.exit_code))
        await until(lambda: ends == [4])
        (found,) = containers.list()
    assert not found.is_lost
    assert found.finished_at is not None
    assert found.finished_at > START


async def test_one_whose_shim_is_gone_without_a_word_is_lost(
    start: Start, place: ContainerDirectory
) -> None:
    place.write(a_record())
    async with start() as containers:
        await until(lambda: containers.list()[0].state is State.EXITED)
        assert containers.list()[0].is_lost


async def test_another_program_with_the_number_of_the_shim_is_no_shim(
    start: Start, place: ContainerDirectory
) -> None:
    place.write(a_record())
    place.conmon_pid.write_text("1")
    place.exit.write_text("0")
    async with start() as containers:
        await until(lambda: containers.list()[0].state is State.EXITED)
        assert containers.list()[0].exit_code == 0


async def test_one_that_has_ended_is_told_as_it_was(
    start: Start, place: ContainerDirectory
) -> None:
    ended = Ended(exit_code=3, finished_at=START + timedelta(seconds=9), is_oom_killed=True)
    place.write(a_record(ended=ended, boot="another"))
    async with start() as containers:
        (found,) = containers.list()
    assert (found.exit_code, found.finished_at) == (3, ended.finished_at)
    assert (found.is_oom_killed, found.is_lost) == (True, False)


async def test_what_was_being_made_is_taken_away(
    start: Start,
    place: ContainerDirectory,
    programs: FakePrograms,  # noqa: F811  the fixture
) -> None:
    place.write(msgspec.structs.replace(a_record(), pid=0))
    torn = ContainerDirectory(place.directory.with_name("f" * 64))
    torn.make()
    torn.record.write_text("{")
    async with start() as containers:
        assert containers.list() == ()
    assert list(place.directory.parent.iterdir()) == []
    deleted = sorted(run.split()[-1] for run in programs.runs() if "delete --force" in run)
    assert deleted == [ID, "f" * 64]


async def test_what_nobody_remembers_is_taken_away(
    start: Start,
    programs: FakePrograms,  # noqa: F811  the fixture
) -> None:
    listed = f'[{{"id":"{ID}","status":"running","pid":2}}]'
    programs.add("runc", f"""case "$*" in *list*) echo '{listed}';; esac""")
    async with start() as containers:
        assert containers.list() == ()
    assert any(run.endswith(f"delete --force {ID}") for run in programs.runs())


async def test_what_is_no_container_is_left_alone(start: Start, place: ContainerDirectory) -> None:
    other = place.directory.with_name("notes")
    other.mkdir()
    async with start():
        assert other.exists()


async def test_removing_takes_the_files_and_asks_the_runtime(
    start: Start,
    place: ContainerDirectory,
    programs: FakePrograms,  # noqa: F811  the fixture
) -> None:
    place.write(a_record(boot="another"))
    async with start() as containers:
        await containers.remove(ID)
        await containers.remove(ID)
        assert containers.list() == ()
    assert not place.directory.exists()
    assert sum("delete --force" in run for run in programs.runs()) == 1


REFUSED: dict[str, tuple[ContainerSpec, str]] = {
    "an id that would be a path": (a_spec(id="../x"), "64 hexadecimal digits"),
    "a pod's uid that would be a path": (
        a_spec(owner=msgspec.structs.replace(a_spec().owner, pod_uid="../../x")),
        "the uid of a pod",
    ),
    "no command": (a_spec(args=()), "no command specified"),
    "a bind to nowhere": (a_spec(binds=(Bind(Path("/"), "here"),)), "is not absolute"),
    "one to live with that is not there": (a_spec(join_pid_of="1" * 64), "does not exist"),
    "a log that the shim cannot write": (a_spec(log_path=Path("/a:b")), "colon"),
}


@pytest.mark.parametrize(("spec", "text"), REFUSED.values(), ids=REFUSED)
async def test_refused_before_anything_is_made(
    start: Start, tmp_path: Path, spec: ContainerSpec, text: str
) -> None:
    async with start() as containers:
        with pytest.raises(RuntimeRefused, match=text):
            await containers.create(spec)
        assert containers.list() == ()
    assert not (tmp_path / "node").exists()


async def test_what_cannot_be_made_is_taken_back(start: Start, tmp_path: Path) -> None:
    spec = a_spec(log_path=tmp_path / "log")  # its layer is nowhere
    async with start() as containers:
        with pytest.raises(RuntimeRefused, match="open /layers/1: no such file or directory"):
            await containers.create(spec)
        assert containers.list() == ()
    assert list((tmp_path / "node/containers").iterdir()) == []
