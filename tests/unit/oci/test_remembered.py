"""What is known of containers that an earlier process has made."""

from datetime import UTC, datetime, timedelta

import msgspec

from mooring.oci.records import Record, new_record
from mooring.oci.remembered import Remembered, merged
from mooring.oci.runc import RunningState
from tests.unit.oci.specs import a_spec

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def a_record(id: str, minutes: int) -> Record:
    made = new_record(a_spec(), NOW + timedelta(minutes=minutes))
    return msgspec.structs.replace(made, id=id, pid=7, started_at=NOW)


def test_records_come_oldest_first_behind_what_has_none() -> None:
    read = {"young": a_record("young", 2), "old": a_record("old", 1), "broken": None}
    listed = {"stray": RunningState("stray", "running", 9)}
    names = [one.id for one in merged(read, listed)]
    assert set(names[:2]) == {"broken", "stray"}
    assert names[2:] == ["old", "young"]


def test_one_that_the_runtime_has_not_started_has_no_start() -> None:
    record = a_record("a", 1)
    (one,) = merged({"a": record}, {"a": RunningState("a", "created", 7)})
    assert one == Remembered("a", msgspec.structs.replace(record, started_at=None))
    (one,) = merged({"a": record}, {"a": RunningState("a", "running", 7)})
    assert one == Remembered("a", record)
