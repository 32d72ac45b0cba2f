"""What is kept of a container on disk."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from mooring.errors import HostError
from mooring.oci.contract import Share, State
from mooring.oci.records import ContainerDirectory, Ended, Record, boot_id, found, new_record
from tests.unit.oci.specs import ID, OWNER, a_spec

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path) -> ContainerDirectory:
    made = ContainerDirectory(tmp_path / "containers" / ID)
    made.make()
    return made


def a_record(**changes: object) -> Record:
    return msgspec.structs.replace(new_record(a_spec(notes={"a": "b"}), NOW), **changes)


def test_a_record_is_read_as_it_was_written(place: ContainerDirectory) -> None:
    ended = Ended(exit_code=3, finished_at=NOW, is_oom_killed=True)
    record = a_record(pid=7, started_at=NOW, ended=ended)
    place.write(record)
    assert place.read() == record
    assert record.boot == boot_id()


def test_only_we_may_look(place: ContainerDirectory) -> None:
    place.write(a_record())
    place.write_config(b"{}")
    assert place.directory.stat().st_mode & 0o777 == 0o700
    assert place.record.stat().st_mode & 0o777 == 0o600
    assert place.config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id":"x"}'])
def test_what_cannot_be_read_is_none(place: ContainerDirectory, content: str) -> None:
    place.record.write_text(content)
    assert place.read() is None


def test_nothing_at_all_is_none(tmp_path: Path) -> None:
    place = ContainerDirectory(tmp_path / "none")
    assert (place.read(), place.read_exit(), place.read_conmon_pid()) == (None, None, 0)


def test_the_exit_code_and_when_it_was_written(place: ContainerDirectory) -> None:
    place.exit.write_text("137")
    os.utime(place.exit, (NOW.timestamp(), NOW.timestamp()))
    seen = place.read_exit()
    assert seen is not None
    assert seen[0] == 137
    assert abs(seen[1] - NOW) < timedelta(milliseconds=1)
    place.exit.write_text("")
    assert place.read_exit() is None


def test_a_record_that_cannot_be_written_leaves_the_one_before(place: ContainerDirectory) -> None:
    place.write(a_record())
    (place.directory / ".record.json").mkdir()
    with pytest.raises(HostError, match=r"write .*record.json"):
        place.write(a_record(pid=9))
    assert place.read() == a_record()


ENDED = Ended(exit_code=5, finished_at=NOW, is_lost=True)
STATES = {
    "made": ({"pid": 7}, State.CREATED, 7, 0, False),
    "started": ({"pid": 7, "started_at": NOW}, State.RUNNING, 7, 0, False),
    "ended": (
        {"pid": 7, "started_at": NOW, "ended": ENDED},
        State.EXITED,
        0,
        5,
        True,
    ),
    "ended before it was started": ({"pid": 7, "ended": ENDED}, State.EXITED, 0, 5, True),
}


@pytest.mark.parametrize(("changes", "state", "pid", "code", "lost"), STATES.values(), ids=STATES)
def test_found(
    changes: dict[str, object],
    state: State,
    pid: int,
    code: int,
    lost: bool,  # noqa: FBT001  a column
) -> None:
    told = found(a_record(**changes))
    assert (told.state, told.pid, told.exit_code, told.is_lost) == (state, pid, code, lost)
    assert (told.owner, told.notes, told.image_id) == (OWNER, {"a": "b"}, "sha256:1")
    assert told.log_path == Path("/logs/main/0.log")


def test_who_shares_processes_is_remembered() -> None:
    assert not a_record().shares_processes
    assert new_record(a_spec(share=Share(pid=True)), NOW).shares_processes
    assert new_record(a_spec(join_pid_of="1"), NOW).shares_processes
    assert new_record(a_spec(image=None), NOW).image_id == ""
